"""Throw bent rows, configs, templates, tokenizers, data files and options at sftui.

    python tests/fuzz/run.py --inputs 500000 --seed 1 --jobs 2
    python tests/fuzz/run.py --one 1:4711          one input again, with its trace

Prints how many inputs a second, the signatures found (exception and innermost place in sftui) with the first input of
each, and the largest resident memory. Exit 0 without signatures, 1 with some. New failures are written to --keep, from
where they go into corpus/ once they are mended.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import fuzz_engine  # noqa: E402
import fuzz_targets  # noqa: E402

SLICE = 5_000
"""Inputs that one process takes; memory that leaks shows as a peak, and a crash costs no more than this."""


@dataclass
class Found:
    """What all processes found: how often each signature, and the largest process."""

    done: int = 0
    peak: int = 0
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    first: dict[str, str] = field(default_factory=dict)


def _child(seed: int, start: int, stop: int, report: Path) -> None:
    """Work a slice; a line for each failure, and the number in work beside it, so that a crash has a number."""
    at = os.open(report.with_suffix(".at"), os.O_CREAT | os.O_WRONLY, 0o600)
    with report.open("w", encoding="ascii") as file:
        os.pwrite(at, f"{start:>12}".encode(), 0)
        for number, failure in fuzz_engine.work(seed, start, stop):
            if failure is not None:
                told = {
                    "number": number,
                    "signature": failure.signature,
                    "target": failure.target,
                    "given": failure.given,
                    "trace": failure.trace,
                }
                file.write(json.dumps(told) + "\n")
                file.flush()
            os.pwrite(at, f"{number + 1:>12}".encode(), 0)
        file.write(json.dumps({"peak": fuzz_engine.peak()}) + "\n")


def _take(report: Path, seed: int, found: Found, keep: Path | None) -> None:
    if not report.exists():
        return
    for line in report.read_text(encoding="ascii").splitlines():
        told = json.loads(line)
        if "peak" in told:
            found.peak = max(found.peak, told["peak"])
            continue
        _count(found, told["signature"], f"{seed}:{told['number']} ({told['target']})", told["trace"])
        if keep is not None and found.counts[told["signature"]] <= 3:
            name = "".join(char if char.isalnum() else "-" for char in told["signature"])
            kept = {key: told[key] for key in ("signature", "target", "given")}
            (keep / f"{name}-{seed}-{told['number']}.json").write_text(json.dumps(kept, indent=1) + "\n")


def _count(found: Found, signature: str, where: str, trace: str = "") -> None:
    found.counts[signature] += 1
    if signature not in found.first:
        found.first[signature] = where
        print(f"new: {signature}  at {where}", flush=True)
        if trace:
            print("     " + "\n     ".join([line[:200] for line in trace.strip().splitlines()[-7:]]), flush=True)


def fuzz(inputs: int, seed: int, jobs: int, keep: Path | None) -> Found:
    """All inputs, in processes of their own; one that dies is a signature, and the rest of its slice goes on."""
    found = Found()
    todo = [(start, min(start + SLICE, inputs)) for start in range(0, inputs, SLICE)][::-1]
    running: dict[subprocess.Popen[bytes], tuple[int, int, Path]] = {}
    with tempfile.TemporaryDirectory(prefix="sftui-fuzz-reports-") as folder:
        while todo or running:
            while todo and len(running) < jobs:
                start, stop = todo.pop()
                report = Path(folder) / f"{start}.jsonl"
                words = [
                    sys.executable,
                    str(HERE / "run.py"),
                    "--slice",
                    f"{seed}:{start}:{stop}",
                    "--report",
                    str(report),
                ]
                running[subprocess.Popen(words, stderr=subprocess.DEVNULL)] = (start, stop, report)
            time.sleep(0.2)
            for process in [one for one in running if one.poll() is not None]:
                start, stop, report = running.pop(process)
                _take(report, seed, found, keep)
                at = report.with_suffix(".at")
                reached = int(at.read_text()) if at.exists() else start
                found.done += reached - start
                if process.returncode != 0:
                    where = (
                        f"{seed}:{reached} ({fuzz_targets.made(seed, reached)[0]})"
                        if reached < stop
                        else f"{seed}:{start}"
                    )
                    _count(found, f"the process ended with {process.returncode}", where)
                    found.done += 1
                    if reached + 1 < stop:
                        todo.append((reached + 1, stop))
    return found


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--inputs", type=int, default=10_000)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--jobs", type=int, default=1)
    reader.add_argument("--keep", type=Path, help="folder for inputs that fail")
    reader.add_argument("--one", metavar="SEED:NUMBER", help="run one input again and print it")
    reader.add_argument("--slice", help=argparse.SUPPRESS)
    reader.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    asked = reader.parse_args()
    if asked.slice:
        seed, start, stop = map(int, asked.slice.split(":"))
        _child(seed, start, stop, asked.report)
        return 0
    if asked.one:
        seed, number = map(int, asked.one.split(":"))
        print(json.dumps(fuzz_targets.made(seed, number), indent=1)[:20_000])
        ((_, failure),) = fuzz_engine.work(seed, number, number + 1)
        print(failure.trace if failure is not None else "nothing wrong")
        return 1 if failure is not None else 0
    if asked.keep is not None:
        asked.keep.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    found = fuzz(asked.inputs, asked.seed, asked.jobs, asked.keep)
    took = time.monotonic() - began
    told = f"{found.done:,} inputs, seed {asked.seed}, {took:,.0f} s, {found.done / took:,.0f} a second"
    print(f"{told}, peak {found.peak / 2**20:,.0f} MiB")
    print(f"{len(found.counts)} signatures")
    for signature, count in found.counts.most_common():
        print(f"{count:>8}  {signature}  first {found.first[signature]}")
    return 1 if found.counts else 0


if __name__ == "__main__":
    raise SystemExit(main())
