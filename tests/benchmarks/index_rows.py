"""How soon all rows of a JSONL file are known: `python tests/benchmarks/index_rows.py [FOLDER] [--gb 2] [--repeat 5]`.

For rows of about 300, 1,000 and 20,000 bytes, in turns: `wc -l`, and a process that opens the file, reads row 0 and
indexes the rest. Prints medians of CPU and wall, the ratio of each (bar: 40 % of the speed of `wc -l` for 2 GB), what a
row takes afterwards, and the memory of the index. The files lie in the page cache.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import REPO

INDEX = """
import json, sys, time
from sftui.sources import SourceSpec, open_source
begun = time.perf_counter()
source = open_source(SourceSpec((sys.argv[1],)))
source.row(0)
first, spent = time.perf_counter() - begun, time.process_time()
while not source.index_more(0.02):
    pass
known, spent, rows = time.perf_counter() - begun, time.process_time() - spent, source.count().rows
kept = source._index
size = sum(len(held) * held.itemsize for held in (kept._offsets, kept._rows, kept._blanks))
begun = time.perf_counter()
for n in range(200):
    source.row(rows // 2 + n * 997 % (rows // 2))
print(json.dumps({"first": first, "wall": known - first, "cpu": spent, "rows": rows, "bytes": size,
                  "row": (time.perf_counter() - begun) / 200}))
"""


def make(path: Path, size: int, row: int) -> None:
    """Chat rows of about `row` bytes, `size` bytes of them, of many lengths."""
    chance = random.Random(row)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(5000)]

    def line() -> bytes:
        said = " ".join(chance.choices(words, k=max(4, int(chance.lognormvariate(0, 0.4) * row / 7.2) - 13)))
        messages = [{"role": "user", "content": said[: len(said) // 3]}, {"role": "assistant", "content": said}]
        return json.dumps({"messages": messages}).encode() + b"\n"

    pool = [line() for _ in range(max(200, 4_000_000 // row))]
    with path.open("wb") as file:
        written = 0
        while written < size:
            chance.shuffle(pool)
            written += file.write(b"".join(pool))


def count_lines(path: Path) -> tuple[float, float]:
    """CPU and wall seconds of `wc -l`."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(["wc", "-l", str(path)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - begun


def index(path: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", INDEX, str(path)], check=True, capture_output=True, text=True, cwd=REPO
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default=tempfile.gettempdir())
    parser.add_argument("--gb", type=float, default=2.0)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    middle = statistics.median
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        path = Path(name) / "rows.jsonl"
        for row in (300, 1000, 20_000):
            make(path, int(options.gb * 2**30), row)
            count_lines(path)
            runs = [(count_lines(path), index(path)) for _ in range(options.repeat)]
            lines, ours = [run[0] for run in runs], [run[1] for run in runs]
            print(
                f"{path.stat().st_size / ours[0]['rows']:6.0f} bytes a row, {ours[0]['rows']:,.0f} rows:"
                f" wc -l {middle(cpu for cpu, _ in lines) * 1000:.0f} ms CPU,"
                f" {middle(wall for _, wall in lines) * 1000:.0f} wall; index"
                f" {middle(one['cpu'] for one in ours) * 1000:.0f} CPU,"
                f" {middle(one['wall'] for one in ours) * 1000:.0f} wall;"
                f" {middle(line[0] / one['cpu'] for line, one in runs):.0%} of its speed by CPU,"
                f" {middle(line[1] / one['wall'] for line, one in runs):.0%} by wall; first row"
                f" {middle(one['first'] for one in ours) * 1000:.1f} ms, any row"
                f" {middle(one['row'] for one in ours) * 1000:.2f} ms,"
                f" {ours[0]['bytes'] / ours[0]['rows'] * 1e6 / 1e3:,.0f} kB a million rows"
            )


if __name__ == "__main__":
    main()
