"""What a key costs here and in another tree: `python tests/benchmarks/keys_beside.py TREE [COLUMNSxLINES]`.

Both inspectors are open at once on the same 2,000 rows, and each key goes to one and then to the other, so that a busy
moment of the machine meets both. Prints by key the milliseconds from it to the first byte on the terminal, medians, and
the bytes; and by series of keys the processor time of the process that draws. Only what differs between the two means
something. TREE is a checkout with the same dependencies (`git worktree add /tmp/before COMMIT`).
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import psutil
from measure import KEYS, REPO, first_byte, write_rows
from pty_session import Terminal

SERIES = ("lh", "ss", "][", "zzz")
ROUNDS, PRESSES = 40, 180


def main(trees: dict[str, Path], columns: int, lines: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = write_rows(Path(folder) / "rows.jsonl", 2_000)
        opened = {
            name: Terminal(
                ["-m", "sftui", str(data), "-t", "builtin:chatml"],
                columns=columns,
                lines=lines,
                cwd=tree,
                environment={"PYTHONPATH": str(tree)},
            )
            for name, tree in trees.items()
        }
        for terminal in opened.values():
            terminal.until(lambda text: "proven" in text or "verified" in text, 120)
            terminal.settle(0.5)
        _print_keys(opened)
        _print_series(opened)
        for terminal in opened.values():
            terminal.close()


def _print_keys(opened: dict[str, Terminal]) -> None:
    waits: dict[tuple[str, int], list[float]] = defaultdict(list)
    sizes: dict[tuple[str, int], int] = defaultdict(int)
    for turn in range(ROUNDS):
        for at, key in enumerate(KEYS):
            for name in sorted(opened, reverse=bool(turn % 2)):
                terminal = opened[name]
                before = len(terminal.raw)
                waits[name, at].append(1000 * first_byte(terminal, key))
                sizes[name, at] += len(terminal.raw) - before
    for at, key in enumerate(KEYS):
        told = (
            f"{name} {statistics.median(waits[name, at]):5.1f} ms {sizes[name, at] // ROUNDS:6,} bytes"
            for name in opened
        )
        print(f"{key}   {'   '.join(told)}")


def _print_series(opened: dict[str, Terminal]) -> None:
    drawing = {name: psutil.Process(terminal.pid) for name, terminal in opened.items()}
    for keys in SERIES:
        before = {name: sum(process.cpu_times()[:2]) for name, process in drawing.items()}
        for key in itertools.islice(itertools.cycle(keys), PRESSES):
            for terminal in opened.values():
                terminal.send(key)
            for terminal in opened.values():
                terminal.settle(0.02)
        told = (
            f"{name} {1000 * (sum(process.cpu_times()[:2]) - before[name]) / PRESSES:5.2f} ms of CPU a key"
            for name, process in drawing.items()
        )
        print(f"{keys:3} {'   '.join(told)}")


if __name__ == "__main__":
    wide, _, high = (sys.argv[2] if len(sys.argv) > 2 else "80x24").partition("x")
    main({"before": Path(sys.argv[1]).resolve(), "here": REPO}, int(wide), int(high))
