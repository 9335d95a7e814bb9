"""The trainers sftui knows, by name: presets, quirks, and their config files."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sftui import recipe_io
from sftui.errors import RecipeError
from sftui.recipe import Preset, Recipe, changed
from sftui.trainer_names import TRAINERS
from sftui.trainers.declared import hand_written, packages, preset_names, release_of, trainer_names, traits_of

if TYPE_CHECKING:
    from sftui.trainers.base import ShapedRow, Toolbox, Trainer
    from sftui.trainers.traits import Traits


def trainer_named(name: str) -> Trainer:
    """The trainer of a preset name such as `trl@1.16`; RecipeError with the nearest name."""
    return _loaded(traits_of(name).name)


@cache
def _loaded(name: str) -> Trainer:
    if name not in TRAINERS:
        from sftui.trainers.base import Trainer
        from sftui.trainers.outside import load_class

        made: Trainer = load_class(traits_of(name), Trainer)()
        return made
    return _made(traits_of(name).home)  # opening the screen needs one trainer, not seven


def _made(home: str) -> Trainer:
    module, _, kind = home.partition(":")
    trainer: Trainer = getattr(import_module(module), kind)()
    return trainer


def __getattr__(name: str) -> Any:
    """`ShapedRow`, `Toolbox` and `Trainer` of `base`, and `Traits`, loaded when asked for."""
    home = {"Traits": "traits", "ShapedRow": "base", "Toolbox": "base", "Trainer": "base"}.get(name)
    if home is not None:
        return getattr(import_module(f"sftui.trainers.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def trainer_of(recipe: Recipe) -> Trainer:
    """The trainer of a recipe, as it prepares rows for the recipe's objective; RecipeError where it has no such one."""
    trainer, objective = trainer_named(recipe.preset), recipe.loss.objective
    return trainer if objective == "sft" else _pursuing(trainer, objective)


@cache
def _pursuing(trainer: Trainer, objective: str) -> Trainer:
    if objective in trainer.objectives:
        return _made(trainer.objectives[objective])
    known = ", ".join(("sft", *trainer.objectives))
    raise RecipeError(f"sftui does not model {objective} under {trainer.title}", fix=f"set loss.objective to {known}")


def preset(name: str = TRAINERS[0]) -> Recipe:
    """The recipe of a preset, every field filled; `NAME` or `NAME@VERSION`."""
    return trainer_named(name).preset(Preset.of(name).version or None)


def load_recipe(text: str, where: str) -> Recipe:
    """The recipe in a YAML text; RecipeError names the first problem and counts the others.

    One saved before recipes said whose tokenization they mean keeps the ids it had: those of sftui's own transformers.
    """
    from sftui.trainers.versions import RUNNING, pins_of

    value = recipe_io.parse_yaml(text, where)
    recipe = recipe_io.from_mapping(value, where, preset)
    if (
        recipe_io.schema_of(value, where) < 2
        and recipe.tokenizer.transformers is None
        and pins_of(recipe.preset) is not None
    ):
        recipe = changed(recipe, "tokenizer.transformers", RUNNING)
    return recipe


def dump_recipe(recipe: Recipe, comment: str = "") -> str:
    """A recipe as YAML: its preset and what differs from it."""
    return recipe_io.dump(recipe, preset, comment=comment)


__all__ = [
    "TRAINERS",
    "ShapedRow",
    "Toolbox",
    "Trainer",
    "Traits",
    "dump_recipe",
    "hand_written",
    "load_recipe",
    "packages",
    "preset",
    "preset_names",
    "release_of",
    "trainer_named",
    "trainer_names",
    "trainer_of",
    "traits_of",
]
