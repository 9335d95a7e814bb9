"""What a row of a whole dataset costs: `python tests/benchmarks/whole_datasets.py [--tokenizers qwen2.5,…]`.

`sftui encode` and `sftui check` beside what people run today, on the same distinct rows, in turns: the tutorial's
`datasets.map`, TRL's own preparation (in its environment of tests/parity, where it is built), the chat template alone,
and `encode_batch_fast` alone on the same texts. Each runs in a process of its own, over few rows and over many; what is
printed is the difference per row, so that start-up and loading are taken off: processor µs of all its threads and
processes, and µs of the clock. Ratios within one run mean something, the figures themselves depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import REPO, compile_sftui
from rows import SHAPES, SHARED, write_rows

PLAIN = Path(__file__).resolve().parent / "plain_ways"
PARITY = Path(os.environ.get("SFTUI_PARITY_HOME", "~/.cache/sftui-parity")).expanduser()
FEW, MANY = 1_000, 6_000
"""Rows; the few are enough to load what many need, the faster engine included (`tokens.bulk.AFTER`)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the processor (all threads and children) and of the clock."""

    processor: float
    clock: float

    def per_row(self, few: Cost, rows: int) -> Cost:
        """In µs, of the rows that this run had beyond the other one's."""
        return Cost((self.processor - few.processor) / rows * 1e6, (self.clock - few.clock) / rows * 1e6)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to prepare a dataset: a command over DATA, TOKENIZER and OUT."""

    name: str
    command: Sequence[str]
    reads: str = "data"
    """`texts`: rendered texts instead of rows."""
    fine: tuple[int, ...] = (0,)
    """Exit codes; `check` says 1 where it finds something."""


def ways(processes: bool) -> list[Way]:
    python, sftui = sys.executable, [sys.executable, "-m", "sftui"]
    encode = [*sftui, "encode", "DATA", "-t", "TOKENIZER", "-o", "OUT.parquet", "--force"]
    check = [*sftui, "check", "DATA", "-t", "TOKENIZER"]
    found = [
        Way("tutorial, datasets.map", [python, str(PLAIN / "by_tutorial.py"), "DATA", "TOKENIZER", "OUT.parquet"]),
        Way("sftui encode", encode),
        Way("sftui check", [*check, "--jobs", "1"], fine=(0, 1)),
        Way("chat template alone", [python, str(PLAIN / "only_render.py"), "DATA", "TOKENIZER", "OUT"]),
        Way("encode_batch_fast alone", [python, str(PLAIN / "only_encode.py"), "DATA", "TOKENIZER", "OUT"], "texts"),
    ]
    if processes:
        found.append(Way("sftui check, two processes", [*check, "--jobs", "2"], fine=(0, 1)))
    for environment in sorted(PARITY.glob("trl-*/bin/python")):
        found.append(
            Way(
                f"TRL {environment.parts[-3][4:]}'s own",
                [str(environment), str(PLAIN / "by_trl.py"), "DATA", "TOKENIZER", "OUT.parquet"],
            )
        )
    return found


def run(way: Way, data: Path, tokenizer: Path, work: Path) -> Cost:
    """What one run takes; CalledProcessError with what it said where it fails."""
    places = {
        "DATA": str(data),
        "TOKENIZER": str(tokenizer),
        "OUT": str(work / "out"),
        "OUT.parquet": str(work / "out.parquet"),
    }
    environment = {
        **os.environ,
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_CACHE": tempfile.mkdtemp(dir=work),
        "SFTUI_CACHE": str(work / "sftui"),
        "PYTHONPATH": str(REPO) if way.command[0] == sys.executable else "",
    }
    said = work / "said"
    with said.open("wb") as file:
        begun = time.perf_counter()
        process = subprocess.Popen(
            [places.get(word, word) for word in way.command], env=environment, stdout=file, stderr=file, cwd=work
        )
        _, status, used = os.wait4(process.pid, 0)
        clock = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in way.fine:
        raise subprocess.CalledProcessError(process.returncode, way.name, said.read_bytes()[-2000:])
    return Cost(used.ru_utime + used.ru_stime, clock)


def measured(shape: str, tokenizer: Path, repeat: int, processes: bool) -> Mapping[str, Cost]:
    """The cost per row of every way, by the median of the runs."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = {count: work / f"{count}.jsonl" for count in (FEW, MANY)}
        for count, path in files.items():
            write_rows(path, shape, count)
        texts = {count: work / f"{count}.texts" for count in files}
        render = Way("texts", [sys.executable, str(PLAIN / "only_render.py"), "DATA", "TOKENIZER", "OUT"])
        for count, path in files.items():
            run(render, path, tokenizer, work)
            (work / "out").rename(texts[count])
        found: dict[str, list[Cost]] = {}
        for way in ways(processes):  # what is kept for the next time, such as proven tokenizers, is no cost of a row
            run(way, (texts if way.reads == "texts" else files)[FEW], tokenizer, work)
        for _ in range(repeat):
            for way in ways(processes):
                given = texts if way.reads == "texts" else files
                few, many = (run(way, given[count], tokenizer, work) for count in (FEW, MANY))
                found.setdefault(way.name, []).append(many.per_row(few, MANY - FEW))
        return {
            name: Cost(statistics.median(c.processor for c in costs), statistics.median(c.clock for c in costs))
            for name, costs in found.items()
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", default="qwen2.5,llama-3-8b-instruct,phi-3-mini,minimind")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    compile_sftui()
    for name in given.tokenizers.split(","):
        for shape in given.shapes.split(","):
            costs = measured(shape, SHARED / "tokenizers" / name, given.repeat, processes=(os.cpu_count() or 1) > 1)
            usual = costs["tutorial, datasets.map"].processor
            print(f"\n{name}, {shape}: µs a row, start-up taken off ({MANY - FEW:,} rows, median of {given.repeat})")
            for way, cost in costs.items():
                times = usual / cost.processor if cost.processor > 0 else float("nan")
                print(f"  {way:28} {cost.processor:8.0f} CPU {cost.clock:8.0f} clock   {times:5.1f} times the tutorial")


if __name__ == "__main__":
    main()
