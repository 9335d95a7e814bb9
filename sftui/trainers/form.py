"""How a trainer's own config is written: the user's text with the changed keys only, or a new one of rows and recipe.

One driver over what each trainer says for itself: its table, what names the rows, and what it needs beside both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sftui.recipe import Recipe, diff
from sftui.trainers.config import Facts, OpenedConfig, WrittenConfig, WrittenFile, no_key
from sftui.trainers.table import KeyEntry, Keys, Place
from sftui.trainers.yaml_edit import REMOVE, edit

TEMPLATE_FILE = "chat_template.jinja"


@dataclass(slots=True)
class Draft:
    """A config that is being written: the keys that say the recipe, the files beside it, and what is to be told."""

    recipe: Recipe
    opened: OpenedConfig | None
    facts: Facts
    keys: Keys
    losses: list[str]
    files: list[WrittenFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def template_file(self, *place: str) -> None:
        """Put a template that needs one, if there is any, into a file beside the config, named at `place`."""
        if self.facts.template_source:
            self.files.append(WrittenFile(TEMPLATE_FILE, self.facts.template_source))
            self.keys[place] = TEMPLATE_FILE


def inlined(place: Place, own: str) -> Callable[[Draft], None]:
    """Puts the text of a template that stands elsewhere where the trainer's one template, `own`, has its text."""

    def put(draft: Draft) -> None:
        if place in draft.keys and draft.recipe.render.template != own and draft.facts.template_source:
            draft.keys[place] = draft.facts.template_source

    return put


def edited(draft: Draft, opened: OpenedConfig, changes: Keys) -> WrittenFile:
    """The user's own text with the changed keys only."""
    return WrittenFile(Path(opened.path).name, edit(opened.text, changes, opened.path))


@dataclass(frozen=True, slots=True)
class Form:
    """How a trainer's config is written; `name` is the file of a new one."""

    title: str
    name: str
    table: Sequence[KeyEntry]
    rows: Callable[[Draft], Keys]
    """The keys of a new config that name the rows."""
    usual: Callable[[Recipe], Recipe] = lambda preset: preset
    """What a config that says nothing means."""
    corrected: Callable[[Recipe, Keys, list[str]], Keys] = lambda recipe, keys, losses: keys
    """The keys of a recipe, and its losses, as more than an entry of the table decides them."""
    more: Callable[[Draft], None] = lambda draft: None
    """What is needed beside the keys, for a new config and the user's."""
    changes: Callable[[Draft, OpenedConfig, Keys], Keys] = lambda draft, opened, changes: changes
    """The changes to the user's config, at their places there."""
    edited: Callable[[Draft, OpenedConfig, Keys], WrittenFile] = edited
    kind: str = "key"
    """What a knob's key is called."""
    in_its_order: bool = False
    """Whether keys are written in the order of the table, not of the knobs."""

    def keys_of(self, recipe: Recipe, preset: Recipe) -> tuple[Keys, list[str]]:
        """The keys that differ from the trainer's defaults, and a sentence on each knob that none says."""
        keys, losses = dict[Place, Any](), list[str]()
        values = [(change.path, change.after) for change in diff(self.usual(preset), recipe) if change.path != "preset"]
        if self.in_its_order:
            order = [path for entry in self.table for path in entry.knobs]
            values.sort(key=lambda value: order.index(value[0]) if value[0] in order else -1)
        for path, value in values:
            made = (entry.write(recipe, path, value) for entry in self.table if path in entry.knobs)
            found = next((keys for keys in made if keys is not None), "")
            if isinstance(found, str):
                found = {}, (no_key(path, value, self.title, self.kind) + f": {found}" * bool(found),)
            said, lost = found if isinstance(found, tuple) else (found, ())
            keys.update(said)
            losses += lost
        return self.corrected(recipe, keys, losses), losses

    def write(self, recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Facts) -> WrittenConfig:
        """The config by which the trainer does what the recipe says, with the files that it needs beside it."""
        draft = Draft(recipe, opened, facts, *self.keys_of(recipe, preset))
        self.more(draft)
        if opened is None:
            rows = self.rows(draft)
            main = WrittenFile(self.name, edit("", {**rows, **draft.keys}))
        else:
            before = self.keys_of(opened.recipe, preset)[0]
            places = (place for place in {**before, **draft.keys} if before.get(place) != draft.keys.get(place))
            changes = {place: draft.keys.get(place, REMOVE) for place in places}
            main = self.edited(draft, opened, self.changes(draft, opened, changes))
        return WrittenConfig((main, *draft.files), tuple(draft.losses), tuple(draft.notes))
