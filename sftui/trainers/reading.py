"""What a trainer's own version of `datasets` does with a JSON file that sftui reads row by row.

Source: datasets 4.0.0 to 5.2.0, packaged_modules/json/json.py, measured on the files of tests/parity/files_to_read.py.
Arrow gives a file one schema. Until 4.6 a value of another kind than the ones before it ends the load ("Column(/a)
changed from string to number"), in a list of rows too; since 4.7 such a column is kept as JSON (on_mixed_types).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sftui.model import Problem, Row
from sftui.text import visible
from sftui.trainers.pins import pins_of
from sftui.trainers.versions import at_least, parse

KEEPS_MIXED = (4, 7)
"""The first datasets that keeps a column of several kinds."""


def refused_file(rows: Sequence[Row], preset: str, title: str) -> Problem | None:
    """Why the trainer of a preset stops at the file of these rows before it reads any; None where it does not.

    The newest `datasets` that the preset admits decides, so that every older one stops as well.
    """
    pins = pins_of(preset)
    version = pins.newest.get("datasets") if pins is not None else None
    if version is None or at_least(parse(version, "datasets"), KEEPS_MIXED):
        return None
    found = mixed(rows)
    if found is None:
        return None
    path, before, kind, row = found
    return Problem(
        f"{title} stops at this file: {visible(path)} holds {_A[before]}, and {_A[kind]} in {row.where}",
        f"datasets {version}, the newest it admits, gives a JSON file one type a column",
        "write one kind of value, or an empty one, into it",
    )


def mixed(rows: Sequence[Row]) -> tuple[str, str, str, Row] | None:
    """The first place that holds two kinds of values: its path, the kind before, the kind now, and the row."""
    seen: dict[str, str] = {}
    for row in rows:
        for path, kind in _kinds(row.data, ""):
            before = seen.setdefault(path, kind)
            if before != kind:
                return path, before, kind, row
    return None


def _kinds(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Arrow's kind of everything inside a row, null aside, each with its path as Arrow writes it."""
    if isinstance(value, Mapping):
        inside = [(f"{path}/{key}", one) for key, one in value.items()]
    elif isinstance(value, (list, tuple)):
        inside = [(f"{path}/[]", one) for one in value]
    else:
        return
    for place, one in inside:
        kind = _kind(one)
        if kind is not None:
            yield place, kind
            yield from _kinds(one, place)


def _kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, (list, tuple)) else None


_A = {"boolean": "a boolean", "number": "a number", "string": "a string", "object": "an object", "array": "a list"}
