"""The parts of a check in a folder, made by tasks that know nothing of each other and joined by a last one.

    plan(folder, checking, pieces) → make(folder, rank, of) by each of `of` tasks → PartsChecking(folder, …).steps()

The folder is a path or a URL of fsspec. A part is there whole or not at all, and counts once, however often it is made;
parts of another plan are not read. What is read is unpickled, which runs what it holds: the folder must be one's own.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from sftui import __version__
from sftui.audit.audit import Audit
from sftui.audit.processes import AuditProgress
from sftui.crew import Crew
from sftui.engines.checking import JoinedChecking, repeated_in
from sftui.engines.shards import CheckPieces, PieceResult, Rows
from sftui.errors import SftuiError
from sftui.session.ready import Ready
from sftui.sources.source import SourcePiece

PLAN = "plan.pickle"


class Folder:
    """Files of a folder by name; SftuiError where it cannot be used."""

    def __init__(self, path: str) -> None:
        import fsspec

        self.path = path
        try:
            self._files, self._root = fsspec.core.url_to_fs(path)
        except (ImportError, ValueError) as error:
            raise SftuiError("cannot hold the parts", where=path, why=str(error).rstrip(".")) from error

    def write(self, name: str, made: object) -> None:
        """Write what pickles, whole or not at all."""
        place = f"{self._root}/{name}"
        part = f"{place}.{uuid4().hex}"
        self._files.makedirs(self._root, exist_ok=True)
        try:
            self._files.pipe_file(part, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
            self._files.mv(part, place)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._files.rm_file(part)
            raise SftuiError(f"{name} could not be written", where=self.path, why=str(error)) from error

    def read(self, name: str) -> Any:
        """What was written under a name; FileNotFoundError."""
        return pickle.loads(self._files.cat_file(f"{self._root}/{name}"))

    def names(self) -> frozenset[str]:
        """The files that are there."""
        try:
            return frozenset(str(one).rpartition("/")[2] for one in self._files.ls(self._root, detail=False))
        except FileNotFoundError:
            return frozenset()


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """What is to be done: the task of every piece, the pieces (of those that are rows, the name of their file), and the
    audit that the parts join. `key` begins the names of its files."""

    version: str
    key: str
    task: CheckPieces
    pieces: tuple[SourcePiece | str, ...]
    audit: Audit


def plan(folder: Folder, checking: JoinedChecking, pieces: Iterable[Rows]) -> int:
    """Divide the work and write that down; how many pieces there are."""
    task = checking.task()
    key = blake2b(pickle.dumps((task, uuid4().hex)), digest_size=6).hexdigest()
    named: list[SourcePiece | str] = []
    for number, piece in enumerate(pieces):
        if isinstance(piece, SourcePiece):
            named.append(piece)
        else:
            name = f"{key}-{number:07}.rows"
            named.append(name)
            folder.write(name, piece)
    folder.write(PLAN, EnginePlan(__version__, key, task, tuple(named), checking.audit))
    return len(named)


def read_plan(folder: Folder) -> EnginePlan:
    """The plan of a folder; SftuiError where there is none that this sftui made."""
    try:
        found: EnginePlan = folder.read(PLAN)
    except FileNotFoundError:
        raise SftuiError("there is no plan", where=folder.path, fix="run the Plan step first") from None
    if found.version != __version__:
        raise SftuiError(
            f"the plan comes from sftui {found.version}, but this is {__version__}",
            where=folder.path,
            fix="install the same version on every machine",
        )
    return found


def make(folder: Folder, rank: int = 0, of: int = 1) -> Iterator[PieceResult]:
    """Make the parts of each `of`-th piece from number `rank` on that are not there yet."""
    found = read_plan(folder)
    there = folder.names()
    mine = [number for number in range(rank, len(found.pieces), of) if _name(found, number) not in there]
    if not mine:
        return
    crew: Crew[Rows, PieceResult] = Crew(found.task, 1)
    named = (found.pieces[number] for number in mine)
    pieces = (piece if isinstance(piece, SourcePiece) else folder.read(piece) for piece in named)
    try:
        for number, part in zip(mine, crew.done(pieces)):
            folder.write(_name(found, number), part)
            yield part
    finally:
        crew.end()


class PartsChecking(JoinedChecking):
    """One audit of the parts in a folder; `session` is the data that was planned, opened again."""

    def __init__(self, folder: Folder, found: EnginePlan, session: Ready) -> None:
        super().__init__(session, found.task.wanted, found.task.evaluation)
        self.audit, self._folder, self._plan = found.audit, folder, found

    def steps(self) -> Iterator[AuditProgress]:
        """As `Checking`; SftuiError where parts are missing."""
        there = self._folder.names()
        missing = sum(_name(self._plan, number) not in there for number in range(len(self._plan.pieces)))
        if missing:
            raise SftuiError(
                f"{missing:,} of {len(self._plan.pieces):,} parts do not exist yet",
                where=self._folder.path,
                fix="run the Check step again to make the missing ones",
            )
        pieces = [piece if isinstance(piece, SourcePiece) else () for piece in self._plan.pieces]
        parts = ((piece, part.damaged, part.made) for piece, part in zip(pieces, self._parts()))
        return self.joined(parts, lambda shares: repeated_in(self._parts, shares, self.prompts))

    def _parts(self) -> Iterator[PieceResult]:
        yield from (self._folder.read(_name(self._plan, number)) for number in range(len(self._plan.pieces)))


def _name(found: EnginePlan, number: int) -> str:
    return f"{found.key}-{number:07}.part"
