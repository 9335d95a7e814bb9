"""Why two sides of a comparison differ, cause by cause, with the settings of both side by side."""

from __future__ import annotations

from collections.abc import Iterator

from sftui.comparison import Cause, Causes, Setting
from sftui.comparison.causes import TRAINER
from sftui.recipe import Recipe
from sftui.text import many, visible
from sftui.views.cells import Line, Role, line, wrap
from sftui.views.knobs import value_text


def cause_lines(causes: Causes, one: Recipe, other: Recipe, width: int, sides: tuple[int, int]) -> tuple[Line, ...]:
    """Every line of the causes at `width` cells; `sides` are the numbers of the two sides, 0 for A."""
    a, b = (chr(ord("A") + number) for number in sides)
    text = f" ({causes.looked_at:,} of {many(causes.of, 'differing row')})"
    lines = [line((f"why {b} differs from {a}", Role.TITLE), (text, Role.LABEL))]
    for cause in causes.found:
        lines += _cause(cause, (one, other), (a, b))
    return tuple(row for cells in lines for row in wrap(cells, width, "      "))


def _cause(cause: Cause, recipes: tuple[Recipe, Recipe], sides: tuple[str, str]) -> Iterator[Line]:
    of_each = [_trained(*figures) for figures in zip(cause.trained, cause.received)]
    text = f"  {many(cause.rows, 'row')}: {sides[0]} trains {of_each[0]} tokens, {sides[1]} {of_each[1]}"
    if cause.one_sided:
        only = "all of them" if cause.one_sided == cause.rows else f"{cause.one_sided:,} of them"
        text += f"; {only} on one side only"
    rows = ", ".join(map(str, cause.first)) + (", …" if cause.rows > len(cause.first) else "")
    yield line((text, Role.PLAIN), (f"  (row {rows})", Role.LABEL))
    if not cause.settings:
        yield line(("    none of their settings explains it", Role.PLAIN))
    for setting in (*cause.settings, *cause.bound):
        values = " · ".join(f"{side} {value_text(value)}" for side, value in zip(sides, setting.values))
        also = ["goes with it"] if setting in cause.bound else []
        also += [f"{one.trainer}: {keys}" for one in recipes if (keys := keys_of_setting(setting, one))]
        behind = f"  ({'; '.join(dict.fromkeys(also))})" if also else ""
        yield line((f"    {visible(setting_words(setting))}", Role.KEY), f"  {values}", (visible(behind), Role.LABEL))


def _trained(trained: int, received: int) -> str:
    return f"all {received:,}" if trained == received > 0 else f"{trained:,} of {received:,}"


def setting_words(setting: Setting) -> str:
    """What a setting is, in a few words."""
    return "the trainer's own code" if setting.name == TRAINER else setting.name


def keys_of_setting(setting: Setting, recipe: Recipe) -> str:
    """The keys of the trainer's config that say a setting; empty where it has none."""
    from sftui.trainers import trainer_named

    return trainer_named(recipe.preset).key_of(setting.name) if "." in setting.name else ""
