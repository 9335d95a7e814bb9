"""The one way of the commands to a file or to stdout: no input is written over, and nothing that is there unasked."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from sftui import bound
from sftui.cli.terminal import clear_line, narrate, redraw
from sftui.errors import ExportError
from sftui.session.inputs import Inputs

if TYPE_CHECKING:
    from sftui.repairs.run import RepairPlan
    from sftui.session.opened import OpenData
    from sftui.session.repairing import WriteProgress

STDOUT = "-"


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Where a command may write: a file, or stdout (None). Made by `targets` alone."""

    path: Path | None

    @contextmanager
    def open(self, folders: bool = True, private: bool = False) -> Iterator[IO[bytes]]:
        """For bytes; the file is there whole or not at all, and `folders` are made for it. `private`: for its owner
        alone."""
        from sftui.exports.files import atomic_file

        if self.path is not None:
            with atomic_file(self.path, folders, private) as file:
                yield file
            return
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()

    def write(self, text: str, what: str = "") -> None:
        """All of it, and print where it is; ExportError where the text holds half a character."""
        try:
            content = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ExportError(
                f"{self.path or 'the output'} could not be written",
                why="it would contain half a character (a lone surrogate)",
            ) from error
        with self.open() as file:
            file.write(content)
        if self.path is not None:
            narrate(f"{what}written to {self.path}")

    @contextmanager
    def as_path(self) -> Iterator[Path]:
        """For whoever must have a name: what stands there goes to stdout at the end, where that is meant."""
        if self.path is not None:
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="sftui-stdout-") as folder:
            bound.unfinished(folder)
            path = Path(folder) / "out.jsonl"
            yield path
            with open(path, "rb") as made, self.open() as out:
                shutil.copyfileobj(made, out, 1 << 20)


def outputs(
    inputs: Inputs, force: bool, named: str, *more: str | None, ours: str | None = None
) -> tuple[OutputTarget, tuple[OutputTarget | None, ...]]:
    """`targets` where the first one is always written: that one, and the others."""
    others = targets(inputs, force, named, *more, ours=ours)[1:]
    return _target(named), others


def targets(
    inputs: Inputs, force: bool, *named: str | None, ours: str | None = None
) -> tuple[OutputTarget | None, ...]:
    """What options that name an output come to, in their order: `-` is stdout, None stays None.

    ExportError for an input under any name, for one place named twice, and where nobody can be asked whether to
    overwrite; `ours` is the one of them that may be overwritten unasked, because sftui wrote what is there.
    """
    wanted = [one for one in named if one is not None]
    places = [STDOUT if one == STDOUT else os.path.realpath(one) for one in wanted]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise ExportError(f"two outputs are named {wanted[number]}", fix="name two files")
    files = tuple(Path(one) for one in wanted if one != STDOUT)
    may_write(files, inputs, force, ours)
    return tuple(None if one is None else _target(one) for one in named)


def _target(named: str) -> OutputTarget:
    return OutputTarget(None if named == STDOUT else Path(named))


def may_write(files: Sequence[Path], inputs: Inputs, force: bool, ours: str | None = None) -> None:
    """Refuse inputs and what is no file, and ask once for all files that would be overwritten; ExportError."""
    for file in files:
        inputs.refuse(file)
    there = [str(file) for file in files if file.exists() and (ours is None or file != Path(ours))]
    if force or not there:
        return
    names = ", ".join(there)
    exist = "already exists" if len(there) == 1 else "already exist"
    if sys.stdin is None or not sys.stdin.isatty():
        raise ExportError(f"{names} {exist}", fix="overwrite with --force, or choose another name")
    click.confirm(f"{names} {exist}; overwrite?", abort=True, err=True)


def print_over_progress(sentence: str) -> None:
    """A sentence on stderr where a line of progress may stand."""
    clear_line()
    narrate(sentence)


class Progress:
    """One line on stderr that says how many rows are done; silent where stderr is no terminal."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._drawn = time.monotonic()
        self._live = sys.stderr.isatty()

    def at(self, done: int, more: str = "") -> None:
        """Print, at most four times a second; `more` stands behind the count."""
        if not self._live or time.monotonic() - self._drawn < 0.25:
            return
        self._drawn = time.monotonic()
        share = f" of {self._total:,} ({done * 100 // self._total} %)" if self._total else ""
        redraw(f"{done:,} rows{share}{more} ")

    def end(self) -> None:
        """Take the line away."""
        clear_line()


def rows_written(
    session: OpenData, plan: RepairPlan, target: OutputTarget | None, journal: OutputTarget | None
) -> WriteProgress:
    """Write the rows after a plan and the log, or count only, and print on stderr how far it is."""
    from sftui.repairs.run import RunCounts
    from sftui.session.repairing import WriteProgress, write_repaired

    progress = Progress(session.count_now())
    now = WriteProgress(RunCounts())
    with ExitStack() as files:
        rows, log = (None if one is None else files.enter_context(one.as_path()) for one in (target, journal))
        for now in write_repaired(session, plan, rows, log):
            progress.at(now.counts.rows)
        progress.end()
    return now
