"""Which keys of the v1 engine's YAML say which knobs.

Source: llamafactory 0.9.6.dev0 (ff6d4d1), v1/config/*.py. A dataclass takes a YAML's values as they are.
"""

from __future__ import annotations

from typing import Any

from sftui.recipe import Recipe
from sftui.trainers.llamafactory_v1 import LlamaFactoryV1Options
from sftui.trainers.llamafactory_v1.formats import CONVERTERS
from sftui.trainers.table import (
    Config,
    KeyEntry,
    Keys,
    Noted,
    Said,
    Write,
    keys_read,
    limit,
    nothing,
    rule,
    silent,
    typed,
)

OWN = "llamafactory-v1/"
CUSTOM = "custom"
"""The one template of its own: what `custom_chat_template` holds."""
STRATEGIES = {
    (False, False): "normal",
    (True, False): "padding_free",
    (False, True): "dynamic_batching",
    (True, True): "dynamic_padding_free",
}
"""batch.flatten and own.dynamic → batching_strategy."""


def _typed(key: str, knob: str, kind: type, write: Write | None = None) -> KeyEntry:
    why = "LLaMA-Factory converts no value of a YAML, and stops where it needs it"
    return typed(key, knob, kind, null="refused", why=why, write=write)


def _strategy(config: Config, recipe: Recipe, where: str) -> Said:
    name = config.get("batching_strategy", "normal")
    flatten, dynamic = next(key for key, value in STRATEGIES.items() if value == name)
    return {"batch.flatten": flatten, "own.dynamic": dynamic}


def _written_strategy(recipe: Recipe, path: str, value: Any) -> Keys:
    flatten, dynamic = recipe.batch.flatten, LlamaFactoryV1Options.of(recipe).dynamic
    return {("batching_strategy",): STRATEGIES[flatten, dynamic]}


def _template(config: Config, recipe: Recipe, where: str) -> Said:
    source = config.get("custom_chat_template")
    if not source:
        return {}
    return {"render.template": f"{OWN}{CUSTOM}", "own.custom_chat_template": source}


def _written_template(recipe: Recipe, path: str, value: Any) -> Keys:
    """The text of a template that stands elsewhere is put in by whoever writes the file."""
    return {("custom_chat_template",): LlamaFactoryV1Options.of(recipe).custom_chat_template or ""}


def _in_entry(recipe: Recipe, path: str, value: Any) -> Noted:
    """What the dataset's entry says of the data, and what it cannot say."""
    if path == "data.format" and value not in ("auto", "messages", *CONVERTERS):
        return {}, (f"LLaMA-Factory v1 has no converter for `{value}` rows",)
    if path != "data.format":
        return {}, (f"{path} has no key: its converters read columns, keys and roles of one name",)
    return {}, ()


TABLE = (
    _typed("cutoff_len", "length.max", int, limit("cutoff_len", "LLaMA-Factory v1")),
    _typed("model", "tokenizer.name", str),
    _typed("micro_batch_size", "batch.size", int),
    rule("batching_strategy", "batch.flatten own.dynamic", _strategy, _written_strategy),
    rule("custom_chat_template", "render.template own.custom_chat_template", _template, _written_template),
    rule("", "data.format data.fields data.message_keys data.role_map", nothing, _in_entry),
    silent("tokenizer.transformers"),
)
KEYS = keys_read(TABLE)
