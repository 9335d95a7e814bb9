"""Which keys of verl's config say which knobs.

Source: verl 0.9.1, trainer/config/sft_trainer_engine.yaml, trainer/config/model/hf_model.yaml, and what
utils/dataset/multiturn_sft_dataset.py and trainer/sft_trainer.py ask of `data`. OmegaConf converts no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.trainers.table import (
    Config,
    Entry,
    Keys,
    Noted,
    Said,
    Write,
    as_is,
    at,
    keyless,
    keys_read,
    limit,
    place_of,
    rule,
    same,
    silent,
    typed,
)
from sftui.trainers.verl import VerlOptions
from sftui.trainers.verl.formats import FORMATS

TITLE = "verl"
CUSTOM = "custom"
"""The one template of its own: what `model.custom_chat_template` holds."""
TRUNCATION = {"error": "error", "right": "cut_right", "left": "cut_left"}
COLUMNS = {"messages": "data.messages_key", "tools": "data.tools_key"}
PAD_MODES = ("no_padding", "right")


def _typed(key: str, knob: str, kind: type, write: Write | None = None) -> Entry:
    """Where a number is null, verl stops; of a text, that says nothing."""
    why = f"{TITLE} converts no value, and stops where it needs it"
    return typed(key, knob, kind, null="nothing" if kind is str else "refused", why=why, write=write)


def _chosen(config: Config, key: str, choices: Mapping[str, Any] | tuple[str, ...], usual: str, where: str) -> str:
    value = at(config, place_of(key))[1] if at(config, place_of(key))[0] else usual
    if value not in choices:
        raise RecipeError(
            f"{key} is `{value}`", where=where, why=f"{TITLE} stops (AssertionError)", fix=f"set {', '.join(choices)}"
        )
    return str(value)


def _length(config: Config, recipe: Recipe, where: str) -> Said:
    """With pad_mode no_padding the end is cut whatever truncation says, unless that is `error`."""
    over = TRUNCATION[_chosen(config, "data.truncation", TRUNCATION, "error", where)]
    padded = _chosen(config, "data.pad_mode", PAD_MODES, "no_padding", where) == "right"
    return {"length.over": "cut_right" if over == "cut_left" and not padded else over}


def _written_over(recipe: Recipe, path: str, value: str) -> Keys | Noted | None:
    back = {choice: word for word, choice in TRUNCATION.items()}
    if value not in back:
        return None
    if value == "cut_left" and recipe.batch.flatten:
        return {}, ("length.over = 'cut_left' has no key in verl's config: with pad_mode no_padding it cuts the end",)
    return {("data", "truncation"): back[value]}


def _padding(config: Config, recipe: Recipe, where: str) -> Said:
    padded = _chosen(config, "data.pad_mode", PAD_MODES, "no_padding", where) == "right"
    return {"batch.flatten": False, "batch.pad_to": "max"} if padded else {}


def _written_padding(recipe: Recipe, path: str, value: Any) -> Keys | Noted | None:
    padded = not recipe.batch.flatten
    if (recipe.batch.pad_to == "max") is not padded:
        note = "batch.flatten false and batch.pad_to max go together in verl's config, as data.pad_mode right"
        return {}, (note,)
    return {("data", "pad_mode"): "right" if padded else "no_padding"}


def _columns(config: Config, recipe: Recipe, where: str) -> Said:
    found: dict[str, str] = {}
    for ours, key in COLUMNS.items():
        there, value = at(config, place_of(key))
        if there and not isinstance(value, str):
            raise RecipeError(f"{key} is `{value}`", where=where, fix="give the name of a column")
        if there and value != ours:
            found[ours] = value
    return {"data.fields": found} if found else {}


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> Noted:
    keys: Keys = {place_of(COLUMNS[ours]): column for ours, column in value.items() if ours in COLUMNS}
    lost = tuple(
        f"data.fields {ours} = {column!r} has no key in verl's config"
        for ours, column in value.items()
        if ours not in COLUMNS
    )
    return {place: column for place, column in keys.items() if f"{column}_key" != place[-1]}, lost


def _kwargs(config: Config, recipe: Recipe, where: str) -> Said:
    there, value = at(config, ("data", "apply_chat_template_kwargs"))
    if not there:
        return {}
    if not isinstance(value, Mapping):
        raise RecipeError(
            f"data.apply_chat_template_kwargs is `{value}`", where=where, why="verl stops (TypeError)", fix="set {}"
        )
    return {"render.kwargs": {str(key): one for key, one in value.items()}} if value else {}


def _most(config: Config, recipe: Recipe, where: str) -> Said:
    there, value = at(config, ("data", "train_max_samples"))
    if not there:
        return {}
    if not isinstance(value, int) or isinstance(value, bool):
        raise RecipeError(f"data.train_max_samples is `{value}`", where=where, fix="write a whole number, -1 for all")
    return {"own.train_max_samples": value if value > 0 else None}


def _seed(config: Config, recipe: Recipe, where: str) -> Said:
    value = at(config, ("data", "seed"))[1]
    return {"own.seed": value} if isinstance(value, int) else {}


def _written_most(recipe: Recipe, path: str, value: int | None) -> Keys:
    return {("data", "train_max_samples"): -1 if value is None else value}


def _tokenizer(config: Config, recipe: Recipe, where: str) -> Said:
    """tokenizer_path, where it is there, takes the place of the model's own."""
    for key in ("tokenizer_path", "path"):
        value = at(config, ("model", key))[1]
        if value is not None:
            if not isinstance(value, str):
                raise RecipeError(f"model.{key} is `{value}`", where=where, fix="give a folder or a name")
            return {"tokenizer.name": value}
    return {}


