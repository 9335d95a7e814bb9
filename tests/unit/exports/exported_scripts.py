"""What the screen shows for a file, and what an exported script makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from sftui.cli.loading import loaded_session
from sftui.exports.plan import ExportPlan
from sftui.exports.records import record
from sftui.recipe import Recipe
from sftui.session.options import OpenOptions

Prepared = dict[int, tuple[list[int], list[int]]]


def shown(path: Path, recipe: Recipe) -> Prepared:
    """What the screen shows: row → ids and labels of every row that reaches the trainer."""
    session = loaded_session(OpenOptions((str(path),), recipe=recipe))
    records = [record(inspection) for inspection in session.all_rows()]
    session.close()
    return {r["row"]: (list(r["input_ids"]), list(r["labels"])) for r in records if "input_ids" in r}


def run_script(plan: ExportPlan, tmp_path: Path) -> Prepared:
    """What the script writes, run in this process: transformers is then imported once for all tests."""
    plan.write(overwrite=True)
    script, out = plan.files[0], tmp_path / "prepared.jsonl"
    names: dict[str, Any] = {"__name__": "preprocess"}
    exec(compile(script.content, str(script.path), "exec"), names)
    with mock.patch.object(sys, "argv", [str(script.path), "--out", str(out)]):
        assert names["main"]() in (0, 1)
    return read(out)


def run_alone(plan: ExportPlan, tmp_path: Path) -> Prepared:
    """The same in a process of its own, where sftui cannot be imported."""
    plan.write(overwrite=True)
    out = tmp_path / "prepared.jsonl"
    blocked = tmp_path / "blocked" / "sftui"
    blocked.mkdir(parents=True, exist_ok=True)
    (blocked / "__init__.py").write_text("raise ImportError('the script must stand alone')")
    environment = {**os.environ, "PYTHONPATH": str(blocked.parent)}
    done = subprocess.run(
        [sys.executable, str(plan.files[0].path), "--out", str(out)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode in (0, 1) and "prepared" in done.stderr, done.stderr
    return read(out)


def read(out: Path) -> Prepared:
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return {row["row"]: (row["input_ids"], row["labels"]) for row in rows}
