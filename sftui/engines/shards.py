"""What a worker makes of one piece of the data: a part that joins those of the pieces before it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sftui.model import Row
from sftui.sources.pieces import PieceReader
from sftui.sources.source import Piece

if TYPE_CHECKING:
    from sftui.audit import Audit, Filter
    from sftui.audit.processes import Loaded
    from sftui.findings.hashes import Hashes
    from sftui.session.sent import Sent

Rows = Piece | tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What was made of a piece: `made` is pickled or encoded, `repeats` pickled where repeated rows are found apart
    from it (else empty); `damaged`: some of the piece's file could not be read."""

    made: bytes
    repeats: bytes = b""
    damaged: bool = False


def rows_of(piece: Rows) -> int:
    """How many rows a piece has."""
    return piece.rows if isinstance(piece, Piece) else len(piece)


def name_of(piece: Rows) -> str:
    """What to call a piece in a sentence."""
    if isinstance(piece, Piece):
        return f"{piece.title} rows {piece.before:,} to {piece.before + piece.rows - 1:,}"
    return f"rows {piece[0].index:,} to {piece[-1].index:,}"


def head_of(piece: Rows, rows: int) -> Rows:
    """The first rows of a piece."""
    return piece._replace(rows=min(rows, piece.rows)) if isinstance(piece, Piece) else piece[:rows]


@dataclass(frozen=True, slots=True)
class CheckPieces:
    """Audits of pieces. `apart`: what tells repeated rows travels by itself (see `audit.repeats`)."""

    session: Sent
    wanted: Filter
    evaluation: Hashes | None
    apart: bool

    def open(self) -> _Checking:
        return _Checking(self)


class _Checking:
    def __init__(self, task: CheckPieces) -> None:
        from sftui.audit.processes import Task

        self._apart, self._reader = task.apart, PieceReader()
        self._loaded: Loaded = Task(task.session, task.wanted, task.evaluation).open()

    @property
    def told(self) -> str | None:
        return self._loaded.told

    def do(self, piece: Rows) -> Part:
        from sftui.audit.repeats import take_repeats

        audit: Audit = self._loaded.do(self._reader.rows(piece))
        repeats = _pickled(take_repeats(audit.checks)) if self._apart else b""
        return Part(_pickled(audit), repeats, bool(self._reader.damage))


def _pickled(made: object) -> bytes:
    return pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
