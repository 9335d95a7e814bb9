"""What a row of a whole dataset costs: `python tests/benchmarks/whole_datasets.py [--tokenizers qwen2.5,…]`.

`sftui encode` and `sftui check` beside what people run today, on the same distinct rows, in turns: the tutorial's
`datasets.map`, the trainers' own preparation (each in its environment of tests/parity, where that is built, from the
very config that `sftui encode` reads), the chat template alone, and `encode_batch_fast` alone on the same texts. Each
runs in a process of its own, over few rows and over many; what is printed is the difference per row, so that start-up
and loading are taken off: processor µs of all its threads and processes, and µs of the clock, beside the load of the
machine. Ratios within one run mean something, the figures themselves depend on the machine.

`--ways` names groups of ways: usual (tutorial, TRL, encode, check), alone (template, encode_batch_fast, and encode
where gigatoken cannot be imported), trainers (or one by its name), processes (check in one and in two). `--stages`
adds how the time of encode and check is shared among their stages. Two runs a figure take a quiet machine: on a busy
one `table.py` compares more in less time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import REPO, compile_sftui
from rows import SHAPES, SHARED, write_rows
from setups import CONFIGS, setup

PLAIN = Path(__file__).resolve().parent / "plain_ways"
PARITY = Path(os.environ.get("SFTUI_PARITY_HOME", "~/.cache/sftui-parity")).expanduser()
COUNTS = {"turns": (700, 2_200)}
FEW, MANY = 6_000, 12_000
"""Rows; the few are enough to load what many need, the faster engine included (`tokens.shortcuts.bulk.LOADING`)."""
MORE = 4
"""How many times as many two processes are given, so that the few suffice for what each of them loads, and what is held
against the tokenizer alone: from one process to the next the start differs by as much as 2,000 of these rows take."""
GROUPS = ("usual", "alone", "trainers", "processes")
TUTORIAL, ENCODE, CHECK = "tutorial, datasets.map", "sftui encode", "sftui check"
BLOCKER = "raise ImportError('left out by the benchmark')\n"
"""What stands in for gigatoken where it is not to be imported."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the processor (all threads and children) and of the clock."""

    processor: float
    clock: float

    def per_row(self, few: Cost, rows: int) -> Cost:
        """In µs, of the rows that this run had beyond the other one's."""
        return Cost((self.processor - few.processor) / rows * 1e6, (self.clock - few.clock) / rows * 1e6)


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """One way to prepare a dataset: a command over DATA, CONFIG, TOKENIZER and OUT."""

    name: str
    command: Sequence[str]
    reads: str = "data"
    """`texts`: rendered texts instead of rows."""
    fine: tuple[int, ...] = (0,)
    """Exit codes; `check` says 1 where it finds something."""
    trainer: str = ""
    """Whose config CONFIG is."""
    against: str | None = TUTORIAL
    """The way whose cost is divided by this one's."""
    times: int = 1
    """How many times as many rows as most ways it is given."""
    without_gigatoken: bool = False


def own_python(trainer: str) -> tuple[str, str] | None:
    """The version and the Python of a trainer's environment; None where it is not built."""
    found = sorted(PARITY.glob(f"{trainer}-*/bin/python"))
    return (found[-1].parts[-3].removeprefix(f"{trainer}-"), str(found[-1])) if found else None


def ways(groups: Sequence[str]) -> Iterator[Way]:
    python, sftui = sys.executable, [sys.executable, "-m", "sftui"]
    out = ["-o", "OUT.parquet", "--force"]
    encode = [*sftui, "encode", "DATA", "-t", "TOKENIZER", *out]
    check = [*sftui, "check", "DATA", "-t", "TOKENIZER", "--jobs"]
    if "usual" in groups:
        yield Way(TUTORIAL, [python, str(PLAIN / "by_tutorial.py"), "DATA", "TOKENIZER", "OUT.parquet"])
        yield Way(ENCODE, encode)
        yield Way(CHECK, [*check, "1"], fine=(0, 1))
    if "alone" in groups:
        by_engine = "encode_batch_fast alone"
        yield Way(
            "chat template alone", [python, str(PLAIN / "only_render.py"), "DATA", "TOKENIZER", "OUT"], times=MORE
        )
        yield Way(by_engine, [python, str(PLAIN / "only_encode.py"), "DATA", "TOKENIZER", "OUT"], "texts", times=MORE)
        yield Way(f"{ENCODE}, no gigatoken", encode, against=by_engine, times=MORE, without_gigatoken=True)
    trainers = CONFIGS if "trainers" in groups else {*groups, *(("trl",) if "usual" in groups else ())}
    for trainer in CONFIGS:
        if trainer in trainers and (found := own_python(trainer)) is not None:
            own, ours = f"{trainer} {found[0]}'s own", f"sftui encode --trainer {trainer}"
            by_trainer = [found[1], str(PLAIN / f"by_{trainer}.py"), "CONFIG", "OUT.parquet"]
            yield Way(own, by_trainer, trainer=trainer, against=None)
            yield Way(ours, [*sftui, "encode", "CONFIG", "-t", "TOKENIZER", *out], trainer=trainer, against=own)
    if "processes" in groups:
        for jobs, other in ((1, 2), (2, 1)):
            against = f"{CHECK} --jobs {other}"
            yield Way(f"{CHECK} --jobs {jobs}", [*check, str(jobs)], fine=(0, 1), against=against, times=MORE)


