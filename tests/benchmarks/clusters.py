"""How much sooner two Ray workers check than one: `python tests/benchmarks/clusters.py [--rows 100000]`.

Short chats under Qwen2.5's tokenizer, in a Ray of this machine, in turns. Seconds of the clock, whole (with Ray and the
tokenizers being loaded) and of the rows alone (from the first part to the last); ratios within one run mean something,
where the machine has two processors free.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from rows import SHARED, write_rows

from sftui.audit.found import Filter
from sftui.engines.checking import RayChecking
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data, tokenized
from sftui.trainers import preset

TOKENIZER = SHARED / "tokenizers" / "qwen2.5"


def seconds(rows: Path, workers: int) -> tuple[float, float]:
    """One check by so many workers: whole, and from its first part on."""
    recipe = changed(preset("trl"), "tokenizer.name", str(TOKENIZER))
    session = tokenized(open_data(OpenOptions((str(rows),), recipe=recipe))).ready()
    begun, first = time.monotonic(), 0.0
    checking = RayChecking(session, Filter(), jobs=workers)
    for progress in checking.steps():
        if progress.rows and not first:
            first = time.monotonic()
    session.close()
    return time.monotonic() - begun, time.monotonic() - first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        write_rows(rows, "chat", asked.rows)
        for _ in range(asked.runs):
            one, two = seconds(rows, 1), seconds(rows, 2)
            for name, single, double in zip(("whole", "rows alone"), one, two):
                print(f"{name:>10}: one {single:6.1f} s, two {double:6.1f} s, {single / double:.2f}×")
            print(f"{'load':>10}: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
