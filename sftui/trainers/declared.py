"""What the trainers declare of themselves, by name: read without loading their code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.errors import RecipeError
from sftui.nearest import did_you_mean
from sftui.recipe import Preset
from sftui.side_files import object_of
from sftui.trainer_names import TRAINERS

if TYPE_CHECKING:
    from sftui.trainers.traits import Traits


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


def folder_of(name: str) -> Path:
    """The folder of a trainer's package, where its records lie beside its code."""
    if name not in TRAINERS:
        from sftui.trainers.outside import outside_trainers

        return outside_trainers()[traits_of(name).name].folder
    return Path(__file__).parent / name.replace("-", "_")


@cache
def fixes_of(name: str) -> Mapping[str, str]:
    """What to set in a trainer against each finding that it has a key of its own for, by code, nothing where one does
    not concern it: its `fixes.json`, or what a trainer of another package declares."""
    return object_of(folder_of(name) / "fixes.json") or traits_of(name).fixes


@cache
def _declared(name: str) -> Traits:
    traits: Traits = import_module(f"sftui.trainers.{name.replace('-', '_')}").TRAITS
    return traits


def release_of(name: str) -> str:
    """The package and release that bring a trainer from outside; empty for one of sftui's own."""
    if name in TRAINERS:
        return ""
    from sftui.trainers.outside import outside_trainers

    one = outside_trainers()[traits_of(name).name]
    return f"{one.package} {one.version}"


def preset_names() -> tuple[str, ...]:
    """Every preset, newest version of a trainer first."""
    every = map(traits_of, trainer_names())
    return tuple(str(Preset(traits.name, version)) for traits in every for version in traits.versions or ("",))


def packages() -> dict[str, str]:
    """The package that is installed of each trainer, by the trainer's name; none for a loop written by hand."""
    return {name: traits_of(name).package or name for name in trainer_names() if not traits_of(name).by_hand}
