"""The trainers sftui knows, by name: presets, quirks, and their config files."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sftui import recipe_io
from sftui.errors import RecipeError
from sftui.nearest import did_you_mean
from sftui.recipe import Preset, Recipe, changed

if TYPE_CHECKING:
    from sftui.trainers.base import Shaped, Toolbox, Trainer
    from sftui.trainers.traits import Traits

TRAINERS = ("hf-trainer", "manual-shift", "trl", "axolotl", "llamafactory", "unsloth", "torchtune")
"""The trainers that sftui has, each in the package of its name (see `traits`); the first is the one of a recipe that
names none."""


def trainer_names() -> tuple[str, ...]:
    """Every trainer's name: sftui's own, and those of packages that the user enabled (see `outside`)."""
    from sftui.trainers.outside import outside_trainers

    return (*TRAINERS, *outside_trainers())


def hand_written() -> tuple[str, ...]:
    """The trainers whose preparation preprocess.py does: sftui's own that are written by hand.

    What one of another package does by hand is its own code, which no script of sftui repeats.
    """
    return tuple(name for name in TRAINERS if traits_of(name).by_hand)


def traits_of(name: str) -> Traits:
    """What the trainer of a preset name such as `trl@1.16` declares; RecipeError with the nearest name.

    The trainer's own code is not loaded for it.
    """
    wanted = Preset.of(name).trainer
    if wanted in TRAINERS:
        return _declared(wanted)
    from sftui.trainers.outside import not_enabled, outside_trainers

    if wanted in outside_trainers():
        return outside_trainers()[wanted].traits
    hint = not_enabled(wanted)
    if not hint:
        hint = did_you_mean(wanted, trainer_names(), f"choose one of {', '.join(preset_names())}", least=0.5)
    raise RecipeError(f"no trainer `{name}`", fix=hint)


def trainer_named(name: str) -> Trainer:
    """The trainer of a preset name such as `trl@1.16`; RecipeError with the nearest name."""
    return _loaded(traits_of(name).name)


def folder_of(name: str) -> Path:
    """The folder of a trainer's package, where its records lie beside its code."""
    if name not in TRAINERS:
        from sftui.trainers.outside import outside_trainers

        return outside_trainers()[traits_of(name).name].folder
    return Path(__file__).parent / name.replace("-", "_")


@cache
def _declared(name: str) -> Traits:
    traits: Traits = import_module(f"{__name__}.{name.replace('-', '_')}").TRAITS
    return traits


@cache
def _loaded(name: str) -> Trainer:
    if name not in TRAINERS:
        from sftui.trainers.outside import load_class

        made: Trainer = load_class(traits_of(name))()
        return made
    module, _, kind = _declared(name).home.partition(":")  # opening the screen needs one trainer, not seven
    trainer: Trainer = getattr(import_module(module), kind)()
    return trainer


def release_of(name: str) -> str:
    """The package and release that bring a trainer from outside; empty for one of sftui's own."""
    if name in TRAINERS:
        return ""
    from sftui.trainers.outside import outside_trainers

    one = outside_trainers()[traits_of(name).name]
    return f"{one.package} {one.version}"


def __getattr__(name: str) -> Any:
    """`Shaped`, `Toolbox` and `Trainer` of `base`, and `Traits`, loaded when asked for."""
    if name in ("Shaped", "Toolbox", "Trainer"):
        return getattr(import_module("sftui.trainers.base"), name)
    if name == "Traits":
        return import_module("sftui.trainers.traits").Traits
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def preset(name: str = TRAINERS[0]) -> Recipe:
    """The recipe of a preset, every field filled; `NAME` or `NAME@VERSION`."""
    return trainer_named(name).preset(Preset.of(name).version or None)


def preset_names() -> tuple[str, ...]:
    """Every preset, newest version of a trainer first."""
    names: list[str] = []
    for traits in map(traits_of, trainer_names()):
        names.extend(f"{traits.name}@{version}" for version in traits.versions)
        if not traits.versions:
            names.append(traits.name)
    return tuple(names)


def load_recipe(text: str, where: str) -> Recipe:
    """The recipe in a YAML text (see `recipe_io.load`).

    One saved before recipes said whose tokenization they mean keeps the ids it had: those of sftui's own transformers.
    """
    from sftui.trainers.pins import RUNNING, pins_of

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
    "Shaped",
    "Toolbox",
    "Trainer",
    "Traits",
    "dump_recipe",
    "folder_of",
    "hand_written",
    "load_recipe",
    "preset",
    "preset_names",
    "release_of",
    "trainer_named",
    "trainer_names",
    "traits_of",
]
