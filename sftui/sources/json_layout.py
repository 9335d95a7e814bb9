"""Which of its shapes a JSON file has, by its first bytes and not by its name; and one whose one object holds a table
otherwise than in rows, as pandas' `to_json` writes it by default."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.byte_file import ByteFile
from sftui.sources.json_array import BLOCK, ElementScanner, JsonArraySource
from sftui.sources.jsonl import JsonlSource
from sftui.sources.records import JSON_SPACE, LIST_OF_LISTS, LISTED, MARKED, ONE_LIST, OVER_LINES, is_turns, row_of
from sftui.sources.source import CountedSource, Loading, NoRows, Source

BOM = b"\xef\xbb\xbf"
KNOWN = "JSON Lines, a JSON list or Parquet"
_SCALAR = rb'(?:"(?:[^"\\]|\\.)*"|[-+.\w]+)'
LISTS = re.compile(rb'\{\s*(?:"[^"\\]*"\s*:\s*' + _SCALAR + rb'\s*,\s*)*"([^"\\]*)"\s*:\s*\[\s*(?=\{)')
"""An object whose first value that is no scalar is a list of objects."""
HOLDS = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[\[{]')
"""An object whose first value holds others."""
TURN = re.compile(rb'\{\s*"(?:role|from)"\s*:\s*"')
OPENS_LIST = re.compile(rb"\s*:\s*\[\s*(?=\{)")
BEFORE_LIST = 1 << 12


def open_json(file: ByteFile, head: bytes, *, row_limit: int, field: str | None, sure: bool) -> Source:
    """Rows of a JSON file; not `sure`: nothing but its content says that it is JSON."""
    begin = len(BOM) if head.startswith(BOM) else 0
    notes = [f"{file.label} begins with a byte order mark, which sftui skips"] if begin else []
    start = len(head) - len(head[begin:].lstrip(JSON_SPACE))
    body = head[start:]
    if not body.startswith((b"{", b"[")) and not sure:
        raise SourceError("is not data that sftui knows", where=file.label, why=f"it is not {KNOWN}")
    if field is not None:
        return _open_field(file, body, start, row_limit=row_limit, field=field)
    layout = MARKED if begin else ""
    if body.startswith(b"[") and not _is_lines(body):
        return _open_array(file, body, start, row_limit=row_limit, notes=notes, mark=layout)
    pretty = body.startswith(b"{") and _is_pretty(body)
    alone = not pretty and body.startswith(b"{") and _is_alone(file, body)
    if (pretty or alone) and HOLDS.match(body) and (table := reshaped(file, start, row_limit=row_limit)) is not None:
        return table
    if pretty:
        note = f"{file.label} contains JSON objects that span several lines: each object is a row"
        notes += [note, *_inner_list(file, body, start)]
        layout = OVER_LINES + layout
        return JsonArraySource(file, False, start, row_limit=row_limit, notes=notes, layout=layout)
    if alone and not _named_lines(file.label):
        notes += _inner_list(file, body, start)
    if body.startswith(b"[") and _holds_turns(body):
        layout = LISTED
        notes.append(f"{file.label} has a list of turns in each line instead of an object: each is read as `messages`")
    return JsonlSource(file, row_limit=row_limit, begin=begin, notes=notes, layout=layout)


def _open_array(file: ByteFile, body: bytes, start: int, *, row_limit: int, notes: list[str], mark: str) -> Source:
    first = body[1:].lstrip(JSON_SPACE)[:1]
    if first == b"]":
        raise NoRows("contains an empty list", where=file.label)
    if _named_lines(file.label):
        notes.append(f"{file.label} is a JSON list instead of JSON Lines, and is read as a list")
    column = None
    if first == b"[" and _holds_turns(body[1:]):
        column = "messages"
        notes.append(f"{file.label} is one list of lists of turns: each is read as the `messages` of a row")
    elif first != b"{":
        # packaged_modules/json/json.py: a list that holds no objects becomes one column
        column = "text"
        notes.append(f"{file.label} is a list of plain values; as in datasets, they become the column text")
    layout = LIST_OF_LISTS if column == "messages" else ONE_LIST + mark
    return JsonArraySource(file, True, start + 1, row_limit=row_limit, notes=notes, column=column, layout=layout)


def _open_field(file: ByteFile, body: bytes, start: int, *, row_limit: int, field: str) -> Source:
    match = LISTS.match(body)
    begin: int | None = None
    if match is not None and match[1].decode("utf-8", errors="replace") == field:
        begin = start + match.end()
    elif body.startswith(b"{"):
        begin = _find_list(file, start, field)
    if begin is None:
        known = f"its first list of objects is {match[1].decode('utf-8', errors='replace')}" if match else ""
        raise SourceError(f"has no list of objects in the field {field}", where=file.label, why=known)
    notes = (f"the rows are the list in the field {field} of {file.label}",)
    return JsonArraySource(file, True, begin, row_limit=row_limit, notes=notes, field=field)


def _find_list(file: ByteFile, start: int, field: str) -> int | None:
    """Where the list of objects in a field of the object at `start` begins, however much stands before it."""
    # inside of the object its keys and values are elements like any, a key being one before a colon
    scanner = ElementScanner(start + 1, in_array=False, nested=True)
    longest = len(json.dumps(field)) * 2 + 2
    while True:
        block = file.pread(scanner.position, BLOCK)
        if not block and file.complete:
            return None
        if not block:
            file.fill()
            continue
        for begin, end in scanner.feed(block):
            if end - begin > longest or not _is_text(file.pread(begin, end - begin), field):
                continue
            if match := OPENS_LIST.match(file.pread(end, BEFORE_LIST)):
                return end + match.end()


def _is_text(data: bytes, text: str) -> bool:
    try:
        return bool(json.loads(data) == text)
    except ValueError:
        return False


def _inner_list(file: ByteFile, body: bytes, start: int) -> list[str]:
    match = LISTS.match(body)
    if match is None or not alone_in(file, start):
        return []
    name, label = match[1].decode("utf-8", errors="replace"), file.label
    return [
        f"{label} is one object, so it is one row, as datasets reads it; if its rows are the list in {name}, "
        f"read that field with --rows-in {name} (datasets: field={name!r})"
    ]


def _named_lines(label: str) -> bool:
    """Whether the name says that each line is a row."""
    return any(ending in label.lower() for ending in (".jsonl", ".ndjson"))


def _is_lines(body: bytes) -> bool:
    """Whether lists stand one a line: the first line is a whole list and another follows."""
    first, newline, rest = body.partition(b"\n")
    return bool(newline) and rest.lstrip(JSON_SPACE).startswith(b"[") and _parses(first)


def _holds_turns(body: bytes) -> bool:
    """Whether a list begins with a turn, as far as its beginning shows."""
    begin = body.lstrip(JSON_SPACE + b"[")
    try:
        turn, _ = json.JSONDecoder().raw_decode(begin.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return TURN.match(begin) is not None
    return is_turns([turn])


def _is_pretty(body: bytes) -> bool:
    """Whether an object goes on over several lines, which a broken first line of JSON Lines does not."""
    first, newline, rest = body.partition(b"\n")
    if not newline or _parses(first):
        return False
    return not rest.lstrip(JSON_SPACE).startswith(b"{") and first.rstrip(JSON_SPACE)[-1:] in (b"{", b"[", b",")


def _is_alone(file: ByteFile, body: bytes) -> bool:
    """Whether the file is one line; a line longer than what was looked at is not said to be."""
    return file.complete and file.size() < len(body) + 64 and not body.partition(b"\n")[2].strip(JSON_SPACE)


def _parses(line: bytes) -> bool:
    try:
        json.loads(line.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return False
    return True


FEWEST = 3
"""Entries by other keys than numbers that make a file a mapping of rows, and not one row."""
LARGEST = 1 << 28
RECORDS = 'write it with to_json(FILE, orient="records", lines=True)'


class ReshapedSource(CountedSource):
    """The rows of such a file, which is held whole; `layout` is that of each row."""

    loading = Loading("table")

    def __init__(self, file: ByteFile, rows: Sequence[Mapping[str, Any]], layout: str, *, row_limit: int) -> None:
        self.title, self.layout = file.label, layout
        self._file, self._rows, self._row_limit, self._count = file, rows, row_limit, len(rows)
        self._notes = (f"{self.title} is one object: {len(rows):,} rows are read from it {layout}",)

    def _read(self, index: int, where: str) -> Row:
        return row_of(self._rows[index], index, where, self._row_limit, self.layout)

    def close(self) -> None:
        super().close()
        self._file.close()


def alone_in(file: ByteFile, start: int) -> int | None:
    """Where the one value of a file ends; None where others follow, or it is cut off."""
    scanner = ElementScanner(start, in_array=False)
    while not (spans := scanner.feed(file.pread(scanner.position, BLOCK))):
        if not file.complete:
            file.fill()
        elif scanner.position >= file.size():
            return None
    end = spans[0][1]
    return None if file.pread(end, BLOCK).strip(JSON_SPACE) else end


def reshaped(file: ByteFile, start: int, *, row_limit: int) -> ReshapedSource | None:
    """The file as rows, where its one object is a table; None where it is a row. SourceError where it is too large."""
    end = alone_in(file, start)
    if end is None:
        return None
    if end - start > LARGEST:
        raise SourceError("is a single JSON object too large to inspect", where=file.label, fix=RECORDS)
    try:
        found = table_of(json.loads(file.pread(start, end - start)))
    except (ValueError, RecursionError):
        return None
    return None if found is None else ReshapedSource(file, found[1], found[0], row_limit=row_limit)


def table_of(value: Any) -> tuple[str, Sequence[Mapping[str, Any]]] | None:
    """The rows that one JSON object holds, and in which way: pandas' `split`, `table`, `columns` and `index`, columns
    as lists, or rows by their names."""
    if not isinstance(value, Mapping) or not value:
        return None
    keys, held = set(value), list(value.values())
    if {"columns", "data"} <= keys <= {"columns", "data", "index"} and _lists(value["data"]):
        return "by pandas' orient `split`", [dict(zip(map(str, value["columns"]), one)) for one in value["data"]]
    if keys == {"schema", "data"} and isinstance(value["data"], list) and "fields" in (value["schema"] or ()):
        return "by pandas' orient `table`", [one for one in value["data"] if isinstance(one, Mapping)]
    if all(isinstance(one, Mapping) and one for one in held):
        names = list(held[0])
        if all(map(_is_number, names)) and all(list(one) == names for one in held):
            return "by columns, as pandas writes it", [{key: value[key][n] for key in value} for n in names]
        if all(map(_is_number, keys)) or (len(held) >= FEWEST and all(one.keys() == held[0].keys() for one in held)):
            return "by row numbers, as with pandas' orient `index`" if all(map(_is_number, keys)) else "by keys", held
    if all(map(_is_number, keys)) and all(map(is_turns, held)):
        return "by row numbers, as pandas writes a series", [{"messages": one} for one in held]
    if _lists(held) and len(held[0]) > 1 and len({len(one) for one in held}) == 1:
        told = all(isinstance(one, str) or is_turns(one) for column in held for one in column[:64])
        return ("by columns, each a list", [dict(zip(value, one)) for one in zip(*held)]) if told else None
    return None


def _is_number(key: str) -> bool:
    return key.isascii() and key.isdigit()


def _lists(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, list) for one in value)
