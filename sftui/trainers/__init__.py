"""The trainers sftui knows, by name: presets, quirks, and their config files."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sftui import recipe_io
from sftui.errors import RecipeError
from sftui.nearest import did_you_mean
from sftui.recipe import Recipe, changed

if TYPE_CHECKING:
    from sftui.trainers.base import Shaped, Toolbox, Trainer

# A trainer is loaded when it is named: opening the screen needs one preset, not seven emulators.
_HOMES = {
    "hf-trainer": ("sftui.trainers.classic", "HfTrainer"),
    "manual-shift": ("sftui.trainers.classic", "ManualShift"),
    "trl": ("sftui.trainers.trl", "Trl"),
    "axolotl": ("sftui.trainers.axolotl", "Axolotl"),
    "llamafactory": ("sftui.trainers.llamafactory", "LlamaFactory"),
    "unsloth": ("sftui.trainers.unsloth", "Unsloth"),
    "torchtune": ("sftui.trainers.torchtune", "Torchtune"),
}
TRAINER_NAMES = tuple(_HOMES)


def trainer_named(name: str) -> Trainer:
    """The trainer of a preset name such as `trl@1.16`; RecipeError with the nearest name."""
    wanted = name.partition("@")[0]
    if wanted in _HOMES:
        return _loaded(wanted)
    hint = did_you_mean(wanted, TRAINER_NAMES, f"choose one of {', '.join(preset_names())}", least=0.5)
    raise RecipeError(f"no trainer `{name}`", fix=hint)


@cache
def _loaded(name: str) -> Trainer:
    module, kind = _HOMES[name]
    trainer: Trainer = getattr(import_module(module), kind)()
    return trainer


def __getattr__(name: str) -> Any:
    """`Shaped`, `Toolbox` and `Trainer` of `base`, loaded when asked for."""
    if name in ("Shaped", "Toolbox", "Trainer"):
        return getattr(import_module("sftui.trainers.base"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def preset(name: str) -> Recipe:
    """The recipe of a preset, every field filled; `NAME` or `NAME@VERSION`."""
    _, _, version = name.partition("@")
    return trainer_named(name).preset(version or None)


def preset_names() -> tuple[str, ...]:
    """Every preset, newest version of a trainer first."""
    names: list[str] = []
    for trainer in map(_loaded, TRAINER_NAMES):
        names.extend(f"{trainer.name}@{version}" for version in trainer.versions)
        if not trainer.versions:
            names.append(trainer.name)
    return tuple(names)


def load_recipe(text: str, where: str) -> Recipe:
    """The recipe in a YAML text (see `recipe_io.load`).

    One saved before recipes said whose tokenization they mean keeps the ids it had: those of sftui's own transformers.
    """
    from sftui.trainers.pins import RUNNING, pins_of

    value = recipe_io.parse_yaml(text, where)
    recipe = recipe_io.from_mapping(value, where, preset)
    if "format" not in value and recipe.tokenizer.transformers is None and pins_of(recipe.preset) is not None:
        recipe = changed(recipe, "tokenizer.transformers", RUNNING)
    return recipe


def dump_recipe(recipe: Recipe, comment: str = "") -> str:
    """A recipe as YAML: its preset and what differs from it."""
    return recipe_io.dump(recipe, preset, comment=comment)


__all__ = [
    "TRAINER_NAMES",
    "Shaped",
    "Toolbox",
    "Trainer",
    "dump_recipe",
    "load_recipe",
    "preset",
    "preset_names",
    "trainer_named",
]
