"""What a trainer's own config says of a recipe: its keys, what it has none for, and so what can be chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from json import dumps
from typing import Any

from sftui.errors import RecipeError
from sftui.model import GONE
from sftui.recipe import KnobInfo, Recipe, changed, get
from sftui.recipe_io import knob_at
from sftui.trainers import preset, trainer_named, trainer_of, traits_of
from sftui.trainers.config import Facts, OpenedConfig, WrittenConfig
from sftui.trainers.remembering import last_asked


def _of_config(trainer: str, name: str) -> Any:
    """What the module of a trainer's config has under a name; None where it has nothing, or there is no config."""
    config = traits_of(trainer).config
    return getattr(import_module(config), name, None) if config else None


def key_of(trainer: str, path: str) -> str:
    """The keys of a trainer's config that say a knob, for a person to read; empty where it has none."""
    from sftui.trainers.table import key_of

    return key_of(_of_config(trainer, "TABLE") or (), path)


def naming(trainer: str, config: Any, data: str, number: int) -> dict[tuple[str | int, ...], Any]:
    """The changes (place → value) by which dataset `number` of an opened config is the JSON lines file `data`;
    empty where sftui cannot write that key."""
    name = _of_config(trainer, "naming")
    return name(config, data, number) if name is not None else {}


def can_name(trainer: str, config: Any, data: str, number: int) -> bool:
    """Whether dataset `number` of an opened config can be another file: by its own keys, or by the file beside it."""
    return bool(traits_of(trainer).data_file or naming(trainer, config, data, number))


def knobs_said(opened: OpenedConfig) -> frozenset[str]:
    """The knobs that keys of an opened config say."""
    from sftui.trainers.table import at, place_of

    table = _of_config(opened.trainer, "TABLE") or ()
    there = (entry for entry in table if any(at(opened.config, place_of(key))[0] for key in entry.keys))
    return frozenset(knob for entry in there for knob in entry.knobs)


def row_keys(recipe: Recipe) -> dict[str, Any]:
    """What a file beside the trainer's config says of the rows, by its keys; empty where it reads none."""
    keys = _of_config(recipe.trainer, "row_keys")
    return keys(recipe) if keys is not None else {}


def runner_request(recipe: Recipe) -> dict[str, Any]:
    """What the trainer's runner is asked in place of the written config; empty where it reads that."""
    ask = _of_config(recipe.trainer, "runner_request")
    return ask(recipe, preset(recipe.preset)) if ask is not None else {}


def write_config(recipe: Recipe, opened: OpenedConfig | None, facts: Facts | None = None) -> WrittenConfig:
    """The config that makes the trainer do what the recipe says; RecipeError where it has none.

    With `opened`, the user's own text with the changed keys only; else rows and recipe, and what is known of
    training (see `training.with_training`).
    """
    config = traits_of(recipe.trainer).config
    if not config:
        raise RecipeError(f"sftui cannot write a config for {recipe.trainer}", fix="export the recipe or preprocess.py")
    from sftui.trainers.training import with_training

    if opened is not None and opened.evaluates:
        why = "a config is corrected using the rows it trains on"
        raise RecipeError("the evaluation set of the config is open", why=why, fix="open its training set")
    facts = facts or Facts()
    written: WrittenConfig = import_module(config).write(recipe, preset(recipe.preset), opened, facts)
    return written if opened is not None else with_training(written, recipe.preset, facts)


def evaluated_in(opened: OpenedConfig) -> OpenedConfig:
    """The sets that a config evaluates on, each as the trainer prepares it then; RecipeError where it names none, or
    sftui does not know how."""
    from sftui.trainers.table import known_keys

    held, traits, own = _of_config(opened.trainer, "evaluation"), traits_of(opened.trainer), opened.recipe.preset
    known = known_keys(opened.trainer, traits.title, opened.recipe.version)

    def read(mapping: Mapping[str, Any]) -> OpenedConfig:
        text = dumps(mapping, default=str)
        twin: OpenedConfig = import_module(traits.config).read(opened.path, text, preset(own), known)
        return twin

    made: OpenedConfig | None = held(opened, read) if held is not None else None
    if made is None:
        why = "" if held is not None else f"sftui does not read evaluation sets from a {traits.title} config"
        raise RecipeError("the config names no evaluation set", where=opened.path, why=why, fix="open the file itself")
    return replace(made, text=opened.text, keys=opened.keys, config=opened.config, evaluates=True)


def losses_of(recipe: Recipe) -> tuple[str, ...]:
    """What the trainer's own config cannot say of a recipe, as `write_config` reports it."""
    return trainer_named(recipe.preset).keys_of(recipe)[1]


def keys_between(before: Recipe, after: Recipe) -> tuple[tuple[str, Any], ...]:
    """The keys of the trainer's config that say something else under another recipe, with what they say then; GONE
    for one that goes."""
    old, new = ({**trainer_named(one.preset).keys_of(one)[0], **row_keys(one)} for one in (before, after))
    said = ((key, old.get(key, GONE), new.get(key, GONE)) for key in dict.fromkeys((*old, *new)))
    return tuple((key, after) for key, before, after in said if before != after)


def choices_of(recipe: Recipe, info: KnobInfo) -> tuple[Any, ...]:
    """The values of a knob with choices that the recipe's trainer can be told, the rest of the recipe as it stands.

    Empty for a knob without choices. It is worked out from `losses_of`, so that what may be chosen is what can be
    exported.
    """
    offered: tuple[Any, ...] = (False, True) if info.type.removesuffix("?") == "bool" else info.choices
    if info.path == "loss.objective":
        offered = ("sft", *trainer_named(recipe.preset).objectives)
    offered = (None, *offered) if offered and info.type.endswith("?") else offered
    usual = get(preset(recipe.preset), info.path)
    lost = set(losses_of(changed(recipe, info.path, usual)))
    return tuple(one for one in offered if one == usual or set(losses_of(changed(recipe, info.path, one))) <= lost)


def other_choices(recipe: Recipe, info: KnobInfo) -> list[Any]:
    """Those of `choices_of` that the recipe does not have."""
    return [choice for choice in choices_of(recipe, info) if choice != get(recipe, info.path)]


@last_asked
def require(recipe: Recipe, *paths: str) -> None:
    """RecipeError with what there is, where the recipe's choice for one of some knobs is none of its trainer's."""
    for path in paths:
        value, choices = get(recipe, path), _own_choices(recipe.trainer, recipe.version, path)
        if value not in choices:
            title = traits_of(recipe.trainer).title
            raise RecipeError(f"{title} has no {path} `{value}`", fix=f"it has {', '.join(choices)}")


@cache
def _own_choices(trainer: str, version: str, path: str) -> tuple[Any, ...]:
    """`choices_of` with everything else as the preset has it."""
    recipe = trainer_named(trainer).preset(version or None)
    return choices_of(recipe, knob_at(path, recipe))


def notes_of(recipe: Recipe) -> tuple[str, ...]:
    """Sentences on the recipe as a whole: what its trainer does that no knob says, and what it cannot be told."""
    from sftui.templates.rendering.behaviour import not_read
    from sftui.trainers.versions import of, reference_version, unknown_newer

    trainer = trainer_of(recipe)
    newer = unknown_newer(of(recipe), trainer.versions, trainer.title) if trainer.versions else None
    unread = not_read(reference_version(recipe)) if trainer.traits.renders_templates else None
    return tuple(filter(None, (newer, *trainer.remarks(recipe), unread, *losses_of(recipe))))
