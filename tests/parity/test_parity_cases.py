"""The cases of `tests/cases` under the real trainers: their labels are what is shown, or both stop (marker parity)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from case import python_of
from staying_runner import runner_stays  # noqa: F401 — of every test here

from sftui.cli import main

sys.path.append(str(Path(__file__).parent.parent / "cases"))

from test_cases import CASES, placed, read, words_of

pytestmark = pytest.mark.parity
TRIED = CASES[:: int(os.environ.get("SFTUI_PARITY_EACH") or 1)]
"""Each starts a trainer: of all the share that `SFTUI_PARITY_EACH` asks for."""
KEPT = {"axolotl-exact-copies": "row 1: dropped by the trainer, kept by sftui"}
"""Where sftui shows more rows than are trained, which it says itself."""


@pytest.mark.parametrize("name", TRIED)
def test_the_real_trainer_does_what_is_said_of_it(
    name: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    case = read(name)
    trainer, _, version = case["trainer"].partition(" ")
    python = python_of(trainer, version)
    if not version or not python.exists():
        pytest.skip(f"{trainer} has no environment: run tests/parity/environments.py")
    for file, text in case["files"].items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runs = [words_of(run) for run in case["runs"]]
    words = next((run for run in runs if run[0] == "check"), runs[0])
    for option in ("--select", "--view", "--serve"):
        if option in words:
            del words[(at := words.index(option)) : at + 2]
    with pytest.raises(SystemExit) as ended:
        main(["verify", *(placed(word, shared / "testdata") for word in words[1:]), "--python", str(python)])
    out, err = capsys.readouterr()
    assert KEPT[name] in out if name in KEPT else not ended.value.code, err + out
