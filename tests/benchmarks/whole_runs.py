"""What whole runs cost, nothing subtracted: `python tests/benchmarks/whole_runs.py [--tokenizers …] [--rows 200,…]`.

`sftui encode` and `sftui check` of so many rows as they are, without gigatoken, and with it loaded behind the first
rows whatever comes; with `--tutorial`, the tutorial's `datasets.map` too. Processor seconds of all threads and
children, the median of some runs in turns, and how many times the cheapest of the three `sftui` takes as it is.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from rows import SHAPES
from whole_datasets import PLAIN, TUTORIAL, Given, Way, load, places

ROWS = "200,600,1319,2638,5276,20000"
AT_ONCE = (
    "from sftui.tokens.shortcuts import bulk; bulk.LOADING = bulk.PER_TOKEN = 0; from sftui.cli import main; main()"
)


def ways(command: str, tutorial: bool) -> list[Way]:
    python = sys.executable
    rest = [command, "DATA", "-t", "TOKENIZER", "-o", "OUT.parquet", "--force"]
    rest += ["--jobs", "1"] if command == "check" else []
    usual = [Way(TUTORIAL, [python, str(PLAIN / "by_tutorial.py"), "DATA", "TOKENIZER", "OUT.parquet"])]
    return [
        Way("as it is", [python, "-m", "sftui", *rest], fine=(0, 1)),
        Way("without gigatoken", [python, "-m", "sftui", *rest], fine=(0, 1), without_gigatoken=True),
        Way("with it at once", [python, "-c", AT_ONCE, *rest], fine=(0, 1)),
        *(usual if tutorial else ()),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", default="qwen2.5,llama-3-8b-instruct,phi-3-mini")
    parser.add_argument("--shapes", default="chat", help=f"of {', '.join(SHAPES)}")
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--commands", default="encode,check")
    parser.add_argument("--tutorial", action="store_true")
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    for shape, tokenizer, folder in places(asked.tokenizers, asked.shapes):
        given = Given(shape, tokenizer, folder)
        for command in asked.commands.split(","):
            some = ways(command, asked.tutorial)
            given.cost(some[0], 200)  # the tokenizer is proven once
            for rows in map(int, asked.rows.split(",")):
                found: dict[str, list[float]] = {way.name: [] for way in some}
                for _ in range(asked.repeat):
                    for way in some:
                        found[way.name].append(given.cost(way, rows).processor)
                costs = {way: statistics.median(seconds) for way, seconds in found.items()}
                ratio = costs["as it is"] / min(cost for way, cost in costs.items() if way != TUTORIAL)
                told = ", ".join(f"{way} {cost:.2f} s" for way, cost in costs.items())
                begins = f"{tokenizer.name:20} {shape:6} {command:6} {rows:7,} rows"
                print(f"{begins}: {told}; {ratio:.2f}×, {load()}", flush=True)


if __name__ == "__main__":
    main()