def run(way: Way, data: Path, tokenizer: Path, work: Path, config: Path | None = None) -> Cost:
    """What one run takes; CalledProcessError with what it said where it fails."""
    places = {
        "DATA": str(data),
        "CONFIG": str(config),
        "TOKENIZER": str(tokenizer),
        "OUT": str(work / "out"),
        "OUT.parquet": str(work / "out.parquet"),
    }
    ours = [str(REPO)] if way.command[0] == sys.executable else []
    if way.without_gigatoken:
        (work / "without").mkdir(exist_ok=True)
        (work / "without" / "gigatoken.py").write_text(BLOCKER, encoding="utf-8")
        ours.insert(0, str(work / "without"))
    environment = {
        **os.environ,
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_CACHE": tempfile.mkdtemp(dir=work),
        "SFTUI_CACHE": str(work / "sftui"),
        "PYTHONPATH": os.pathsep.join(ours),
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


class Given:
    """The rows of one shape for one tokenizer, and what else the ways read, made when it is asked for."""

    def __init__(self, shape: str, tokenizer: Path, work: Path) -> None:
        self._shape, self._tokenizer, self._work = shape, tokenizer, work
        self.counts = COUNTS.get(shape, (FEW, MANY))

    def data(self, count: int, texts: bool = False) -> Path:
        path = self._work / f"rows{count}.jsonl"
        if not path.exists():
            write_rows(path, self._shape, count)
        if not texts:
            return path
        rendered = self._work / f"{count}.texts"
        if not rendered.exists():
            by = Way("texts", [sys.executable, str(PLAIN / "only_render.py"), "DATA", "TOKENIZER", "OUT"])
            run(by, path, self._tokenizer, self._work)
            (self._work / "out").rename(rendered)
        return rendered

    def can(self, way: Way) -> bool:
        """Whether the way's trainer can be given these rows and this tokenizer."""
        return not way.trainer or self._config(way, self.data(self.counts[0])) is not None

    def cost(self, way: Way, count: int) -> Cost:
        data = self.data(count, way.reads == "texts")
        return run(way, data, self._tokenizer, self._work, self._config(way, data))

    def _config(self, way: Way, data: Path) -> Path | None:
        return setup(way.trainer, self._shape, self._tokenizer, data, self._work) if way.trainer else None


def measured(given: Given, groups: Sequence[str], repeat: int) -> Mapping[Way, Cost]:
    """The cost per row of every way, by the median of the runs."""
    found: dict[Way, list[Cost]] = {way: [] for way in ways(groups) if given.can(way)}
    for way in found:  # what is kept for the next time, such as proven tokenizers, is no cost of a row
        if way.command[0] == sys.executable:
            given.cost(way, given.counts[0])
    for _ in range(repeat):
        for way, costs in found.items():
            few, many = (count * way.times for count in given.counts)
            first, second = given.cost(way, few), given.cost(way, many)
            costs.append(second.per_row(first, many - few))
            print(f"  {way.name}: {costs[-1].processor:.0f} CPU, {load()}", file=sys.stderr, flush=True)
    return {
        way: Cost(statistics.median(c.processor for c in costs), statistics.median(c.clock for c in costs))
        for way, costs in found.items()
    }


def stages(shape: str, tokenizer: Path, work: Path) -> Mapping[str, Mapping[str, float]]:
    """Of the processor time of the rows in encode and in check, the share of each stage (see stages.py)."""
    data = Given(shape, tokenizer, work).data(COUNTS.get(shape, (FEW, MANY))[1])
    found = {}
    for command in ("encode", "check"):
        by = [sys.executable, str(Path(__file__).with_name("stages.py")), command, "DATA", "TOKENIZER", "OUT.parquet"]
        run(Way(f"stages of {command}", by), data, tokenizer, work)
        found[command] = json.loads((work / "said").read_text(encoding="utf-8").splitlines()[-1])["stages"]
    return found


def places(tokenizers: str, shapes: str) -> Iterator[tuple[str, Path, Path]]:
    """Each shape with each tokenizer, of names with commas between, and a folder for what is made of both."""
    compile_sftui()
    for name in tokenizers.split(","):
        for shape in shapes.split(","):
            with tempfile.TemporaryDirectory() as folder:
                yield shape, SHARED / "tokenizers" / name, Path(folder)


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", default="qwen2.5,llama-3-8b-instruct,phi-3-mini,minimind")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--ways", default=",".join(GROUPS), help=f"of {', '.join((*GROUPS, *CONFIGS))}")
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    for shape, tokenizer, folder in places(given.tokenizers, given.shapes):
        rows = Given(shape, tokenizer, folder)
        costs = measured(rows, given.ways.split(","), given.repeat)
        shares = stages(shape, tokenizer, folder) if given.stages else {}
        print(f"\n{tokenizer.name}, {shape}: µs a row, start-up off (median of {given.repeat}, {load()})")
        named = {way.name: cost for way, cost in costs.items()}
        for way, cost in costs.items():
            other = named.get(way.against or "")
            taken = f"{(rows.counts[1] - rows.counts[0]) * way.times:8,} rows"
            told = f"   {other.processor / cost.processor:5.2f} times {way.against}" if other is not None else ""
            print(f"  {way.name:36} {taken} {cost.processor:8.0f} CPU {cost.clock:8.0f} clock{told}")
        for command, share in shares.items():
            print(f"  stages of {command}: " + ", ".join(f"{stage} {part:.0%}" for stage, part in share.items()))


if __name__ == "__main__":
    main()
