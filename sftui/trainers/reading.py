"""What a trainer's own version of `datasets` makes of a JSON file that sftui reads row by row.

Source: datasets 4.0.0 to 5.2.0, packaged_modules/json/json.py and utils/json.py, measured on the files of
tests/parity/files_to_read.py. Arrow gives a file one schema. Until 4.6 a value of another kind than the ones before it
ends the load ("Column(/a) changed from string to number"), in a list of rows too, and every object of a place has the
keys of all. Since 4.7 (on_mixed_types) such a place is kept as JSON: every value of it is stored as JSON text and
parsed again when it is read, so that texts that are JSON themselves come back as what they say: `null` as nothing, `1`
as a number, `[]` as a list, and every fraction of the file is rounded to ten decimals. Whole numbers beside others in
one place become floats in every version.

The types are those of the first 10 MB, read in blocks of which each is typed on its own; what comes after is cast to
them. sftui takes them from the first rows, and tells every later row of another kind (late_kind). Fractions are rounded
in a file that is one JSON list, too. Not modelled: a new column after the first 10 MB ends the load; a place that is
empty in the first rows has the kind of no row; up to 4.6 fractions of a list lose what is beyond 15 digits. A trainer
that reads Parquet alone (Quirk.PARQUET_ALONE) is shown a JSON file as pandas stores it there, which keeps no place
of several kinds either.

Whether a trainer reads a file as sftui does: by the ending of its name, and by how the file holds its rows. Source:
datasets 4.0.0, 4.8.4, 4.8.5, 5.0.1 and 5.2.0 (packaged_modules/json/json.py, load.py), measured on the files of
tests/parity/files_to_read.py; mlx-lm 0.32.2, tuner/datasets.py (load_local_dataset); NeMo Automodel 0.7.0,
components/datasets/llm/chat_dataset.py (_load_openai_messages). Which ending each trainer takes for what: its
`Traits.endings`, or its `loader_of`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sftui.conversations.reading import (
    FileReading,
    PlaceConversion,
    ValueKind,
    kept,
    kind_of,
    other_kind,
    place_of,
    time_of,
    typed,
)
from sftui.errors import ConversationError
from sftui.model import LateValue, Problem, Row
from sftui.recipe_io import has_half_character
from sftui.sources.formats.saved import SPLITS_APART
from sftui.sources.records import LIST_OF_LISTS, LISTED, MARKED, ONE_LIST, OVER_LINES, TABLE, WRITTEN, AsStored
from sftui.text import visible
from sftui.trainers.declared import traits_of
from sftui.trainers.traits import Quirk
from sftui.trainers.versions import at_least, parse, pins_of
from sftui.values import value_class

if TYPE_CHECKING:
    import pyarrow as pa

    from sftui.recipe import Recipe
    from sftui.sources import DataFile
    from sftui.trainers.base import Trainer

KEEPS_MIXED = (4, 7)
"""The first datasets that keeps a column of several kinds."""
_OF_JSON = re.compile(r" (line|record) \d+$")
"""Rows of JSON files say so in `where`; others bring the types of their format."""


@value_class
class Reader:
    """The library that gives a trainer the rows of a JSON file, and its version; `keeps` places of several kinds;
    `pandas` is the release that comes with it."""

    library: str
    version: str
    keeps: bool
    pandas: tuple[int, ...] = ()


def brought(preset: str) -> Reader | None:
    """The newest `datasets` that a preset admits, or the pandas that stores the rows for a trainer that reads Parquet
    alone; None where nothing is known of it."""
    pins = pins_of(preset)
    library = "pandas" if Quirk.PARQUET_ALONE in traits_of(preset).quirks else "datasets"
    version = pins.newest.get(library) if pins is not None else None
    if pins is None or version is None:
        return None
    keeps = library == "datasets" and at_least(parse(version, library), KEEPS_MIXED)
    return Reader(library, version, keeps, parse(pins.newest.get("pandas", "3"), "pandas"))


def blank_line(files: Iterable[DataFile], title: str) -> Problem | None:
    """Why a trainer that gives each line to json.loads stops: the first blank line of its JSON lines."""
    for file in files:
        if file.title.endswith(".jsonl"):
            with file.open() as lines:
                number = next((number for number, line in enumerate(lines, 1) if not line.strip()), None)
            if number is not None:
                return Problem(
                    f"{title} stops before it trains: {file.title} line {number} is blank",
                    "it reads each line as one JSON value (JSONDecodeError: Expecting value)",
                    "remove the line",
                )
    return None


def _of_json(rows: Sequence[Row]) -> list[Mapping[str, Any]]:
    return [row.data for row in rows if row.data is not None and _OF_JSON.search(row.where)]


def reading_of(rows: Sequence[Row], preset: str) -> FileReading | None:
    """How the trainer of a preset is given rows like these; None where they come as they stand."""
    reader, values = brought(preset), _of_json(rows)
    if reader is None or not values:
        return None
    names = dict.fromkeys(name for value in values for name in value)
    held = {name: [value.get(name) for value in values] for name in names}
    if reader.keeps:
        columns = kept(held, listed=any(" record " in row.where for row in rows))
    else:
        columns = {name: one for name, column in held.items() if (one := typed(column)) is not None}
    return FileReading(columns, typed=not reader.keeps) if columns else None


def notes_on(rows: Sequence[Row], reading: FileReading, preset: str, title: str) -> tuple[str, ...]:
    """A sentence on the first value that comes to the trainer otherwise than it stands; none where each is the same."""
    reader = brought(preset)
    library = reader.library if reader is not None else "datasets"
    for row in rows:
        if row.data is None:
            continue
        for path, before, after in _changes(row.data, reading.row(row.data), ""):
            why = "gives a field of a JSON file one type, and other rows have another type in it"
            if isinstance(before, float) and isinstance(after, float):
                why = "rewrites such a file with ten decimal places"
            shown = f"{visible(path)} in {row.where} reaches {title} as {_shown(after)}, not {_shown(before)}"
            return (f"{shown}: its {library} {why}",)
    return ()


def dated(rows: Sequence[Row], preset: str) -> bool:
    """Whether a place of these rows holds nothing but what Arrow takes for times."""
    reader, held = brought(preset), _of_json(rows)
    if reader is None or not held or reader.library == "pandas":  # which takes no text for a date
        return False
    if not reader.keeps and all(" record " in row.where for row in rows):
        return False  # datasets 4.0 reads one JSON list with pandas, which leaves dates as text
    return _dated(held)


def with_times(reading: FileReading | None, schema: pa.Schema) -> FileReading | None:
    """The same with the times of a schema, which a JSON file is loaded with."""
    columns = dict(reading.columns) if reading is not None else {}
    columns.update((one.name, kept) for one in schema if (kept := _timed(one.type, columns.get(one.name))) is not None)
    return FileReading(columns, reading is not None and reading.typed) if columns else None


def _timed(kind: pa.DataType, place: PlaceConversion | None) -> PlaceConversion | None:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return PlaceConversion("time")
    if pa.types.is_struct(kind):
        inside = {field.name: field.type for field in kind}
    else:
        inside = {"": kind.value_type} if pa.types.is_list(kind) else {}
    known, order = (place.inside, place.order) if place is not None else ({}, ())
    made = {key: made for key, inner in inside.items() if (made := _timed(inner, known.get(key))) is not None}
    return PlaceConversion("list" if "" in made else "object", made, order) if made else place


def time_notes(paths: Iterable[str], preset: str, title: str) -> tuple[str, ...]:
    """A sentence on each place whose texts come to the trainer as times."""
    reader = brought(preset)
    known = f"{reader.library} ({reader.version})" if reader is not None else "datasets"
    return tuple(
        f"all values of `{visible(path)}` are dates: {title}'s {known} turns them into timestamps, which are not text"
        for path in paths
    )


def keyless(rows: Sequence[Row], preset: str) -> tuple[str, ...]:
    """A sentence on the first place that holds nothing but objects without keys, which Parquet has no type for."""
    reader, held = brought(preset), _of_json(rows)
    if reader is None or not held or reader.library != "pandas":
        return ()
    path = _keyless(place_of(held))
    so = "if this is true of the whole file, pandas cannot store it as Parquet (ArrowNotImplementedError); omit the key"
    return () if path is None else (f"every object at {visible(path)} in the first rows has no keys: {so}",)


def _keyless(place: ValueKind, path: str = "") -> str | None:
    if place.kind == "object" and not place.inside:
        return path
    inner = (_keyless(one, f"{path}/{name or '[]'}") for name, one in place.inside.items())
    return next((found for found in inner if found is not None), None)


def _dated(values: Sequence[Any]) -> bool:
    held = [value for value in values if value is not None]
    kinds = set(map(type, held))
    if kinds == {str}:
        return all(time_of(value) is not None for value in held)
    if kinds == {list}:
        return _dated([item for value in held for item in value])
    return kinds == {dict} and any(_dated([value.get(key) for value in held]) for key in held[0])


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


def refused_file(rows: Sequence[Row], preset: str, title: str) -> Problem | None:
    """Why these rows cannot be stored as Parquet for a trainer that reads it alone; of files that `datasets` loads, its
    loader says it (see `loading`)."""
    reader = brought(preset)
    if reader is None or reader.library != "pandas":
        return None
    broken = next((row for row in rows if " line " in row.where and has_half_character(row.data)), None)
    if broken is not None:
        what = f"{title} stops at this file: {broken.where} contains half of a surrogate pair"
        why = f"its {reader.library} ({reader.version}) cannot read such text"
        return Problem(what, why, "write the whole character, or remove it")
    found = mixed(rows)
    if found is None:
        return None
    path, before, kind, row = found
    return _one_type(f"{visible(path)} is {_A[before]}, but {_A[kind]} in {row.where}", reader, title)


def _one_type(held: str, reader: Reader, title: str) -> Problem:
    return Problem(
        f"{title} stops at this file: {held}",
        f"{reader.library} {reader.version}, the newest it allows, gives each column of a JSON file one type",
        "use one value type, or null, in every row",
    )


def places_of(rows: Sequence[Row], preset: str, columns: Iterable[str]) -> ValueKind | None:
    """The kinds of values that rows like these hold; of these columns alone where no other can stop the trainer. None
    where nothing is known of its `datasets`."""
    reader, held = brought(preset), _of_json(rows)
    if reader is None or not held:
        return None
    read = {name: place_of([value.get(name) for value in held]) for name in columns}
    if reader.keeps:
        return ValueKind("object", read)
    return ValueKind("object", {**_of_any_number(place_of(held)).inside, **read})


def _of_any_number(place: ValueKind) -> ValueKind:
    """A place that does not tell whole numbers from others."""
    inside = {key: _of_any_number(one) for key, one in place.inside.items()}
    return ValueKind("number" if place.kind == "whole" else place.kind, inside)


def late_kind(row: Row, places: ValueKind, preset: str, title: str) -> LateValue | None:
    """What another kind of value does, in a row after those whose kinds are known; None where it has no such value, or
    one by which no text changes."""
    found = other_kind(row.data, places)
    reader = None if found is None else brought(preset)
    if found is None or reader is None:
        return None
    if found[1:] == ("whole", "number") and not reader.keeps:  # what stops the trainer goes first
        found = other_kind(row.data, _of_any_number(places)) or found
    path, before, kind = found
    if (before, kind) == ("whole", "number"):
        held = f"{visible(path)} is a fraction in {row.where}, but an integer in the first rows"
        why = f"{title}'s {reader.library} gives the field one type, so every integer in it becomes a float (`1.0`)"
        return LateValue(Problem(held, why, "write all of them as fractions, or as text"), stops=False)
    held = f"{visible(path)} is {_A[kind]} in {row.where}, but {_A[before]} in the first rows"
    if not reader.keeps:  # where datasets stops, its loader says so
        return LateValue(_one_type(held, reader, title), stops=True) if reader.library == "pandas" else None
    if "string" not in (before, kind):
        return None
    return LateValue(
        Problem(
            held,
            f"{title}'s datasets then keeps the field as JSON for this file, and every string in it that is JSON"
            " (`1`, `null`) is read as its value; after the first 10 MB of the file, values are turned into"
            " quoted strings",
            "use the same value type in every row",
        ),
        stops=False,
    )


def _large(value: Any) -> bool:
    if isinstance(value, str):
        return False
    if isinstance(value, (int, float)):
        return abs(value) >= 2**63
    if isinstance(value, (list, tuple)):
        return any(map(_large, value))
    return isinstance(value, Mapping) and any(map(_large, value.values()))


def by_python(row: Row) -> Row:
    """The row as Python's `json` reads its line: whole numbers beyond 64 bits stay what they are, where rows are read
    with such numbers as floats. ConversationError where the line is too long to be read again."""
    if row.data is None or not _OF_JSON.search(row.where) or not _large(row.data):
        return row
    try:
        data = json.loads(row.raw)
    except (ValueError, RecursionError):
        raise ConversationError(
            "the row may contain an integer beyond 64 bits, but is too long to read again to check",
            why="sftui reads such numbers as floats, but the trainer does not",
            fix="write the number as text",
        ) from None
    return replace(row, data=data) if isinstance(data, Mapping) else row


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


_A = {
    "whole": "a number",
    "boolean": "a boolean",
    "number": "a number",
    "string": "a string",
    "object": "an object",
    "array": "a list",
}


_PLACE = re.compile(r"(.*) (line|record|row) \d+", re.DOTALL)
_ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".txt", ".gz", ".zst")
_OF_ENDING = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".txt": "text"}
_HOLDS = {"json": "JSON", "csv": "CSV", "parquet": "Parquet", "arrow": "Arrow", "text": "lines of text"}
_NAMED = {"json": ".json or .jsonl", "csv": ".csv", "parquet": ".parquet", "arrow": ".arrow", "text": ".txt"}
_HELD = {
    LISTED: "each line is a bare list of turns",
    LIST_OF_LISTS: "it is one list of bare lists of turns",
    ONE_LIST: "its records are one JSON list",
    OVER_LINES: "its records span several lines",
    MARKED: "it begins with a byte order mark",
    SPLITS_APART: "it is in a folder of saved datasets without dataset_dict.json",
}
_BY_DATASETS = {
    LISTED: "stops at it (ArrowInvalid, or ValueError: Trailing data)",
    LIST_OF_LISTS: "turns it into columns named 0, 1, 2, …, one for each position in the lists",
    TABLE: "reads it as one row",
    SPLITS_APART: "reads state.json of each split instead of its rows",
}
_FAVOURS_ARROW = (5, 0)
"""The first datasets that takes Arrow files for the data where there are as many JSON files (load.py)."""
_ROWS = "write its rows with `sftui convert`, one object per line"


def refused_as_stored(rows: Sequence[Row], recipe: Recipe, trainer: Trainer) -> Problem | None:
    """Why a trainer does not read the file of these rows as sftui does, whatever is in them; None where it does, or
    where the user's own code reads it."""
    first = next((row for row in rows if row.data is not None), None)
    found = None if first is None else _PLACE.fullmatch(first.where)
    if first is None or found is None or first.layout == WRITTEN:
        return None
    if trainer.traits.by_hand or Quirk.PARQUET_ALONE in trainer.traits.quirks:
        return None
    stored = AsStored(visible(found[1]), first.layout, found[2], len(rows))
    apart = stored.layout == SPLITS_APART
    why = None if apart else trainer.unread_layout(stored, recipe)
    if why is None:
        why = _by_datasets(stored.layout, recipe)
    if why:
        layout = stored.layout
        held = next((held for ending, held in _HELD.items() if layout.endswith(ending)), "it is JSON Lines")
        held = f"it is one object that contains its rows {layout}" if layout.startswith(TABLE) else held
        fix = f"name the folder of one split, such as {stored.name}" if apart else _ROWS
        return Problem(f"{trainer.title} does not read the rows of {stored.name}: {held}", why, fix)
    return _by_name(stored, recipe, trainer)


