"""What a worker makes of one piece of the data: a part that joins those of the pieces before it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sftui.model import Inspection, Row
from sftui.sources.shards import PieceReader
from sftui.sources.source import SourcePiece

if TYPE_CHECKING:
    from sftui.audit.found import Filter
    from sftui.audit.processes import WorkerState
    from sftui.findings.hashes import Hashes
    from sftui.session.ready import Ready
    from sftui.session.sent import SessionParcel

Rows = SourcePiece | tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class PieceResult:
    """What was made of a piece: `made` is pickled or encoded, `repeats` pickled where repeated rows are found apart
    from it (else empty); `damaged`: some of the piece's file could not be read."""

    made: bytes
    repeats: bytes = b""
    damaged: bool = False


def rows_of(piece: Rows) -> int:
    """How many rows a piece has."""
    return piece.rows if isinstance(piece, SourcePiece) else len(piece)


def name_of(piece: Rows) -> str:
    """What to call a piece in a sentence."""
    if isinstance(piece, SourcePiece):
        return f"{piece.title} rows {piece.before:,} to {piece.before + piece.rows - 1:,}"
    return f"rows {piece[0].index:,} to {piece[-1].index:,}"


def head_of(piece: Rows, rows: int) -> Rows:
    """The first rows of a piece."""
    return piece._replace(rows=min(rows, piece.rows)) if isinstance(piece, SourcePiece) else piece[:rows]


class PieceWorker:
    """What a worker has opened for a task, the pieces that it reads, and what is `made` of the rows of one."""

    def __init__(self, opened: Any, made: Callable[[Any, Iterator[Row]], PieceResult]) -> None:
        self._opened, self._made, self._reader = opened, made, PieceReader()

    @property
    def engine_note(self) -> str | None:
        note: str | None = self._opened.engine_note
        return note

    def do(self, piece: Rows) -> PieceResult:
        """The part that a piece comes to."""
        return replace(self._made(self._opened, self._reader.rows(piece)), damaged=bool(self._reader.damage))


@dataclass(frozen=True, slots=True)
class CheckPieces:
    """Audits of pieces. `apart`: what tells repeated rows travels by itself (see `audit.repeats`)."""

    session: SessionParcel
    wanted: Filter
    evaluation: Hashes | None
    apart: bool

    def open(self) -> PieceWorker:
        from sftui.audit.processes import AuditTask

        return PieceWorker(AuditTask(self.session, self.wanted, self.evaluation, lasting=True).open(), self._part)

    def _part(self, state: WorkerState, rows: Iterator[Row]) -> PieceResult:
        from sftui.audit.repeats import take_repeats

        audit = state.do(rows)
        repeats = _pickled(take_repeats(audit.checks)) if self.apart else b""
        return PieceResult(_pickled(audit), repeats)


@dataclass(frozen=True, slots=True)
class EncodePieces:
    """Records of pieces as a file of a `form` has them (see `exports.parquet.joined`), with an `EncodeProgress` and by
    which engine."""

    session: SessionParcel
    form: str
    explain: bool

    def open(self) -> PieceWorker:
        return PieceWorker(_opened(self.session), self._part)

    def _part(self, session: Ready, rows: Iterator[Row]) -> PieceResult:
        from sftui.exports.parquet import part_of
        from sftui.session.encoding import EncodeProgress, columns_of, encoded_rows

        written, explain, columns = EncodeProgress(), self.explain, columns_of(session, self.explain, unpacked=True)
        inspected = session.inspect_many(rows, spans=explain, text=explain)
        records = encoded_rows(inspected, written, explain)
        made = part_of(self.form, records, columns)
        return PieceResult(_pickled((written, session.bulk.engine, made)))


@dataclass(frozen=True, slots=True)
class InspectRows:
    """Inspections of rows, of each as much as packing takes; `whole`: all of it."""

    session: SessionParcel
    whole: bool

    def open(self) -> PieceWorker:
        return PieceWorker(_opened(self.session), self._part)

    def _part(self, session: Ready, rows: Iterator[Row]) -> PieceResult:
        inspected = session.inspect_many(rows, spans=self.whole, text=self.whole)
        return PieceResult(_pickled([found if self.whole else _light(found) for found in inspected]))


def _opened(session: SessionParcel) -> Ready:
    from sftui.tokens.release import settle

    opened = session.open()
    settle()
    return opened


def _light(found: Inspection) -> Inspection:
    """What packing and counting ask of an inspection, and no more."""
    row, labels, tokens = replace(found.row, data=None, raw=""), None, None
    if found.labels is not None and found.labels.dropped is not None:
        labels, tokens = replace(found.labels, values=(), ranges=(), reasons=()), found.tokens
    return replace(found, row=row, conversation=None, rendered=None, tokens=tokens, labels=labels, boundary=None)


def _pickled(made: object) -> bytes:
    return pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
