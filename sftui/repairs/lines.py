"""A repaired row: what became of it, and the line of JSON it makes, in the style of the line that it was, or as
JSON can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sftui.errors import ExportError
from sftui.model import RAW_LIMIT, Row
from sftui.repairs.model import Data, RowChange
from sftui.repairs.splice import JsonStyle, Splice
from sftui.sources.records import WRITTEN, parse_record

TOO_DEEP = "the row is nested deeper than Python can follow"


@dataclass(frozen=True, slots=True)
class RepairedRow:
    """What became of one row: its new data (None: left out, `dropped` says why) and every change.

    `unchecked` says why it is not known whether the row has a finding that rows are left out for; `skipped`
    why the repairs could not be made on it, so that it is written as it was.
    """

    row: Row
    data: Data | None
    changes: tuple[RowChange, ...] = ()
    dropped: str | None = None
    unchecked: str = ""
    skipped: str = ""

    @property
    def untouched(self) -> bool:
        return self.dropped is None and not self.changes


def line_of(done: RepairedRow, original: bytes | None) -> bytes | None:
    """The line to write, with its line end; None for a row that is left out, or that cannot be carried over.

    `original` is the row's own line, byte for byte, where there is one: an untouched row is written as it was. A
    changed row keeps the text of all that did not change: its numbers, spacing, escapes, and equal keys in one object.
    """
    if done.dropped is not None:
        return None
    if done.untouched and original is not None:
        return original if original.endswith(b"\n") else original + b"\n"
    if done.data is None:
        return None
    text = None if original is None else original.decode("utf-8", "replace")
    try:
        return _written(done.data, text).encode() + b"\n"
    except RecursionError:  # nested deeper than Python can write
        return None


def as_it_was(done: RepairedRow, why: str) -> RepairedRow:
    """The row without its repairs, because they could not be made on it."""
    return replace(done, data=done.row.data, changes=(), dropped=None, skipped=why)


def row_of(done: RepairedRow) -> Row:
    """The row as it would be written, with what changed in words; the very same row where nothing did.

    One that would be left out is shown as it stands, with the reason. What is written are lines of JSON, however the
    rows were stored.
    """
    stored = done.row
    if done.row.layout or not done.untouched:
        done = replace(done, row=replace(done.row, layout=WRITTEN))
    changes = tuple(f"{change.place}: {change.what}" if change.place else change.what for change in done.changes)
    if done.dropped is not None:
        return replace(done.row, left_out=done.changes[-1].what, repairs=changes)
    if done.skipped:
        return replace(done.row, skipped=done.skipped)
    if done.untouched or done.data is None:
        return done.row
    raw = done.row.raw
    now = replace(done.row, data=done.data, problem=None, repairs=changes, stored=stored)
    try:
        line = _written(done.data, raw if len(raw) < RAW_LIMIT else None)
    except RecursionError:
        return now
    return replace(now, raw=line[:RAW_LIMIT], size=len(line.encode("utf-8", "surrogatepass")))


def _written(data: Data, original: str | None) -> str:
    old = None if original is None else parse_record(original.encode("utf-8", "surrogatepass"), 0, "", offset=0).data
    return JsonStyle().write(data) if original is None or old is None else Splice(original.strip(), old).put(data)


NULLED = "nan-to-null"
"""The name under which numbers that became null are counted and logged."""


def as_json(done: RepairedRow) -> RepairedRow:
    """The row as lines of JSON can hold it; ExportError where they cannot.

    Dates and times become ISO 8601 text and decimals text, which lose nothing. NaN and infinities, as which floating
    point columns keep what is missing, become null, which is reported. Binary data is refused: no reader of JSON Lines
    would take its text back for bytes.
    """
    if done.data is None:
        return done
    changes: list[RowChange] = []
    data = {str(key): _held(value, str(key), done.row.where, changes) for key, value in done.data.items()}
    return replace(done, data=data, changes=(*done.changes, *changes))


def _held(value: Any, place: str, where: str, changes: list[RowChange]) -> Any:
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        if abs(value) < float("inf"):
            return value
        changes.append(RowChange(NULLED, place, f"{value}, which JSON cannot represent, became null"))
        return None
    if isinstance(value, Mapping):
        return {str(key): _held(item, f"{place}.{key}", where, changes) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_held(item, f"{place}[{number}]", where, changes) for number, item in enumerate(value)]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (Decimal, timedelta, UUID)):
        return str(value)
    what = "binary data" if isinstance(value, (bytes, bytearray, memoryview)) else f"a {type(value).__name__}"
    raise ExportError(
        f"`{place}` is {what}, which JSON Lines cannot represent",
        where=where,
        fix=("before repairing, store the files next to the data and their paths in the column, or remove the column"),
    )
