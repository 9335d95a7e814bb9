"""The recipe: editing knobs live, undo and redo, picking a template and a tokenizer.

Every change goes through the workspace, which answers the row again by itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sftui.errors import SftuiError
from sftui.recipe import Recipe, changed, diff
from sftui.recipe_io import parse_value, quoted
from sftui.text import visible
from sftui.trainers import preset, preset_names, trainer_of
from sftui.tui.commands.command import Command, both_ways, moves
from sftui.tui.contexts import RECIPE
from sftui.tui.inspector import Inspector
from sftui.tui.panes.recipe_pane import PRESET
from sftui.tui.state import StatusMessage, unless
from sftui.views.cells import Role
from sftui.views.knobs import change_text, value_text

MOVES = moves(RECIPE, "knob")


def _none(here: Inspector) -> StatusMessage | None:
    """Why no knob is marked."""
    return unless(here.panes.recipe.infos, "no knob matches; Esc lists all")


# — changing a knob —


def _cycle(here: Inspector, step: int) -> None:
    """The next choice of a knob that has choices; others are typed."""
    info = here.panes.recipe.knob
    value, choices = here.panes.recipe.value(info), _choices(here)
    if not choices:
        here.say(f"{info.path}: Enter types a value", Role.DIM)
    elif choices == (value,):
        here.say(f"{info.path}: {here.workspace.recipe.preset} allows no other value", Role.DIM)
    else:
        at = choices.index(value) if value in choices else 0
        _put(here, info.path, choices[(at + step) % len(choices)])


def _choice(name: str, key: str, arrow: str) -> Command:
    words = f"Change the knob to its {name} choice."
    return Command(f"recipe.{name}", (key, arrow), f"{name} choice", "Recipe", RECIPE, words, when=_none, means=arrow)


CHOICES = both_ways(_cycle, _choice("next", "l", "right"), _choice("previous", "h", "left"))


@Command("recipe.edit", ("enter",), "edit the knob", "Recipe", RECIPE, when=_none, means="enter")
def edit(here: Inspector, count: int | None) -> None:
    """Type a value, or take the next choice."""
    info = here.panes.recipe.knob
    value, choices = here.panes.recipe.value(info), _choices(here)
    if choices:
        only = f" ({here.workspace.recipe.preset} has no other)" if len(choices) == 1 else ""
        here.pick(
            f"{info.path}: {info.doc}{only}",
            [(value_text(c), info.meaning(c)) for c in choices],
            lambda number: _put(here, info.path, choices[number]),
            marked=value_text(value),
        )
        return
    text = "" if value is None else quoted(value) if isinstance(value, str) else value_text(value)
    here.ask(f"{info.path}: {info.doc}", partial(_typed, here, info.path), value=text, raw=True)


@Command("recipe.reset", ("backspace",), "reset the knob", "Recipe", RECIPE, when=_none)
def reset(here: Inspector, count: int | None) -> None:
    """Reset the knob to its value when the data was opened."""
    info = here.panes.recipe.knob
    _put(here, info.path, here.panes.recipe.base_value(info))


def _choices(here: Inspector) -> tuple[Any, ...]:
    info = here.panes.recipe.knob
    if info is PRESET:
        return tuple(preset_names())
    from sftui.trainers.own_config import choices_of

    return choices_of(here.workspace.recipe, info)


def _typed(here: Inspector, path: str, text: str) -> None:
    _put(here, path, parse_value(path, text, here.workspace.recipe))


def _put(here: Inspector, path: str, value: Any) -> None:
    """A knob's value; another preset fills every knob but what says which data and tokenizer are read."""
    now = here.workspace.recipe
    if not here.workspace.set_recipe(preset_like(now, value) if path == PRESET.path else changed(now, path, value)):
        here.say(f"{path} is already {value_text(value)}", Role.DIM)


