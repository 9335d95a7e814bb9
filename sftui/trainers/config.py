"""A trainer's own config file, opened: what it means as a recipe, and what sftui did with each key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sftui.recipe import Recipe


class KeyUse(str, Enum):
    """What became of a key of the config."""

    USED = "used"
    PASSED = "not about data, passed through"
    UNSUPPORTED = "about data, but sftui does not model it"
    UNKNOWN = "not a key of this trainer version"


@dataclass(frozen=True, slots=True)
class KeyNote:
    """One key of the config (dotted path), what it says, and what became of it."""

    path: str
    value: Any
    use: KeyUse
    note: str = ""


@dataclass(frozen=True, slots=True)
class DatasetRef:
    """One dataset that a config names, as `sources` takes it, with the recipe that holds for it.

    Several datasets of one config may differ in format, roles and mask, so each has its recipe.
    `paths` are local paths resolved as the trainer resolves them, or one Hub name.
    """

    name: str
    paths: tuple[str, ...]
    recipe: Recipe
    split: str | None = None
    subset: str | None = None
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class OpenedConfig:
    """A config file as read: its text as it stands, its datasets, and a note for every key.

    `chosen` is the number of the dataset that is open; a corrected config changes what holds for it.
    """

    trainer: str
    path: str
    text: str
    datasets: tuple[DatasetRef, ...]
    keys: tuple[KeyNote, ...] = ()
    notes: tuple[str, ...] = ()
    chosen: int = 0

    @property
    def recipe(self) -> Recipe:
        """The recipe of the dataset that is open."""
        return self.datasets[self.chosen].recipe


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file of an export: its name inside the target folder and its content."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class WrittenConfig:
    """A corrected config and whatever it needs beside it; `losses` are knobs without an equal there."""

    files: tuple[WrittenFile, ...]
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
