"""The steps of datatrove come to what the local engine says, however tasks share the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cluster_data as data
import pytest

import sftui
from sftui.engines import checking as engine
from sftui.errors import ExportError, SftuiError
from sftui.sources import line_index

pytestmark = pytest.mark.cluster
OPENING: dict[str, Any] = {"tokenizer": "builtin:chatml", "trainer": "trl"}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datatrove", reason="datatrove is not installed: pip install 'sftui[datatrove]'")
    monkeypatch.setattr(engine, "SMALLEST", 20_000)
    monkeypatch.setattr(engine, "LARGEST", 20_000)
    monkeypatch.setattr(line_index, "APART", 4_000)


def local(rows: str) -> Any:
    return json.loads(json.dumps(sftui.check(rows, **OPENING).as_dict()))


def test_three_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datatrove.executor import LocalPipelineExecutor

    from sftui.datatrove import Check, Merge, Plan

    monkeypatch.setattr(engine, "SHARE", 300)
    (tmp_path / "data").mkdir()
    for name, seed in (("a", 1), ("b", 2)):
        data.write(tmp_path / "data" / f"{name}.jsonl", 500, seed)
    rows, parts, out = (str(tmp_path / name) for name in ("data", "parts", "report.json"))
    more = {"logging_dir": str(tmp_path / "logs")}
    plan = LocalPipelineExecutor([Plan(rows, parts, tasks=2, **OPENING)], tasks=1, **more)
    check = LocalPipelineExecutor([Check(parts)], tasks=3, workers=2, depends=plan, skip_completed=False, **more)
    LocalPipelineExecutor([Merge(parts, out)], tasks=1, depends=check, skip_completed=False, **more).run()
    assert json.loads(Path(out).read_text()) == local(rows)


def test_parts_that_are_made_twice_or_never(tmp_path: Path) -> None:
    from sftui.datatrove import Check, Merge, Plan, merged

    (tmp_path / "t.csv").write_text("prompt,completion\n" + "".join(f"say {n},said {n % 7}\n" for n in range(3000)))
    rows, parts = str(tmp_path / "t.csv"), str(tmp_path / "parts")
    with pytest.raises(SftuiError, match="there is no plan; run the Plan step first"):
        list(Check(parts).run())
    list(Plan(rows, parts, **OPENING).run())
    list(Check(parts).run(rank=1, world_size=2))
    with pytest.raises(SftuiError, match=r"\d of \d parts do not exist yet; run the Check step again"):
        merged(parts)
    again = Check(parts)
    list(again.run())
    made = sum(1 for one in Path(parts).iterdir() if one.suffix == ".part")
    assert 0 < again.stats["parts"].total < made
    from sftui.api.report import Report

    assert json.loads(json.dumps(Report(merged(parts)).as_dict())) == local(rows)
    list(Plan(rows, parts, **OPENING).run())  # what was made for another plan is not taken
    with pytest.raises(SftuiError, match=f"{made} of {made} parts do not exist yet"):
        merged(parts)
    with pytest.raises(ExportError, match="does not name a format that sftui can write"):
        Merge(parts, "report.pdf")
