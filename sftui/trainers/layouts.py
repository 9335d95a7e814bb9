"""Whether a trainer reads a file as sftui does: by the ending of its name, and by how the file holds its rows.

Source: datasets 4.0.0, 4.8.4, 4.8.5, 5.0.1 and 5.2.0 (packaged_modules/json/json.py, load.py), measured on the files of
tests/parity/files_to_read.py; mlx-lm 0.32.2, tuner/datasets.py (load_local_dataset); NeMo Automodel 0.7.0,
components/datasets/llm/chat_dataset.py (_load_openai_messages). Which ending each trainer takes for what: its
`Traits.endings`, or its `loader_of`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sftui.model import Problem, Row
from sftui.sources.formats.saved import SPLITS_APART
from sftui.sources.records import LIST_OF_LISTS, LISTED, MARKED, ONE_LIST, OVER_LINES, TABLE, WRITTEN, AsStored
from sftui.text import visible
from sftui.trainers.pins import pins_of
from sftui.trainers.versions import at_least, parse

if TYPE_CHECKING:
    from sftui.recipe import Recipe
    from sftui.trainers.base import Trainer

_PLACE = re.compile(r"(.*) (line|record|row) \d+", re.DOTALL)
_ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".txt", ".gz", ".zst")
_OF_ENDING = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".txt": "text"}
_HOLDS = {"json": "JSON", "csv": "CSV", "parquet": "Parquet", "arrow": "Arrow", "text": "lines of text"}
_NAMED = {"json": ".json or .jsonl", "csv": ".csv", "parquet": ".parquet", "arrow": ".arrow", "text": ".txt"}
_HELD = {
    LISTED: "it has a bare list of turns in each line",
    LIST_OF_LISTS: "it is one list of bare lists of turns",
    ONE_LIST: "its records are one JSON list",
    OVER_LINES: "its records go over several lines",
    MARKED: "it begins with a byte order mark",
    SPLITS_APART: "it is in a folder of saved datasets without dataset_dict.json",
}
_BY_DATASETS = {
    LISTED: "stops at it (ArrowInvalid, or ValueError: Trailing data)",
    LIST_OF_LISTS: "makes columns named 0, 1, 2, … of it, one for each place in the lists",
    TABLE: "reads it as one row",
    SPLITS_APART: "reads state.json of each split in place of its rows",
}
_FAVOURS_ARROW = (5, 0)
"""The first datasets that takes Arrow files for the data where there are as many JSON files (load.py)."""
_ROWS = "write its rows with `sftui convert`, one object a line"


def refused_as_stored(rows: Sequence[Row], recipe: Recipe, trainer: Trainer) -> Problem | None:
    """Why a trainer does not read the file of these rows as sftui does, whatever is in them; None where it does, or
    where the user's own code reads it."""
    first = next((row for row in rows if row.data is not None), None)
    found = None if first is None else _PLACE.fullmatch(first.where)
    if first is None or found is None or first.layout == WRITTEN:
        return None
    if trainer.traits.by_hand or trainer.traits.stored_as_parquet:
        return None
    stored = AsStored(visible(found[1]), first.layout, found[2], len(rows))
    apart = stored.layout == SPLITS_APART
    why = None if apart else trainer.unread_layout(stored, recipe)
    if why is None:
        why = _by_datasets(stored.layout, recipe)
    if why:
        layout = stored.layout
        held = next((held for ending, held in _HELD.items() if layout.endswith(ending)), "it is JSON Lines")
        held = f"it is one object that holds its rows {layout}" if layout.startswith(TABLE) else held
        fix = f"name the folder of one split, as {stored.name}" if apart else _ROWS
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
        what = f"{trainer.title} reads no file whose name ends in {ending}"
        return Problem(
            what, f"{name} does, and it knows {known}", "write the rows to a .jsonl file with `sftui convert`"
        )
    holds = "json" if stored.unit != "row" or stored.layout.startswith(TABLE) else _OF_ENDING.get(ending.lower(), "")
    if holds == expected or not holds:
        return None
    return Problem(
        f"{trainer.title} reads {name} as {_HOLDS.get(expected, expected)}",
        f"it goes by the ending of the name, {ending}, where no loader is named, and the file holds {_HOLDS[holds]}",
        f"give it a name that ends in {_NAMED[holds]}",
    )
