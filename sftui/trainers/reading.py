"""What a trainer's own version of `datasets` makes of a JSON file that sftui reads row by row.

Source: datasets 4.0.0 to 5.2.0, packaged_modules/json/json.py and utils/json.py, measured on the files of
tests/parity/files_to_read.py. Arrow gives a file one schema. Until 4.6 a value of another kind than the ones before it
ends the load ("Column(/a) changed from string to number"), in a list of rows too. Since 4.7 (on_mixed_types) such a
place is kept as JSON: every value of it is stored as JSON text and parsed again when it is read, so that texts that are
JSON themselves come back as what they say: `null` as nothing, `1` as a number, `[]` as a list. Whole numbers beside
others in one place become floats in every version.

Not modelled: floats beside a place kept as JSON lose what is beyond ten decimals, and the types are those of the first
10 MB; what comes after is cast to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sftui.conversations.reading import Kept, Reading, kept, kind_of
from sftui.model import Problem, Row
from sftui.text import visible
from sftui.trainers.pins import pins_of
from sftui.trainers.versions import at_least, parse

KEEPS_MIXED = (4, 7)
"""The first datasets that keeps a column of several kinds."""


_OF_JSON = re.compile(r" (line|record) \d+$")
"""Rows of JSON files say so in `where`; others bring the types of their format."""


def reading_of(rows: Sequence[Row], preset: str) -> Reading | None:
    """How the trainer of a preset is given rows like these; None where they come as they stand."""
    pins = pins_of(preset)
    version = pins.newest.get("datasets") if pins is not None else None
    values = [row.data for row in rows if row.data is not None and _OF_JSON.search(row.where)]
    if version is None or not values:
        return None
    names = dict.fromkeys(name for value in values for name in value)
    found = {name: kept([value.get(name) for value in values]) for name in names}
    if not at_least(parse(version, "datasets"), KEEPS_MIXED):
        found = {name: one for name, one in found.items() if one is not None and not _holds_json(one)}
    columns = {name: one for name, one in found.items() if one is not None}
    return Reading(columns) if columns else None


def told(rows: Sequence[Row], reading: Reading, title: str) -> tuple[str, ...]:
    """A sentence on the first value that comes to the trainer otherwise than it stands; none where each is the same."""
    for row in rows:
        if row.data is None:
            continue
        for path, before, after in _changes(row.data, reading.row(row.data), ""):
            return (
                f"{visible(path)} of {row.where} comes to {title} as {_shown(after)}, not {_shown(before)}: its"
                " datasets gives every place of a JSON file one type, and other rows have another there",
            )
    return ()


def _changes(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The places inside that are not the same, of one kind or another; the order of keys aside."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key, one in before.items():
            yield from _changes(one, after.get(key), f"{path}/{key}" if path else str(key))
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        for one, other in zip(before, after):
            yield from _changes(one, other, f"{path}/[]")
    elif type(before) is not type(after) or before != after:
        yield path, before, after


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return visible(text if len(text) <= 40 else text[:40] + "…")


def _holds_json(place: Kept) -> bool:
    return place.what == "json" or any(map(_holds_json, place.inside.values()))


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
        kind = kind_of(one)
        if kind is not None:
            yield place, kind
            yield from _kinds(one, place)


_A = {"boolean": "a boolean", "number": "a number", "string": "a string", "object": "an object", "array": "a list"}
