"""A repaired row as a line of JSON, in the style of the line that it was."""

from __future__ import annotations

import json

from sftui.repairs.model import Data
from sftui.repairs.run import Repaired


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


def _written(data: Data, original: bytes | None) -> bytes:
    compact = original is not None and b'":' in original and b'": ' not in original
    escaped = original is not None and original.isascii() and b"\\u" in original
    separators = (",", ":") if compact else (", ", ": ")
    try:
        return json.dumps(data, ensure_ascii=escaped, separators=separators, default=str).encode() + b"\n"
    except UnicodeEncodeError:  # half a character has no UTF-8
        return json.dumps(data, ensure_ascii=True, separators=separators, default=str).encode() + b"\n"
