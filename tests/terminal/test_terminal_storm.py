"""Random keys by a fixed seed; `key_storm.py` itself is the long run, on request."""

from __future__ import annotations

import fcntl
import signal
import struct
import termios
from pathlib import Path

import pytest
from key_storm import storm
from pty_session import Terminal, write_sample

pytestmark = pytest.mark.terminal


def test_nothing_waits_for_ever_and_all_speak_of_one_row() -> None:
    got = storm(3, 250)
    print(f"{got.keys} keys, {got.gusts} gusts, {got.checks} checks, {got.quits} quits")
    assert got.wrong == [], got.wrong[0]
    assert got.keys >= 250 and got.checks and got.quits


def test_the_size_is_the_terminals_also_where_another_one_is_exported(tmp_path: Path) -> None:
    data = write_sample(tmp_path)
    own = {"COLUMNS": "60", "LINES": "20"}
    terminal = Terminal(["-m", "sftui", str(data), "-t", "builtin:gemma"], cwd=tmp_path, environment=own)
    try:
        terminal.until(lambda text: "verified" in text, 60)
        assert terminal.text.split("\n")[23].startswith(" [ ] row"), "the last of 24 lines, not of the 20 exported"
        terminal.screen.resize(30, 100)
        fcntl.ioctl(terminal.parent, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        terminal.until(lambda text: text.split("\n")[29].startswith(" [ ] row"))
        terminal.send("q")
        assert terminal.wait() == 0
    finally:
        terminal.close()


def test_a_terminal_made_smaller_and_larger_again_is_drawn_anew(tmp_path: Path) -> None:
    """By the time sftui looks, the size is as it was; what stood there is lost all the same."""
    terminal = Terminal(["-m", "sftui", str(write_sample(tmp_path)), "-t", "builtin:gemma"], cwd=tmp_path)
    try:
        terminal.until(lambda text: "verified" in text, 60)
        terminal.settle()
        before = terminal.text
        terminal.screen.reset()
        terminal.kill(signal.SIGWINCH)
        terminal.until(lambda text: text == before)
        terminal.send("q")
        assert terminal.wait() == 0
    finally:
        terminal.close()


def test_an_encoding_without_the_signs_is_refused_before_the_screen(tmp_path: Path) -> None:
    own = {"PYTHONIOENCODING": "latin-1"}
    words = ["-m", "sftui", str(write_sample(tmp_path)), "-t", "builtin:gemma"]
    terminal = Terminal(words, columns=200, cwd=tmp_path, environment=own)
    try:
        assert terminal.wait(60) == 2
        assert "the terminal's encoding iso8859-1" in terminal.text and "LC_ALL=C.UTF-8" in terminal.text
        assert b"\x1b[?1049h" not in terminal.raw and terminal.restored() == []
    finally:
        terminal.close()