def preset_like(now: Recipe, name: str) -> Recipe:
    """A preset with the data, tokenizer, chat template and objective of `now`; RecipeError where it has no such one.

    A template of one trainer's own registry is nothing to another one, which then keeps its own.
    """
    filled = preset(name)
    kind = now.render.template.partition(":")[0]
    own = "/" in kind and kind.partition("/")[0] != filled.trainer
    render = filled.render if own else replace(filled.render, template=now.render.template)
    made = replace(filled, data=now.data, tokenizer=now.tokenizer, render=render)
    made = changed(made, "loss.objective", now.loss.objective)
    trainer_of(made)
    return made


# — from anywhere —


@Command("recipe", ("c",), "recipe", "Recipe")
def toggle(here: Inspector, count: int | None) -> None:
    """Open the recipe and edit every knob that decides labels, live."""
    here.put(here.state.open.recipe_toggled())


def _replay(here: Inspector, times: int) -> None:
    from sftui.repairs.edits import repair_title

    before, repairs = here.workspace.recipe, here.workspace.repairs
    step, word = (here.workspace.undo, "undo") if times > 0 else (here.workspace.redo, "redo")
    done = 0
    while done < min(abs(times), 1000) and step():
        done += 1
    if not done:
        here.say(f"nothing to {word}", Role.DIM)
        return
    now = here.workspace.recipe
    parts = [change_text(change) for change in diff(before, now)]
    if before.waivers != now.waivers:
        parts.append(f"waivers {len(before.waivers)} → {len(now.waivers)}")
    after = here.workspace.repairs
    parts += [f"{repair_title(name)} is no longer applied" for name in repairs if name not in after]
    parts += [f"{repair_title(name)} is applied" for name in after if name not in repairs]
    here.say(f"{word}: {', '.join(parts)}")


_UNDOES = "Undo the last change to the recipe or the repairs."
HISTORY = both_ways(
    _replay,
    Command("undo", ("u",), "undo", "Recipe", help=_UNDOES, counted=True),
    Command("redo", ("U", "ctrl+r"), "redo", "Recipe", help="Redo the last undone change.", counted=True),
)


@Command("template", ("T",), "chat template", "Recipe")
def pick_template(here: Inspector, count: int | None) -> None:
    """Choose a chat template: the model family's, a built-in, or a file."""
    from sftui.templates import builtin_names

    event = here.workspace.tokenizer
    family = tuple(event.templates) if event is not None else ()
    own = bool(getattr(event.facts, "chat_templates", None)) if event is not None else False
    entries = [(f"builtin:{name.removeprefix('builtin:')}", "for this tokenizer's family") for name in family]
    if own or not entries:
        entries.append(("tokenizer", "the tokenizer's own" if own else "the tokenizer's own (there is none)"))
    entries += [(f"builtin:{name}", "built in") for name in builtin_names() if name not in family]
    entries.append(("file:", "choose a Jinja file"))
    then = partial(_template, here, [name for name, _ in entries])
    here.pick("chat template", entries, then, marked=here.workspace.recipe.render.template)


def _template(here: Inspector, names: Sequence[str], number: int) -> None:
    if (name := names[number]) == "file:":
        here.ask("file with a chat template", partial(_template_file, here))
    else:
        _put(here, "render.template", name)


def _template_file(here: Inspector, path: str) -> None:
    if not os.path.isfile(os.path.expanduser(path)):
        raise SftuiError(f"there is no file {path}")
    _put(here, "render.template", f"file:{os.path.expanduser(path)}")


@Command("tokenizer", ("K",), "tokenizer", "Recipe")
def type_tokenizer(here: Inspector, count: int | None) -> None:
    """Load another tokenizer; Enter on the same name retries."""
    now = here.workspace.recipe.tokenizer.name or ""

    def answer(name: str) -> None:
        if name == now:
            here.workspace.reopen()
            here.say(f"loading {visible(name)} again", Role.DIM)
        else:
            recipe = changed(changed(here.workspace.recipe, "tokenizer.name", name), "tokenizer.revision", None)
            here.workspace.set_recipe(recipe)
            here.say(f"tokenizer {visible(name)} · u undoes it")

    here.ask("tokenizer: a Hub name, folder, tokenizer.json or builtin:NAME", answer, value=now)
