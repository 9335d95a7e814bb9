"""A repaired row: what became of it, and the line of JSON it makes, in the style of the line that it was."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from sftui.model import RAW_LIMIT, Row
from sftui.repairs.model import Change, Data


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of one row: its new data (None: left out, `dropped` says why) and every change."""

    row: Row
    data: Data | None
    changes: tuple[Change, ...] = ()
    dropped: str | None = None

    @property
    def untouched(self) -> bool:
        return self.dropped is None and not self.changes


def line_of(done: Repaired, original: bytes | None) -> bytes | None:
    """The line to write, with its line end; None for a row that is left out, or that cannot be carried over.

    `original` is the row's own line, byte for byte, where there is one: an untouched row is written as it was. A
    changed row keeps the order of its keys, its spacing and its escapes; equal keys in one object collapse to the last.
    """
    if done.dropped is not None:
        return None
    if done.untouched and original is not None:
        return original if original.endswith(b"\n") else original + b"\n"
    return None if done.data is None else _written(done.data, original)


def row_of(done: Repaired) -> Row:
    """The row as it would be written, with what changed in words; the very same row where nothing did.

    One that would be left out is shown as it stands, with the reason.
    """
    told = tuple(f"{change.place}: {change.what}" if change.place else change.what for change in done.changes)
    if done.dropped is not None:
        return replace(done.row, left_out=done.changes[-1].what, repairs=told)
    if done.untouched or done.data is None:
        return done.row
    line = _written(done.data, done.row.raw.encode("utf-8", "surrogatepass")).rstrip(b"\n")
    return replace(done.row, data=done.data, raw=line.decode("utf-8", "surrogatepass")[:RAW_LIMIT], size=len(line), repairs=told)


def _written(data: Data, original: bytes | None) -> bytes:
    compact = original is not None and b'":' in original and b'": ' not in original
    escaped = original is not None and original.isascii() and b"\\u" in original
    separators = (",", ":") if compact else (", ", ": ")
    try:
        return json.dumps(data, ensure_ascii=escaped, separators=separators, default=str).encode() + b"\n"
    except UnicodeEncodeError:  # half a character has no UTF-8
        return json.dumps(data, ensure_ascii=True, separators=separators, default=str).encode() + b"\n"
