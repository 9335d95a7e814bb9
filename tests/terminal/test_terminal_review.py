"""Repairs and review marks on a real pseudo-terminal: what is kept when the program is ended, and what is written."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from pty_session import Terminal, write_sample

pytestmark = pytest.mark.terminal


def opened(data: Path, folder: Path) -> Terminal:
    terminal = Terminal(
        ["-m", "sftui", str(data), "-t", "builtin:gemma"],
        cwd=folder,
        environment={"XDG_STATE_HOME": str(folder / "state")},
    )
    # At 80 columns counts of marks leave no room for "tokenizer verified", and a note takes the line where it is said.
    terminal.until(lambda text: "pos" in text and "provisional" not in text and "tokenizer …" not in text, 60)
    terminal.settle()
    return terminal


def test_marks_survive_sigterm_and_repairs_go_to_a_new_file(tmp_path: Path) -> None:
    data = write_sample(tmp_path)
    rows = data.read_text().splitlines()
    rows[1] = rows[1].replace('"assistant"', '"Assistant"')
    data.write_text("\n".join(rows) + "\n")
    before = data.read_bytes()
    terminal = opened(data, tmp_path)
    try:
        terminal.send("rd")
        terminal.until("D drop")
        terminal.send("]rn")
        terminal.until("note on row 1")
        terminal.send("odd [/INST]\r")
        terminal.until("row 1: note saved")
        terminal.kill(signal.SIGTERM)
        assert terminal.wait() == 128 + signal.SIGTERM and terminal.restored() == []
    finally:
        terminal.close()
    terminal = opened(data, tmp_path)
    try:
        terminal.until("D drop")
        terminal.send("r]")
        terminal.until("N odd [/INST]")
        terminal.send("R")
        terminal.until("[ ] map-roles")
        terminal.send("j\r")
        terminal.until("1 of 60 rows changed, 0 dropped")
        terminal.until("*repaired")
        terminal.send("x\r")
        terminal.until("train-repaired.jsonl")
        terminal.send("\r")
        terminal.until("nothing written yet")
        assert not (tmp_path / "train-repaired.jsonl").exists()
        terminal.send("a")
        terminal.until("59 of 60 rows, 1 changed")
        assert data.read_bytes() == before
        lines = (tmp_path / "train-repaired.jsonl").read_text().splitlines()
        assert lines[0] == rows[1].replace('"Assistant"', '"assistant"') and lines[1:] == rows[2:]
        told = [json.loads(line) for line in (tmp_path / "train-repaired.log.jsonl").read_text().splitlines()]
        assert [(one["row"], one["dropped"]) for one in told] == [(0, "marked"), (1, None)]
        terminal.send("q")
        assert terminal.wait() == 0 and terminal.restored() == []
        assert b"\x1b[2mowned" not in terminal.raw and not list(tmp_path.glob(".*.part"))
    finally:
        terminal.close()
