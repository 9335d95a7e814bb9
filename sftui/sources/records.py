"""The bytes of one JSON record → Row, with a sentence where they are not a JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from sftui.fast_json import orjson
from sftui.model import RAW_LIMIT, Row
from sftui.text import clip, visible

JSON_SPACE = b" \t\r\n"
_AROUND = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")|([,:]?)([ \t\r\n]+)', re.DOTALL)
LISTED, LIST_OF_LISTS, OVER_LINES = "lists of turns", "a list of lists", "objects over several lines"
ONE_LIST, MARKED, WRITTEN = "one list", "a byte order mark", "as lines to be written"
TABLE = "by "
"""Layouts of rows (`model.Row.layout`); a table in one object (`reshaped`) begins with TABLE, a list or objects over
several lines end with MARKED where a byte order mark is before them."""
PLACE = 16
"""Cells of the text that is quoted on each side of a mistake."""
_NAMES = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "true or false"}


def one_line(record: bytes) -> bytes:
    """A JSON text without its line breaks; nothing else of it changes."""

    def joined(match: re.Match[bytes]) -> bytes:
        if match[1] is not None or not (b"\n" in match[3] or b"\r" in match[3]):
            return match[0]
        return match[2] + (b" " if match[2] else b"")

    return _AROUND.sub(joined, record) if b"\n" in record or b"\r" in record else record


class AsStored(NamedTuple):
    """How a file holds rows: its name, `Row.layout`, whether a row is a `line`, a `record` or a `row` in it, and how
    many of its rows were looked at."""

    name: str
    layout: str
    unit: str
    rows: int


def remade(layout: str) -> bool:
    """Whether a row of a file that holds its rows so is written in another way as JSON Lines."""
    return layout.startswith((LISTED, LIST_OF_LISTS, OVER_LINES, TABLE))


def in_column(record: bytes, column: str | None) -> bytes:
    """The JSON of a value as that of a row with this one column; with None as it stands."""
    return record if column is None else b"{" + json.dumps(column).encode() + b": " + record.rstrip(JSON_SPACE) + b"}"


def is_turns(value: Any) -> bool:
    """Whether it is a list of the turns of a conversation: each has a role, and something that is said."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, dict)
            and isinstance(one.get("role", one.get("from")), str)
            and not one.keys().isdisjoint(("content", "value", "text", "tool_calls"))
            for one in value[:8]
        )
    )


def parse_record(
    data: bytes, index: int, where: str, *, offset: int, column: str | None = None, layout: str = ""
) -> Row:
    """One record as a Row; `offset` is where `data` begins in the file, for messages.

    With `column` the record is any JSON value, and becomes that one column.

    orjson reads first because it is several times faster; what it refuses (NaN, lone surrogates,
    deep nesting) is read again by `json`, which takes what Python users' files really hold.
    """
    value, problem, text = _load(data, offset)
    if column is not None and not problem:
        value = {column: value}
    if not problem and not isinstance(value, dict):
        problem = f"is not a JSON object but {_NAMES.get(type(value), 'null')}"
    raw = _text(data) if text is None else text[:RAW_LIMIT]
    if problem:
        return Row(index, None, raw, where, len(data), f"{where} {problem}")
    return Row(index, value, raw, where, len(data), layout=layout)


def row_of(data: Mapping[str, Any], index: int, where: str, limit: int, layout: str = "") -> Row:
    """A record that is no text as a Row, with the JSON that it would be; one longer than the limit is not taken."""
    raw = json.dumps(data, ensure_ascii=False, default=str)
    if len(raw) <= limit:
        return Row(index, data, raw[:RAW_LIMIT], where, len(raw), layout=layout)
    problem = f"{where} is {len(raw):,} characters, over the limit of {limit:,} per row; --row-limit MB raises it"
    return Row(index, None, raw[:RAW_LIMIT], where, len(raw), problem, layout=layout)


def oversized(head: bytes, size: int, limit: int, index: int, where: str) -> Row:
    """The Row for a record that is too large to parse; `head` are its first bytes."""
    problem = f"{where} is {size:,} bytes, over the limit of {limit:,} per row; --row-limit MB raises it"
    return Row(index, None, _text(head), where, size, problem)


def changed_under_us(index: int, where: str, why: str) -> Row:
    """The Row where the file is no longer the one that was indexed."""
    return Row(
        index, None, "", where, 0, f"{where} cannot be read: the file changed while sftui read it, {why}; open it again"
    )


def _load(data: bytes, offset: int) -> tuple[Any, str, str | None]:
    """The value, or a sentence on why there is none; and the record as text where it had to be made for that."""
    if orjson is not None:
        try:
            return orjson.loads(data), "", None
        except ValueError:
            pass
    text = None
    try:
        text = data.decode("utf-8")
        return _json(text), "", text
    except UnicodeDecodeError as error:
        place = f"byte offset {error.start} (offset {offset + error.start:,} in the file)"
        return None, f"is not valid UTF-8: 0x{data[error.start]:02x} at {place}", None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            more = "datasets.load_dataset may read them as separate rows, and later row numbers then differ"
            return None, f"contains more than one JSON value, the second at {_column(error)}; {more}", text
        reason = _lower(error.msg).removesuffix(" at").replace("expecting ", "expected ")
        return None, f"is not valid JSON: {reason} at {_column(error)}, {_place(error)}", text
    except (ValueError, RecursionError) as error:
        return None, f"is not readable JSON: {_lower(str(error))}", text


def _json(text: str) -> Any:
    """`json.loads`, which makes another decoder for each text, by one that is there: half the time for a short row."""
    return json.loads(text) if text.startswith("\ufeff") else _DECODER.decode(text)  # the former tells of the BOM


def _integer(digits: str) -> int | float:
    """Integers beyond 64 bits become floats, as in orjson and in the JSON reader of `datasets`."""
    if len(digits) < 19:
        return int(digits)
    value = float(digits)
    return int(digits) if -(2.0**63) <= value < 2.0**64 else value


_DECODER = json.JSONDecoder(parse_int=_integer)


def _column(error: json.JSONDecodeError) -> str:
    if error.lineno == 1:
        return f"column {error.colno}"
    return f"line {error.lineno} of the record, column {error.colno}"


def _place(error: json.JSONDecodeError) -> str:
    """The text on both sides of the place, as it can be drawn."""
    before, after = (
        clip(visible(part), PLACE)
        for part in (error.doc[max(0, error.pos - PLACE) : error.pos], error.doc[error.pos : error.pos + 2 * PLACE])
    )
    if not after.strip():
        return f"at the end of the record, after `{before}`"
    return f"before `{after}`" + (f", after `{before}`" if before.strip() else "")


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def _text(data: bytes) -> str:
    # four bytes a character at most, so this much is enough for RAW_LIMIT characters
    return data[: 4 * RAW_LIMIT].decode("utf-8", errors="backslashreplace")[:RAW_LIMIT]
