"""What a worker makes of one piece of the data: a part that joins those of the pieces before it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sftui.model import Row
from sftui.sources.pieces import PieceReader
from sftui.sources.source import SourcePiece

if TYPE_CHECKING:
    from sftui.audit.audit import Audit
    from sftui.audit.found import Filter
    from sftui.audit.processes import WorkerState
    from sftui.findings.hashes import Hashes
    from sftui.model import Inspection
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


@dataclass(frozen=True, slots=True)
class CheckPieces:
    """Audits of pieces. `apart`: what tells repeated rows travels by itself (see `audit.repeats`)."""

    session: SessionParcel
    wanted: Filter
    evaluation: Hashes | None
    apart: bool

    def open(self) -> _CheckWork:
        return _CheckWork(self)


class _CheckWork:
    def __init__(self, task: CheckPieces) -> None:
        from sftui.audit.processes import AuditTask

        self._apart, self._reader = task.apart, PieceReader()
        self._loaded: WorkerState = AuditTask(task.session, task.wanted, task.evaluation, lasting=True).open()

    @property
    def engine_note(self) -> str | None:
        return self._loaded.engine_note

    def do(self, piece: Rows) -> PieceResult:
        from sftui.audit.repeats import take_repeats

        audit: Audit = self._loaded.do(self._reader.rows(piece))
        repeats = _pickled(take_repeats(audit.checks)) if self._apart else b""
        return PieceResult(_pickled(audit), repeats, bool(self._reader.damage))


@dataclass(frozen=True, slots=True)
class EncodePieces:
    """Records of pieces as a file of a `form` has them (see `exports.joining`), with an `EncodeProgress` and by which
    engine."""

    session: SessionParcel
    form: str
    explain: bool

    def open(self) -> _EncodeWork:
        return _EncodeWork(self)


class _WorkerSession:
    """A session that is open in the process of a worker, and the pieces that it reads."""

    def __init__(self, session: SessionParcel) -> None:
        from sftui.tokens.release import settle

        self._reader, self._session = PieceReader(), session.open()
        settle()

    @property
    def engine_note(self) -> str | None:
        return self._session.engine_note


class _EncodeWork(_WorkerSession):
    def __init__(self, task: EncodePieces) -> None:
        super().__init__(task.session)
        self._task = task

    def do(self, piece: Rows) -> PieceResult:
        from sftui.exports.joining import part_of
        from sftui.session.encoding import EncodeProgress, columns_of, encoded_rows

        written, explain = EncodeProgress(), self._task.explain
        rows = self._session.inspect_many(self._reader.rows(piece), spans=explain, text=explain)
        form, columns = self._task.form, columns_of(self._session, explain, unpacked=True)
        made = part_of(form, encoded_rows(rows, written, explain, as_arrays=form == "parquet"), columns)
        return PieceResult(_pickled((written, self._session.bulk.engine, made)))


@dataclass(frozen=True, slots=True)
class InspectRows:
    """Inspections of rows, of each as much as packing takes; `whole`: all of it."""

    session: SessionParcel
    whole: bool

    def open(self) -> _InspectWork:
        return _InspectWork(self)


class _InspectWork(_WorkerSession):
    def __init__(self, task: InspectRows) -> None:
        super().__init__(task.session)
        self._whole = task.whole

    def do(self, piece: Rows) -> PieceResult:
        rows = self._session.inspect_many(self._reader.rows(piece), spans=self._whole, text=self._whole)
        return PieceResult(_pickled([found if self._whole else _light(found) for found in rows]))


def _light(found: Inspection) -> Inspection:
    """What packing and counting ask of an inspection, and no more."""
    row, labels, tokens = replace(found.row, data=None, raw=""), None, None
    if found.labels is not None and found.labels.dropped is not None:
        labels, tokens = replace(found.labels, values=(), ranges=(), reasons=()), found.tokens
    return replace(found, row=row, conversation=None, rendered=None, tokens=tokens, labels=labels, boundary=None)


def _pickled(made: object) -> bytes:
    return pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
