"""Rows of formats that are no JSON (Parquet, Arrow, CSV), with values that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sftui.errors import ExportError
from sftui.repairs.lines import RepairedRow
from sftui.repairs.model import RowChange

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
