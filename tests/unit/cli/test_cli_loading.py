"""What the commands say where the trainer's loader stops at the files, or makes times of texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CHATML = "builtin:chatml"


def chat(*contents: str, **more: Any) -> dict[str, Any]:
    turns = zip(("user", "assistant"), contents)
    return {"messages": [{"role": role, "content": one} for role, one in turns], **more}


PLAIN = [chat("q", "a"), chat("q", "b")]
MORE = [{**one, "tools": "[]"} for one in PLAIN]


def made(folder: Path, *files: list[dict[str, Any]]) -> Path:
    """A folder of JSON Lines files."""
    (folder / "set").mkdir()
    for number, rows in enumerate(files):
        (folder / "set" / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "set"


def test_commands_say_it_and_exit(sftui: Callable[..., Any], tmp_path: Path) -> None:
    folder = made(tmp_path, PLAIN, MORE)
    given = (str(folder), "-t", CHATML, "--trainer", "trl@1.16")
    checked = sftui("check", *given)
    assert checked.code == 1 and "ROW010" in checked.out and "LAB002" in checked.out
    for command in (("show", *given, "--row", "0"), ("encode", *given, "-o", str(tmp_path / "out.jsonl"))):
        found = sftui(*command)
        assert found.code == 2 and "TRL stops before it reads a row: 1.jsonl line 1 has the column" in " ".join(
            found.err.split()
        )
    (folder / "0.jsonl").rename(folder / "2.jsonl")
    assert "ROW010" not in sftui("check", *given).out
    assert sftui("show", *given, "--row", "0").code == 0


@pytest.mark.parametrize(
    ("value", "stops"),
    [
        *((one, True) for one in ("2024-05-02", "2024-05-02T10:00:00+02:00", "2024-05-02T10:00:00+0200")),
        *((one, True) for one in ("2024-05-02T10:00:00+02", "2024-05-02 10", "2024-05-02T10:00Z")),
        *((one, False) for one in ("2024-05-02T10:00:00.5", "2024-02-30", "2024-5-2", "10:00", "on 2024-05-02")),
    ],
)
def test_answers_that_are_dates_stop_the_trainer(
    value: str, stops: bool, sftui: Callable[..., Any], tmp_path: Path
) -> None:
    rows = [{"prompt": "When?", "completion": value}] * 3
    given = (str(made(tmp_path, rows)), "-t", CHATML, "--trainer", "trl@1.16")
    checked = sftui("check", *given)
    assert ("ROW011" in checked.out) is stops and ("is a datetime, not text" in checked.out) is stops
    assert sftui("encode", *given, "-o", str(tmp_path / "o.jsonl")).code == (2 if stops else 0)
    assert sftui("show", *given, "--row", "0").code == (2 if stops else 0)


def test_dates_in_contents_reach_the_template_as_the_trainer_has_them(
    sftui: Callable[..., Any], tmp_path: Path
) -> None:
    """Recorded with sftui verify: TRL 1.16 writes `<datetime>` (transformers 5.24), Axolotl 0.19 raises TypeError."""
    rows = {"dates": [chat("2024-05-02", "2024-05-03")] * 2, "words": [chat("<datetime>", "<datetime>")] * 2}
    ids = {}
    for name, held in rows.items():
        (tmp_path / name).mkdir()
        given = (str(made(tmp_path / name, held)), "-t", CHATML, "--row", "0")
        ids[name] = sftui("show", *given, "--trainer", "trl@1.16", "--format", "json").records()[0]["input_ids"]
    assert ids["dates"] == ids["words"]
    given = (str(tmp_path / "dates" / "set"), "-t", CHATML, "--row", "0")
    axolotl = sftui("show", *given, "--trainer", "axolotl@0.19")
    assert axolotl.code == 2 and "datetime" in axolotl.out
