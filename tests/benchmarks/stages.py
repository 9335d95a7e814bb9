"""COMMAND DATA TOKENIZER OUT [BEGIN]: what a row of `encode` or `check` costs, and how that is shared among its stages.

The command runs in this process. Every so many milliseconds of processor time the stack is looked at, and the time
since the last look goes to the stage that is at work; long calls into C count whole that way. Looking begins with the
row BEGIN, when everything is loaded. The last line printed is JSON: processor seconds from there to the end, and
stage → share. DATA may be a trainer's config.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

from measure import REPO

sys.path.insert(0, str(REPO))

from sftui import bound
from sftui.cli import main as sftui
from sftui.session.ready import Ready
from sftui.tokens.shortcuts import bulk

EVERY = 0.003
BEGIN = 600
"""The row from which on time is taken, where none is named: the faster engine is loaded by then, as it is here behind
the first rows whatever comes."""
bulk.LOADING = bulk.PER_TOKEN = 0
HOME = str(REPO / "sftui")
STAGES = (
    ("read", "sources/", None),
    ("read", "pipeline.py", "_read"),
    ("read", "trainers/", "convert"),
    ("read", "trainers/", "shape"),
    ("render", "trainers/", "render"),
    ("encode", "trainers/", "texts"),
    ("encode", "tokens/loaded.py", "ahead"),
    ("place", "trainers/", "tokenize"),
    ("label", "trainers/", "label"),
    ("examples", "trainers/", "examples"),
    ("write", "exports/", None),
    ("write", "exports/records.py", None),
    ("findings", "findings/", None),
    ("audit", "audit/", None),
)
"""A stage by the folder or file of a function and, where not all of them count, its name; the outermost one counts,
but what the audit calls, or the writer, which pulls the rows, counts before it: where they only wait for what is
PULLED, that counts as `rest`."""
OUTSIDE = ("audit", "write")
PULLED = ("pipeline.py", "session/")


class Looking:
    """Processor seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = self._begun = self.spent = 0.0

    def begin(self) -> None:
        self._last = self._begun = time.process_time()
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)

    def end(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.spent = time.process_time() - self._begun

    def _look(self, number: int, frame: FrameType | None) -> None:
        now = time.process_time()
        stage, pulled = "rest", False
        while frame is not None:  # from the innermost one: the last that is found is the outermost
            found = stage_of(frame.f_code.co_filename, frame.f_code.co_name)
            if found is not None and not (found in OUTSIDE and (pulled or stage != "rest")):
                stage = found
            pulled = pulled or frame.f_code.co_filename.startswith(tuple(f"{HOME}/{place}" for place in PULLED))
            frame = frame.f_back
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def stage_of(path: str, function: str) -> str | None:
    if not path.startswith(HOME):
        return None
    place = path[len(HOME) + 1 :]
    return next((s for s, where, name in STAGES if place.startswith(where) and name in (None, function)), None)


def main() -> None:
    command, data, tokenizer, out, *begin = sys.argv[1:]
    first = int(begin[0]) if begin else BEGIN
    looking = Looking()
    plain = Ready.inspect_many

    def looked_at(self: Ready, *given: Any, **named: Any) -> Iterator[Any]:
        for number, found in enumerate(plain(self, *given, **named)):
            if number == first:
                looking.begin()
            yield found

    import pyarrow.parquet  # noqa: F401 - else the first rows that are written pay for it, behind that row

    Ready.inspect_many = looked_at  # type: ignore[method-assign]
    more = ["-o", out, "--force"] if command == "encode" else ["--jobs", "1"]
    bound.collect_seldom()  # as in the process that a command is watched over in; its timer is ours here
    with suppress(SystemExit):
        sftui([command, data, "-t", tokenizer, *more])
    looking.end()
    whole = sum(looking.seconds.values())
    most = sorted(looking.seconds.items(), key=lambda one: -one[1])
    shares = {stage: spent / whole for stage, spent in most}
    print(json.dumps({"seconds": looking.spent, "stages": shares}))


if __name__ == "__main__":
    main()