def _template(config: Config, recipe: Recipe, where: str) -> Said:
    source = at(config, ("model", "custom_chat_template"))[1]
    if source is None:
        return {}
    if not isinstance(source, str):
        raise RecipeError(f"model.custom_chat_template is `{source}`", where=where, fix="give the template as text")
    return {"render.template": f"{TITLE}/{CUSTOM}", "own.custom_chat_template": source}


def _written_template(recipe: Recipe, path: str, value: Any) -> Keys:
    """The text of a template that stands elsewhere is put in by whoever writes the file."""
    return {("model", "custom_chat_template"): VerlOptions.of(recipe).custom_chat_template or ""}


def _own(key: str) -> Entry:
    return _typed(key, f"own.{key.rpartition('.')[2]}", str)


TABLE = (
    _typed("data.max_length", "length.max", int, limit("data.max_length", TITLE)),
    rule("data.truncation data.pad_mode", "length.over", _length, _written_over),
    rule("data.pad_mode", "batch.flatten batch.pad_to", _padding, _written_padding),
    _typed("data.train_batch_size", "batch.size", int),
    rule("data.messages_key data.tools_key", "data.fields", _columns, _written_columns),
    rule("data.apply_chat_template_kwargs", "render.kwargs", _kwargs, as_is("data.apply_chat_template_kwargs")),
    same("data.ignore_input_ids_mismatch", "own.ignore_input_ids_mismatch", convert=bool),
    _own("data.enable_thinking_key"),
    # whatever Python holds for true: the text `none`, too, which is verl's default
    same(
        "data.enable_thinking_default",
        "own.enable_thinking_default",
        convert=lambda value: None if value is None else bool(value),
    ),
    _own("data.image_key"),
    _own("data.video_key"),
    rule("data.train_max_samples", "own.train_max_samples", _most, _written_most),
    same("data.shuffle", "own.shuffle", convert=bool),
    rule("data.seed", "own.seed", _seed, as_is("data.seed")),
    rule("model.tokenizer_path model.path", "tokenizer.name", _tokenizer, as_is("model.tokenizer_path")),
    rule("model.custom_chat_template", "render.template own.custom_chat_template", _template, _written_template),
    keyless("data.format", TITLE, "it reads messages alone", *FORMATS),
    silent("tokenizer.transformers"),
)
KEYS = keys_read(TABLE)
APPENDED = frozenset({"data.image_key", "data.video_key", "data.shuffle", "data.seed", "data.image_patch_size"})
"""Keys that the dataset asks for and the config does not hold: on a command line they need a `+`."""
