"""A JSON file whose one object holds a table otherwise than in rows, as pandas' `to_json` writes it by default."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.byte_file import ByteFile
from sftui.sources.json_array import BLOCK, ElementScanner, Layout
from sftui.sources.records import JSON_SPACE, is_turns, row_of
from sftui.sources.source import Count, Source

FEWEST = 3
"""Entries by other keys than numbers that make a file a mapping of rows, and not one row."""
LARGEST = 1 << 28
RECORDS = 'write it with to_json(FILE, orient="records", lines=True)'


class ReshapedSource(Source):
    """The rows of such a file, which is held whole; `layout` is that of each row."""

    kind = "table"

    def __init__(self, file: ByteFile, rows: Sequence[Mapping[str, Any]], layout: str, *, row_limit: int) -> None:
        self.title, self.layout = file.label, layout
        self._file, self._rows, self._row_limit = file, rows, row_limit

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"{self.title} is one object: {len(self._rows):,} rows are made of what it holds {self.layout}",)

    def count(self) -> Count:
        return Count(len(self._rows), True, 1.0)

    def row(self, index: int) -> Row:
        if not 0 <= index < len(self._rows):
            raise IndexError(index)
        made = row_of(self._rows[index], index, f"{self.title} row {index}", self._row_limit)
        return replace(made, layout=self.layout)

    def close(self) -> None:
        self._file.close()


def alone_in(file: ByteFile, start: int) -> int | None:
    """Where the one value of a file ends; None where others follow, or it is cut off."""
    scanner = ElementScanner(start, Layout.VALUES)
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
        raise SourceError("is one JSON object too large to look into", where=file.label, fix=RECORDS)
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
            return "by row numbers, as by pandas' orient `index`" if all(map(_is_number, keys)) else "by keys", held
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
