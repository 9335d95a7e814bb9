"""The trainers sftui knows, by name: presets, quirks, and their config files."""

from __future__ import annotations

from difflib import get_close_matches

from sftui import recipe_io
from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.trainers.axolotl import Axolotl
from sftui.trainers.base import Shaped, Toolbox, Trainer
from sftui.trainers.classic import HfTrainer, ManualShift
from sftui.trainers.llamafactory import LlamaFactory
from sftui.trainers.torchtune import Torchtune
from sftui.trainers.trl import Trl
from sftui.trainers.unsloth import Unsloth

TRAINERS: tuple[Trainer, ...] = (HfTrainer(), ManualShift(), Trl(), Axolotl(), LlamaFactory(), Unsloth(), Torchtune())


def trainer_named(name: str) -> Trainer:
    """The trainer of a preset name such as `trl@1.16`; RecipeError with the nearest name."""
    wanted = name.partition("@")[0]
    for trainer in TRAINERS:
        if trainer.name == wanted:
            return trainer
    close = get_close_matches(wanted, [trainer.name for trainer in TRAINERS], n=1, cutoff=0.5)
    hint = f"did you mean `{close[0]}`?" if close else f"choose one of {', '.join(preset_names())}"
    raise RecipeError(f"no trainer `{name}`", fix=hint)


def preset(name: str) -> Recipe:
    """The recipe of a preset, every field filled; `NAME` or `NAME@VERSION`."""
    _, _, version = name.partition("@")
    return trainer_named(name).preset(version or None)


def preset_names() -> tuple[str, ...]:
    """Every preset, newest version of a trainer first."""
    names: list[str] = []
    for trainer in TRAINERS:
        names.extend(f"{trainer.name}@{version}" for version in trainer.versions)
        if not trainer.versions:
            names.append(trainer.name)
    return tuple(names)


def load_recipe(text: str, where: str) -> Recipe:
    """The recipe in a YAML text (see `recipe_io.load`)."""
    return recipe_io.load(text, where, preset)


def dump_recipe(recipe: Recipe, comment: str = "") -> str:
    """A recipe as YAML: its preset and what differs from it."""
    return recipe_io.dump(recipe, preset, comment=comment)


__all__ = ["TRAINERS", "Shaped", "Toolbox", "Trainer", "dump_recipe", "load_recipe", "preset", "preset_names", "trainer_named"]
