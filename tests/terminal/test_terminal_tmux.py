"""Inside tmux with its default settings: what is copied arrives (trap T8), and what is drawn stands in columns
(T11)."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from pty_session import REPO

pytestmark = [pytest.mark.terminal, pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")]

ROWS = (
    '{"messages": [{"role": "user", "content": "❤️ नमस्ते 👩‍👩‍👧 🇫🇷 ① ﷽ x"}, {"role": "assistant", "content": "שלום'
    ' 你好 ✈️ e\\u0301 ok"}]}\n{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello'
    ' there"}]}\n'
)


class Tmux:
    """A tmux server of our own with one window of 80×24."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "tmux.sock")
        self.folder = folder

    def __call__(self, *arguments: str, check: bool = True) -> str:
        env = {k: v for k, v in os.environ.items() if k not in ("TMUX", "NO_COLOR")} | {
            "PYTHONPATH": str(REPO),
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            ["tmux", "-S", self.socket, "-f", "/dev/null", *arguments],
            capture_output=True,
            text=True,
            env=env,
            timeout=20,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def screen(self) -> str:
        return self("capture-pane", "-p", "-t", "main")

    def until(self, wanted: str, seconds: float = 40) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.screen()
            if wanted in text:
                return text
            time.sleep(0.1)
        raise AssertionError(f"{wanted!r} did not come:\n{self.screen()}")

    def keys(self, *keys: str) -> None:
        self("send-keys", "-t", "main", *keys)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    (tmp_path / "rows.jsonl").write_text(ROWS, encoding="utf-8")
    server = Tmux(tmp_path)
    command = f"{sys.executable} -m sftui rows.jsonl -t builtin:chatml; echo EXIT $?; exec sh"
    server("new-session", "-d", "-s", "main", "-x", "80", "-y", "24", "-c", str(tmp_path), command)
    server.until("tokenizer verified")
    yield server
    server("kill-server", check=False)


def test_T8_copy_arrives_in_tmux(tmux: Tmux) -> None:
    tmux.keys("]")
    tmux.until("row 1 of 2")
    tmux.keys("o")
    tmux.until("hello there")
    tmux.keys("y", "t")
    said = tmux.until("tmux")
    assert "opied" not in said
    assert tmux("show-buffer").startswith("<|im_start|>user\nhi<|im_end|>")
    tmux.keys("y", "y")
    for _ in range(100):  # what is said is the same for both
        if '"hello there"' in tmux("show-buffer"):
            break
        time.sleep(0.1)
    assert '"hello there"' in tmux("show-buffer")


def test_T11_columns_stand_in_tmux(tmux: Tmux) -> None:
    """tmux counts cells by its own table: the rule stands in one column whatever the data holds."""
    for key in ("z", "z", "z"):
        tmux.keys(key)
        time.sleep(0.5)
        lines = tmux.screen().splitlines()[3:21]
        # Each line is read back in characters; what tmux thinks of its cells shows in where the frame stands.
        listed = [line.split("│")[1] for line in lines]
        ways = itertools.product((0, 1), (0, 2), (0, 2))
        assert any(len({counted(part, *way) for part in listed}) == 1 for way in ways), listed


WORDS = ("मुझे भारत की राजधानी बताओ", "ภาษาไทย น้ำตก", "தமிழ் மொழி எது", "বাংলা ভাষা", "👨‍👩‍👧 👍🏽 family", "plain words")


def test_T11_columns_stand_behind_words_of_any_script(tmp_path: Path) -> None:
    """However many cells tmux gives to vowel signs and joined emoji, what stands behind stays in its column."""
    rows = [
        {"messages": [{"role": "user", "content": f"{words} "}, {"role": "assistant", "content": "ok"}]}
        for words in WORDS
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    server = Tmux(tmp_path)
    try:
        command = f"{sys.executable} -m sftui rows.jsonl -t builtin:chatml"
        server("new-session", "-d", "-s", "main", "-x", "170", "-y", "30", "-c", str(tmp_path), command)
        server.until("tokenizer verified")
        server.until(WORDS[-1])
        for keys in ((), ("Tab",), ("j", "j"), ("k", "j", "j")):
            server.keys(*keys)
            time.sleep(0.5)
            lines = [line for line in server.screen().splitlines() if any(words[:4] in line for words in WORDS)]
            assert len(lines) >= len(WORDS)
            ruled = [part[1] for line in lines if len(part := line.split("│")) > 2 and not part[0]]
            assert len(ruled) >= len(WORDS)
            ways = itertools.product((0, 1), (0, 2), (0, 2))
            assert any(len({counted(part, *way) for part in ruled}) == 1 for way in ways), ruled
    finally:
        server("kill-server", check=False)


def counted(text: str, signs: int, joined: int, tones: int) -> int:
    """Cells of a text where a terminal gives so many to vowel signs, emoji after a joiner and tones of skin."""
    cells, before = 0, ""
    for char in text:
        if before == "\u200d":
            cells += joined
        elif "\U0001f3fb" <= char <= "\U0001f3ff":
            cells += tones
        elif unicodedata.category(char) == "Mc":
            cells += signs
        elif unicodedata.category(char) not in ("Mn", "Cf"):
            cells += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        before = char
    return cells


def test_leaving_gives_the_shell_back(tmux: Tmux) -> None:
    tmux.keys("q")
    text = tmux.until("EXIT 0", 5)
    assert "label" not in text
    assert tmux("display-message", "-p", "-t", "main", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}").split() == [
        "0",
        "1",
        "0",
    ]


def test_ctrl_z_and_fg(tmux: Tmux, tmp_path: Path) -> None:
    """From a shell with jobs, as people run it."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    tmux("new-window", "-t", "main:", "-n", "jobs", "-c", str(tmp_path), "env", "PS1=READY ", "bash", "--norc", "-i")
    tmux.until("READY")
    tmux.keys(f"{sys.executable} -m sftui rows.jsonl -t builtin:chatml", "Enter")
    tmux.until("tokenizer verified")
    tmux.keys("C-z")
    tmux.until("Stopped", 10)
    tmux.keys("fg", "Enter")
    tmux.until("tokenizer verified", 10)
    tmux.keys("q")
    tmux.until("READY", 5)
