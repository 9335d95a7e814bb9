"""What the benchmarks share: a screen to watch, processes to weigh, and ratios to print."""

from __future__ import annotations

import compileall
import itertools
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "terminal"))

from pty_session import Terminal  # noqa: E402 - found by the line above

EMPTY_APP = (
    "from textual.app import App\nfrom textual.widgets import Static\nclass Empty(App):\n    def compose(self): yield"
    " Static('ready')\nEmpty().run()\n"
)


KEYS = ("l", "j", "h", "k", "]", "l", "z", "s", "s", "[")
"""Moves, rows and views: what is pressed most."""


def write_rows(path: Path, rows: int) -> Path:
    """So many rows of the sample chats, over and over."""
    lines = (REPO / "sample_data" / "chat_messages.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(itertools.islice(itertools.cycle(lines), rows)))
    return path


def first_byte(terminal: Terminal, key: str) -> float:
    """Seconds from a key to the first byte that answers it; 0.5 at most."""
    start = time.perf_counter()
    terminal.send(key)
    select.select([terminal.parent], [], [], 0.5)
    seconds = time.perf_counter() - start
    terminal.settle(0.03)
    return seconds


def compile_sftui() -> None:
    """What an installed package has: compiled modules, also where the environment says not to write them."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(REPO / "sftui", quiet=1)


def best(times: Sequence[float]) -> str:
    return f"{min(times) * 1000:7.0f} ms best, {statistics.median(times) * 1000:7.0f} ms median of {len(times)}"


def command(arguments: Sequence[str], repeat: int = 7) -> list[float]:
    """Seconds of a command from start to end."""
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run(arguments, check=True, capture_output=True)
        found.append(time.perf_counter() - start)
    return found


def until(
    arguments: Sequence[str], wanted: str | Callable[[str], bool], *, cwd: Path = REPO, seconds: float = 120.0
) -> tuple[float, Terminal]:
    """Seconds until the screen shows something, and the terminal, still open."""
    start = time.perf_counter()
    terminal = Terminal(arguments, cwd=cwd)
    terminal.until(wanted, seconds)
    return time.perf_counter() - start, terminal


def times_until(arguments: Sequence[str], wanted: str | Callable[[str], bool], repeat: int = 5) -> list[float]:
    return [once_until(arguments, wanted)[0] for _ in range(repeat)]


def once_until(arguments: Sequence[str], wanted: str | Callable[[str], bool]) -> tuple[float, float]:
    """Seconds until the screen shows something, and of those the CPU seconds of the process that draws it."""
    seconds, terminal = until(arguments, wanted)
    used = psutil.Process(terminal.pid).cpu_times()
    terminal.close()
    return seconds, used.user + used.system


def memory(pid: int) -> tuple[float, list[str]]:
    """Resident MB over a process and all below it, and a line each."""
    total, lines = 0.0, []
    root = psutil.Process(pid)
    for process in [root, *root.children(recursive=True)]:
        megabytes = process.memory_info().rss / 2**20
        total += megabytes
        lines.append(f"{megabytes:6.1f} MB  {' '.join(process.cmdline()[1:5])[:70]}")
    return total, lines
