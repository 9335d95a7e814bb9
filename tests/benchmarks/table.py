"""What a row costs, for all tokenizers and shapes in minutes: `python tests/benchmarks/table.py [--markdown OUT.md]`.

The tutorial, `sftui encode`, `sftui check` and, with `--trainers`, each trainer's own preparation beside `sftui encode`
on the same config. Each way takes the time of its own rows behind the first ones, over some and over many: what is
printed is the difference, so start-up and loading are off, and what ends a run (the fixes that check tries), without
the two long runs of `whole_datasets.py`. The stages of sftui come out of the same runs.
Processor µs a row; on a busy machine only the ratios mean something. `--markdown` writes the table of docs/speed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import compile_sftui
from rows import SHAPES, SHARED
from setups import CONFIGS, setup
from whole_datasets import PLAIN, Given, Way, own_python, run

ROWS = {"turns": (660, 900, 2_900)}
FEW, SOME, MANY = 2_000, 2_500, 12_000
"""Rows: the first ones only warm up (caches of words fill, and memory is taken, which on a virtual machine costs more
than the row: the second thousand takes twice as long as the fifth), and those of two runs behind them."""
PLAINLY = {"turns": (39, 40, 1_040)}
PLAIN_ROWS = (39, 40, 6_040)
"""The same for the tutorial and for the trainers: the first run takes what only a first one does (imports, caches that
the libraries fill late), the second what every run does, and what is printed is the third beyond the second. Every run
takes 1.5 to 2.3 s of them whatever its rows, so fewer rows would print that difference."""
NAMES = {"chat": "short chat", "turns": "40 turns", "pair": "prompt/completion", "tools": "tool calls"}
USUAL = ("tutorial", "encode", "check")


@dataclass(frozen=True, slots=True)
class Told:
    """What a run says of itself: processor µs a row, and the share of each stage."""

    cost: float
    stages: Mapping[str, float] = field(default_factory=dict)


class Runs:
    """The runs of one tokenizer and shape."""

    def __init__(self, shape: str, tokenizer: Path, work: Path) -> None:
        self._shape, self._tokenizer, self._work = shape, tokenizer, work
        self._rows = work / shape
        self._rows.mkdir()
        self._given = Given(shape, tokenizer, self._rows)
        self._counts = ROWS.get(shape, (FEW, SOME, MANY))

    def of(self, way: str, trainer: str) -> Told | None:
        """One run of a way: USUAL, or `own` and `encode` with a trainer; None where that has no way for such rows."""
        plainly = PLAINLY.get(self._shape, PLAIN_ROWS)
        counts = plainly if way in ("tutorial", "own") else self._counts
        files = [self._given.data(count) for count in counts]
        if trainer:
            configs = [setup(trainer, self._shape, self._tokenizer, file, self._rows) for file in files]
            if None in configs:
                return None
            files = [config for config in configs if config is not None]
        if way in ("tutorial", "own"):
            python = sys.executable if way == "tutorial" else (own_python(trainer) or ("", ""))[1]
            if not python:
                return None
            script = str(PLAIN / f"by_{trainer or way}.py")
            folder = [] if trainer else ["TOKENIZER"]
            _, few, many = self._said([python, script, *map(str, files), *folder, "OUT.parquet"])
            return Told((many - few) / (counts[-1] - counts[-2]) * 1e6)
        script = str(Path(__file__).with_name("stages.py"))
        some, many = (
            self._said([sys.executable, script, way, str(file), "TOKENIZER", "OUT.parquet", str(counts[0])])
            for file in files[1:]
        )
        return Told((many["seconds"] - some["seconds"]) / (counts[2] - counts[1]) * 1e6, many["stages"])

    def _said(self, command: Sequence[str]) -> Any:
        run(Way("run", command), self._work, self._tokenizer, self._work)
        lines = (self._work / "said").read_text(encoding="utf-8", errors="replace").splitlines()
        return json.loads(next(line for line in reversed(lines) if line.startswith(("[", "{"))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", default="qwen2.5,llama-3-8b-instruct,phi-3-mini,minimind")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--trainers", default="", help=f"of {', '.join(CONFIGS)}; without the usual ways")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--markdown", type=Path, metavar="OUT.md")
    asked = parser.parse_args()
    compile_sftui()
    ways = [(way, trainer) for trainer in filter(None, asked.trainers.split(",")) for way in ("own", "encode")]
    ways = ways or [(way, "") for way in USUAL]
    lines = ["| tokenizer | rows | tutorial | `sftui encode` | `sftui check` |", "|---|---|--:|--:|--:|"]
    loads: list[float] = []
    for name in asked.tokenizers.split(","):
        with tempfile.TemporaryDirectory() as folder:  # one for all shapes: the tokenizer is proven once
            for shape in asked.shapes.split(","):
                found: dict[tuple[str, str], list[Told]] = {}
                runs = Runs(shape, SHARED / "tokenizers" / name, Path(folder))
                for _ in range(asked.repeat):
                    for each in ways:  # in turns, so that what else the machine does weighs on all of them
                        told = runs.of(*each)
                        loads.append(os.getloadavg()[0])
                        if told is not None:
                            found.setdefault(each, []).append(told)
                costs = {each: statistics.median(one.cost for one in some) for each, some in found.items()}
                for (way, trainer), cost in costs.items():
                    usual = costs[("own", trainer) if trainer else ("tutorial", "")]
                    stages = ", ".join(f"{stage} {part:.0%}" for stage, part in found[way, trainer][-1].stages.items())
                    print(
                        f"{name:20} {shape:6} {f'{trainer} {way}'.strip():22} {cost:7.0f} µs {usual / cost:5.1f}×"
                        f"  load {loads[-1]:4.1f}  {stages}",
                        flush=True,
                    )
                if asked.markdown is not None and set(USUAL) <= {way for way, _ in costs}:
                    usual = costs["tutorial", ""]
                    cells = [f"{costs[way, '']:,.0f} ({usual / costs[way, '']:.1f}×)" for way in USUAL[1:]]
                    lines.append(f"| {name} | {NAMES.get(shape, shape)} | {usual:,.0f} | {' | '.join(cells)} |")
                    asked.markdown.write_text(
                        "\n".join([*lines, "", about(asked.repeat, loads)]) + "\n", encoding="utf-8"
                    )


def about(repeat: int, loads: Sequence[float]) -> str:
    """What stands below the table."""
    of = "one run" if repeat == 1 else f"the median of {repeat} runs"
    return (
        "Processor µs a row, start-up off, one process, distinct rows, "
        f"{of}; in brackets how many times as fast as the tutorial's `datasets.map`. Load {min(loads):.0f} to"
        f" {max(loads):.0f} on {os.cpu_count()} cores: the ratios mean something, the figures depend on the machine."
    )


if __name__ == "__main__":
    main()
