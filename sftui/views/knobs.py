"""The recipe pane, what changed in it, and file diffs, as lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sftui.model import RecipeChange
from sftui.recipe import KnobInfo, Recipe, get, knobs_of, value_of
from sftui.text import clip, fit, visible
from sftui.views.cells import Line, LineBuilder, Role, barred, crop, line, wrap

CHANGED = "●"
"""Stands before a knob whose value differs from the recipe as it was opened."""


@dataclass(frozen=True, slots=True)
class LabelFlip:
    """Changes that turn the label of a token over, tried on its row: `recipe` has them, `tokens` of the row are then
    trained otherwise, and `keys` are those of the trainer's own config with what they say then, GONE for one that
    goes."""

    changes: tuple[RecipeChange, ...]
    recipe: Recipe
    tokens: int
    keys: tuple[tuple[str, Any], ...] = ()


def value_text(value: Any) -> str:
    """A knob's value as the recipe file would have it, visible."""
    if isinstance(value, str):
        if value == value.strip() != "":
            return visible(value)
        from sftui.recipe_io import quoted

        return quoted(value, always=True)
    if value is None or isinstance(value, (bool, Mapping, tuple, list)):
        plain = dict(value) if isinstance(value, Mapping) else value
        return visible(json.dumps(plain, ensure_ascii=False, default=str))
    return visible(str(value))


def change_text(change: RecipeChange) -> str:
    """A change of one knob: its name, its value before and after."""
    return f"{change.path} {value_text(change.before)} → {value_text(change.after)}"


def new_values(changes: Iterable[RecipeChange]) -> str:
    """The knobs that were changed, with their new values."""
    return ", ".join(f"{change.path} → {value_text(change.after)}" for change in changes)


def recipe_lines(
    recipe: Recipe, base: Recipe, width: int, *, cursor: str = "", meaning: bool = True
) -> tuple[Line, ...]:
    """Every knob by section: value, ● where it differs from `base`, and its one-line `meaning`."""
    changed, words = recipe.preset != base.preset, "the trainer it follows" if meaning else ""
    lines = [_knob_line("preset", recipe.preset, changed, words, width, cursor == "preset")]
    for section, infos in groupby(knobs_of(recipe), _section):
        lines.append(crop(line((section, Role.TITLE)), width))
        for info in infos:
            name, value = info.path.partition(".")[2], get(recipe, info.path)
            changed, current = value != value_of(base, info), info.path == cursor
            lines.append(_knob_line(f"  {name}", value, changed, info.doc if meaning else "", width, current))
    return tuple(lines)


def knob_paths(recipe: Recipe) -> tuple[str, ...]:
    """The knob of each of the `recipe_lines`, which need not be laid out for that; empty for the title of a section."""
    sections = groupby(knobs_of(recipe), _section)
    return ("preset", *(path for _, infos in sections for path in ("", *(info.path for info in infos))))


def _section(info: KnobInfo) -> str:
    return info.path.partition(".")[0]


def _knob_line(name: str, value: Any, changed: bool, doc: str, width: int, current: bool) -> Line:
    name_width = min(max(width // 4, 12), 22)
    value_width = min(max(width // 4, 12), 28)
    builder = LineBuilder().add(f"{CHANGED} " if changed else "  ", Role.CHANGED if changed else Role.PLAIN)
    builder.add(fit(name, name_width) + " ", Role.KEY)
    text = value_text(value)
    shown = f"{fit(text, value_width)} " if doc or current else clip(text, value_width)
    builder.add(shown, Role.CHANGED if changed else Role.VALUE)
    room = width - builder.width
    if room > 8:
        builder.add(clip(doc, room), Role.DIM)
    made = crop(builder.line(), width)
    return barred(made, width, True) if current else made


def diff_text_lines(diff: str, width: int) -> tuple[Line, ...]:
    """A unified diff given as text: + and − stay, roles follow them."""
    return tuple(row for text in diff.split("\n") for row in wrap(line((visible(text), _diff_role(text))), width))


def _diff_role(text: str) -> Role:
    roles = {"+++": Role.TITLE, "---": Role.TITLE, "@@": Role.POSITION, "+": Role.ADDED, "-": Role.REMOVED}
    return next((role for sign, role in roles.items() if text.startswith(sign)), Role.PLAIN)
