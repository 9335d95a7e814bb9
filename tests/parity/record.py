"""Record what the real trainers make of the parity cases: `python record.py TRAINER[@VERSION] [CASE…]`.

Needs the trainer's environment (see environments.py). A reference is made again only when its
case, its rows or the trainer's version changed; `--force` makes it again anyway.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import environments
from case import VERIFY, Case, cases_of, home, python_of, result_path


def ask(trainer: str, version: str, requests: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The runner's one-line answers to requests, in order, from one process of the trainer's environment.

    A runner that dies is started again for the next request; the one it died of answers with an error.
    """
    python = python_of(trainer, version)
    if not python.exists():
        sys.exit(f"there is no environment at {python.parent.parent}; run environments.py {trainer}@{version}")
    log = home() / "logs" / f"{trainer}-{version}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as errors:
        process = None
        for request in requests:
            if process is None:
                process = subprocess.Popen(
                    [str(python), str(VERIFY / f"run_{trainer}.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=errors, text=True, env=environments.process_environment(),
                )
            assert process.stdin and process.stdout
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line:
                yield json.loads(line)
                continue
            message = f"the runner ended with code {process.wait()}, see {log}"
            process = None
            yield {"rows_in": None, "kept": None, "seconds": 0, "error": {"type": "Died", "message": message}}
        if process is not None and process.stdin:
            process.stdin.close()
            process.wait()


def record(trainer: str, version: str, cases: Sequence[Case], *, force: bool = False) -> int:
    """Run the cases that have no current reference; how many of them gave none."""
    wanted = [c for c in cases if (not c.only or version in c.only) and (force or not current(trainer, version, c))]
    if not wanted:
        return 0
    died = 0
    paths = [result_path(trainer, version, case) for case in wanted]
    for path in paths:
        path.unlink(missing_ok=True)
    answers = ask(trainer, version, [case.request(path) for case, path in zip(wanted, paths)])
    for case, path, answer in zip(wanted, paths, answers):
        error = answer["error"]
        died += bool(error) and error["type"] == "Died"
        if path.exists():
            path.with_suffix(".key").write_text(case.fingerprint())
        outcome = f"{error['type']}: {error['message'][:90]!r}" if error else f"kept {answer['kept']} of {answer['rows_in']}"
        print(f"{case.name:42} {outcome}  {answer['seconds']:.1f} s", flush=True)
    return died


def current(trainer: str, version: str, case: Case) -> bool:
    """Whether the reference on disk is of this case as it is now."""
    path = result_path(trainer, version, case)
    key = path.with_suffix(".key")
    return path.exists() and key.exists() and key.read_text() == case.fingerprint()


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
    return record(trainer, version, [c for c in cases if not options.cases or c.name in options.cases], force=options.force)


if __name__ == "__main__":
    sys.exit(main())