def _by_datasets(layout: str, recipe: Recipe) -> str:
    """What the newest `datasets` that a recipe's trainer admits makes of a layout; "" where it reads the rows."""
    pins = pins_of(recipe.preset)
    version = pins.newest.get("datasets") if pins is not None else None
    does = _BY_DATASETS.get(TABLE if layout.startswith(TABLE) else layout)
    if version is None or does is None:
        return ""
    if layout == SPLITS_APART and at_least(parse(version, "datasets"), _FAVOURS_ARROW):
        return ""
    return f"its datasets ({version}) {does}"


def _by_name(stored: AsStored, recipe: Recipe, trainer: Trainer) -> Problem | None:
    name = stored.name
    ending = os.path.splitext(name)[1]
    expected = trainer.loader_of(name, recipe) if ending.lower() in _ENDINGS else None
    if expected is None:
        return None
    if not expected:
        known = ", ".join(f".{one}" for one in trainer.traits.endings)
        what = f"{trainer.title} does not read files whose name ends in {ending}"
        return Problem(
            what,
            f"the file is {name}, but it supports only {known}",
            "write the rows to a .jsonl file with `sftui convert`",
        )
    holds = "json" if stored.unit != "row" or stored.layout.startswith(TABLE) else _OF_ENDING.get(ending.lower(), "")
    if holds == expected or not holds:
        return None
    return Problem(
        f"{trainer.title} reads {name} as {_HOLDS.get(expected, expected)}",
        f"if no loader is named it decides by the extension, {ending}, but the file contains {_HOLDS[holds]}",
        f"give it a name that ends in {_NAMED[holds]}",
    )
