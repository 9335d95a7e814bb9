"""Which of its shapes a JSON file has, by its first bytes and not by its name."""

from __future__ import annotations

import json
import re

from sftui.errors import SourceError
from sftui.sources.byte_file import ByteFile
from sftui.sources.json_array import BLOCK, ElementScanner, JsonArraySource, Layout
from sftui.sources.jsonl import JsonlSource
from sftui.sources.records import JSON_SPACE
from sftui.sources.source import NoRows, Source

BOM = b"\xef\xbb\xbf"
KNOWN = "JSON Lines, a JSON list or Parquet"
_SCALAR = rb'(?:"(?:[^"\\]|\\.)*"|[-+.\w]+)'
LISTS = re.compile(rb'\{\s*(?:"[^"\\]*"\s*:\s*' + _SCALAR + rb'\s*,\s*)*"([^"\\]*)"\s*:\s*\[\s*(?=\{)')
"""An object whose first value that is no scalar is a list of objects."""
OPENS_LIST = re.compile(rb"\s*:\s*\[\s*(?=\{)")
BEFORE_LIST = 1 << 12


def open_json(file: ByteFile, head: bytes, *, row_limit: int, field: str | None, sure: bool) -> Source:
    """Rows of a JSON file; not `sure`: nothing but its content says that it is JSON."""
    begin = len(BOM) if head.startswith(BOM) else 0
    notes = [f"{file.label} begins with a byte order mark, which is left out"] if begin else []
    start = len(head) - len(head[begin:].lstrip(JSON_SPACE))
    body = head[start:]
    if not body.startswith((b"{", b"[")) and not sure:
        raise SourceError("is not data that sftui knows", where=file.label, why=f"it is not {KNOWN}")
    if field is not None:
        return _open_field(file, body, start, row_limit=row_limit, field=field)
    if body.startswith(b"[") and not _is_lines(body):
        return _open_array(file, body, start, row_limit=row_limit, notes=notes)
    if body.startswith(b"{") and _is_pretty(body):
        note = f"{file.label} is JSON objects over several lines: each object is one row"
        notes += [note, *_inner_list(file.label, body)]
        return JsonArraySource(file, row_limit=row_limit, begin=start, layout=Layout.VALUES, notes=tuple(notes))
    if body.startswith(b"{") and _is_alone(file, body) and not _named_lines(file.label):
        notes += _inner_list(file.label, body)
    return JsonlSource(file, row_limit=row_limit, begin=begin, notes=tuple(notes))


def _open_array(file: ByteFile, body: bytes, start: int, *, row_limit: int, notes: list[str]) -> Source:
    first = body[1:].lstrip(JSON_SPACE)[:1]
    if first == b"]":
        raise NoRows("holds an empty list", where=file.label)
    if _named_lines(file.label):
        notes.append(f"{file.label} is a JSON list, not JSON Lines, and is read as a list")
    column = None
    if first != b"{":
        # packaged_modules/json/json.py: a list that holds no objects becomes one column
        column = "text"
        notes.append(f"{file.label} is a list of plain values; as in datasets, they become the column text")
    return JsonArraySource(
        file, row_limit=row_limit, begin=start + 1, layout=Layout.ARRAY, notes=tuple(notes), column=column
    )


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
    notes = (f"rows are the list in the field {field} of {file.label}",)
    return JsonArraySource(file, row_limit=row_limit, begin=begin, layout=Layout.ARRAY, notes=notes, nested=True)


def _find_list(file: ByteFile, start: int, field: str) -> int | None:
    """Where the list of objects in a field of the object at `start` begins, however much stands before it."""
    # inside of the object its keys and values are elements like any, a key being one before a colon
    scanner = ElementScanner(start + 1, Layout.VALUES, nested=True)
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
            after = file.pread(end, BEFORE_LIST)
            if match := OPENS_LIST.match(after):
                return end + match.end()


def _is_text(data: bytes, text: str) -> bool:
    try:
        return bool(json.loads(data) == text)
    except ValueError:
        return False


def _inner_list(label: str, body: bytes) -> list[str]:
    match = LISTS.match(body)
    if match is None:
        return []
    name = match[1].decode("utf-8", errors="replace")
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
