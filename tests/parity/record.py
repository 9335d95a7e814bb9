"""Record what the real trainers make of the parity cases: `python record.py TRAINER[@VERSION] [CASE…]`.

Needs the trainer's environment (see environments.py). A reference is made again only when its
case, its rows, the trainer's version or the runner changed; `--force` makes it again anyway.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import environments
from case import Case, cases_of, home, python_of, result_path

from sftui.trainers.verify import session


def ask(trainer: str, version: str, requests: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The runner's answers to requests, in order (see `session.ask`); its own output goes to a log."""
    python = python_of(trainer, version)
    if not python.exists():
        sys.exit(f"there is no environment at {python.parent.parent}; run environments.py {trainer}@{version}")
    log = home() / "logs" / f"{trainer}-{version}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as errors:
        yield from session.ask(python, trainer, requests, errors)


def record(trainer: str, version: str, cases: Sequence[Case], *, force: bool = False) -> int:
    """Run the cases that have no current reference; how many of them gave none."""
    wanted = [c for c in cases if c.asked_of(trainer, version) and (force or not current(trainer, version, c))]
    if not wanted:
        return 0
    died = 0
    paths = [result_path(trainer, version, case) for case in wanted]
    answers = ask(trainer, version, [case.request(path) for case, path in zip(wanted, paths)])
    for case, path, answer in zip(wanted, paths, answers):
        error = answer["error"]
        if error and error["type"] == session.DIED:
            died += 1
            path.unlink(missing_ok=True)
        else:
            path.with_suffix(".key").write_text(_key(trainer, case))
        outcome = (
            f"{error['type']}: {error['message'][:90]!r}" if error else f"kept {answer['kept']} of {answer['rows_in']}"
        )
        print(f"{case.name:42} {outcome}  {answer['seconds']:.1f} s", flush=True)
    return died


def current(trainer: str, version: str, case: Case) -> bool:
    """Whether the reference on disk is of this case as it is now."""
    path = result_path(trainer, version, case)
    key = path.with_suffix(".key")
    return path.exists() and key.exists() and key.read_text() == _key(trainer, case)


def _key(trainer: str, case: Case) -> str:
    """What a reference depends on, besides the trainer's version."""
    sources = [file.read_bytes() for file in (session.runner_of(trainer), session.HERE / "exchange.py")]
    return f"{case.fingerprint()} {hashlib.sha256(b''.join(sources)).hexdigest()[:16]}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trainer", help="trainer or trainer@version")
    parser.add_argument("cases", nargs="*", help="names of cases; all, if none is given")
    parser.add_argument("--force", action="store_true")
    options = parser.parse_args(arguments)
    trainer, version = environments.split(options.trainer)
    cases = cases_of(trainer)
    unknown = set(options.cases) - {case.name for case in cases}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    return record(
        trainer, version, [c for c in cases if not options.cases or c.name in options.cases], force=options.force
    )


if __name__ == "__main__":
    sys.exit(main())
