"""A program on a real pseudo-terminal, with pyte as the screen it draws on."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyte

REPO = Path(__file__).resolve().parents[2]
SAMPLE = (
    '{"messages": [{"role": "user", "content": "Question %d: what is [/INST] and \\u001b[2mowned\\u0007?"}, {"role":'
    ' "assistant", "content": "Answer %d: the end of an instruction, \\u001b[31mred\\u001b[0m and more words to'
    ' read."}]}'
)


def write_sample(folder: Path, rows: int = 60) -> Path:
    """A small chat set whose text holds markup and escape sequences."""
    path = folder / "train.jsonl"
    path.write_text("\n".join(SAMPLE % (i, i) for i in range(rows)) + "\n", encoding="utf-8")
    return path


class Terminal:
    """`python ARGUMENTS` on a pty of `columns`×`lines`; `raw` is every byte it wrote."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        columns: int = 80,
        lines: int = 24,
        cwd: Path = REPO,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.code: int | None = None
        self.parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(child)
        self.child = child
        left_out = ("NO_COLOR", "COLORTERM", "TMUX", "COLORFGBG", "LC_ALL", "LC_CTYPE")
        env = {k: v for k, v in os.environ.items() if k not in left_out}
        env |= {
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(REPO),
            "HF_HUB_OFFLINE": "1",
            "LINES": str(lines),
            "COLUMNS": str(columns),
        }
        env |= environment or {}
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.parent)
                os.setsid()
                fcntl.ioctl(child, termios.TIOCSCTTY, 0)
                for fd in (0, 1, 2):
                    os.dup2(child, fd)
                os.chdir(cwd)
                os.execve(sys.executable, [sys.executable, *arguments], env)
            finally:
                os._exit(127)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, seconds: float) -> bytes:
        """Whatever comes within `seconds`, drawn on the screen."""
        ready, _, _ = select.select([self.parent], [], [], seconds)
        if not ready:
            return b""
        try:
            data = os.read(self.parent, 65536)
        except OSError:
            return b""
        self.raw += data
        # pyte does not know the kitty keyboard protocol and would print what follows `CSI >`.
        self.stream.feed(
            data.replace(b"\x1b[>25u", b"")
            .replace(b"\x1b[<u", b"")
            .replace(b"\x1b[?2026$p", b"")
            .replace(b"\x1b[>7u", b"")
        )
        return data

    def until(self, wanted: str | Callable[[str], bool], seconds: float = 20.0) -> str:
        """Reads until the screen shows `wanted`; AssertionError with the screen where it does not."""
        done = wanted if callable(wanted) else lambda text: wanted in text
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if done(self.text):
                return self.text
            self.read(0.05)
        raise AssertionError(f"{wanted!r} did not come:\n{self.text}")

    def settle(self, quiet: float = 0.25) -> bytes:
        """Reads until nothing has come for `quiet` seconds; what came."""
        start = len(self.raw)
        while self.read(quiet):
            pass
        return self.raw[start:]

    def send(self, keys: str) -> None:
        os.write(self.parent, keys.encode())

    def cost(self, keys: str) -> int:
        """The bytes that some keys cost."""
        self.settle()
        self.send(keys)
        return len(self.settle())

    def wait(self, seconds: float = 5.0) -> int:
        """The exit code (negative: the signal); AssertionError where it does not end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                while self.read(0.05):
                    pass
                return self.code
            self.read(0.02)
        raise AssertionError(f"it did not end:\n{self.text}")

    def kill(self, number: int) -> None:
        os.kill(self.pid, number)

    def restored(self) -> list[str]:
        """What of the terminal was not left as it was found; empty where all is well."""
        wrong = []
        if termios.tcgetattr(self.child) != self.before:
            wrong.append("termios attributes")
        for on, off, name in (
            (b"\x1b[?1049h", b"\x1b[?1049l", "alternate screen"),
            (b"\x1b[?25l", b"\x1b[?25h", "cursor"),
            (b"\x1b[?1000h", b"\x1b[?1000l", "mouse"),
            (b"\x1b[?2004h", b"\x1b[?2004l", "bracketed paste"),
        ):
            if self.raw.rfind(on) > self.raw.rfind(off):
                wrong.append(name)
        return wrong

    def close(self) -> None:
        if self.code is None:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        for fd in (self.parent, self.child):
            with contextlib.suppress(OSError):
                os.close(fd)
