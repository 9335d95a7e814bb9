"""What the user asked to open, before anything is read: plain data that travels to the worker."""

from __future__ import annotations

import os
import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.recipe import Recipe
from sftui.trainers import preset
from sftui.values import value_class

if TYPE_CHECKING:
    from sftui.trainers.config import OpenedConfig


@value_class
class OpenOptions:
    """The data and the recipe to open.

    `paths` are files, folders, globs or one Hub dataset name.
    `base` is the recipe that "corrected" is measured against: None means `recipe`.
    `rows_in` is the key whose list holds the rows of a JSON file; `row_limit` the longest row in
    bytes that is read (None: the default of `sources`). `row` is the row to show first; `debug` keeps traces for the
    terminal. `recipe_file` is what `recipe` was read from. `config` is the trainer's own config file where one
    was opened, and `notes` what there is to say about it.
    `env` is the Python environment that `--env` names, `serve` what the model will be served with (see
    `sftui.serving`). `where` is the expression that chooses rows (`session.matching`), None for all of them; `repairs`
    lie over the rows, by their names as in `repairs.make_plan`, some from the file `edits`. `view` is
    the view that is open first. `chosen` are the knobs that were set by name.
    """

    paths: tuple[str, ...]
    recipe: Recipe = field(default_factory=preset)
    base: Recipe | None = None
    split: str | None = None
    subset: str | None = None
    data_revision: str | None = None
    rows_in: str | None = None
    row_limit: int | None = None
    row: int = 0
    debug: bool = False
    recipe_file: str | None = None
    config: OpenedConfig | None = None
    notes: tuple[str, ...] = ()
    env: str | None = None
    serve: str | None = None
    where: str | None = None
    repairs: tuple[str, ...] = ()
    edits: str | None = None
    view: str = ""
    chosen: tuple[str, ...] = ()


SPOOLED = "sftui-stdin-"
"""How the folder begins into which stdin is spooled."""


def is_spooled(path: str) -> bool:
    """Whether a path is what came through stdin."""
    return os.path.basename(os.path.dirname(path)).startswith(SPOOLED)


def state_folder() -> Path:
    """The user's folder of what sftui keeps: review marks, and where one was."""
    from platformdirs import user_state_dir

    return Path(user_state_dir("sftui"))


def file_next_to(data: str, what: str, ending: str = ".jsonl") -> str:
    """A name for a file made from the data: `train-repaired.jsonl`."""
    name = re.split(r"\.(?:jsonl|ndjson|json|csv|tsv|parquet|gz|zst)\b", os.path.basename(data))[0]
    stem = re.sub(r"[^\w.-]+", "", name).strip("-.")
    return f"{stem or 'data'}-{what}{ending}"


@value_class
class SearchQuery:
    """What to look for: `kind` is text, regex, token, id or finding; `text` is the needle as typed."""

    kind: str
    text: str
