"""Which keys of LLaMA-Factory's YAML say which knobs.

Source: llamafactory 0.9.5, hparams/data_args.py and model_args.py. A dataclass takes a YAML's values as they are.
"""

from __future__ import annotations

from typing import Any

from sftui.recipe import Recipe
from sftui.trainers.llamafactory.pretrain import STAGE, bos_setting, is_pretraining
from sftui.trainers.table import (
    Config,
    Entry,
    Keys,
    Noted,
    Said,
    Write,
    as_is,
    flag,
    keys_read,
    limit,
    nothing,
    rule,
    same,
    silent,
    typed,
)

OWN = "llamafactory/"
"""Before the name of a template of its registry."""
LEAST = 1e-6
"""The smallest val_size that splits."""
KWARGS = ("enable_thinking", "preserve_thinking")
"""Keys that stand in render.kwargs."""
FORMATTING = {"alpaca": "alpaca", "sharegpt": "sharegpt", "openai": "messages"}


def number_of(value: Any) -> float:
    """A number as YAML has it; what is none counts as 0, because LLaMA-Factory compares it first and stops there."""
    return float(value) if isinstance(value, (int, float)) and abs(value) < 1e300 else 0.0


def _typed(key: str, knob: str, *kinds: type, write: Write | None = None) -> Entry:
    why = "LLaMA-Factory converts no value of a YAML, and stops at the first row that needs it"
    return typed(key, knob, *kinds, null="a value", why=why, write=write)


def _added(key: str) -> Entry:
    """Texts with commas, which it splits; it stops at anything else, which the notes say."""

    def read(config: Config, recipe: Recipe, where: str) -> Said:
        return {f"own.{key}": config[key]} if isinstance(config.get(key), str) else {}

    return rule(key, f"own.{key}", read, as_is(key))


def _aside(config: Config, recipe: Recipe, where: str) -> Said:
    """val_size and seed: neither means anything without the other's value."""
    if number_of(config.get("val_size")) <= LEAST:
        return {}
    seed = {"own.seed": config["seed"]} if isinstance(config.get("seed"), int) else {}
    return {"own.val_size": config["val_size"], **seed}


def _own_key(recipe: Recipe, path: str, value: Any) -> Keys:
    return {(path.removeprefix("own."),): value}


def _kwargs(config: Config, recipe: Recipe, where: str) -> Said:
    kwargs = {key: config[key] for key in config if key in KWARGS}
    return {"render.kwargs": {**recipe.render.kwargs, **kwargs}} if kwargs else {}


def _written_kwargs(recipe: Recipe, path: str, value: Config) -> Noted:
    lost = tuple(f"render.kwargs {key} has no key in LLaMA-Factory's config" for key in value if key not in KWARGS)
    return {(key,): value[key] for key in KWARGS if key in value}, lost


def _written_template(recipe: Recipe, path: str, value: str) -> Noted:
    if value.startswith(OWN):
        return {("template",): value.removeprefix(OWN)}, ()
    return {}, (
        f"LLaMA-Factory reads no {value}: give the tokenizer's folder that chat template and leave `template` out",
    )


def _stage(config: Config, recipe: Recipe, where: str) -> Said:
    """How texts are packed: in stage pt always, but for `packing: false`, which is told from no `packing`."""
    packing = config.get("packing")
    if config.get("stage") == STAGE:
        return {
            "own.stage": STAGE,
            "own.add_bos_token": bos_setting(recipe.tokenizer.name, recipe.tokenizer.revision),
            "own.packing": True if packing else None,
            "batch.multiple": None,
            "pack.strategy": "none" if packing is False else "wrapped",
        }
    if config.get("neat_packing"):
        return {"pack.strategy": "neat", "pack.isolate": True}
    return {"pack.strategy": "knapsack"} if packing else {}


def _written_stage(recipe: Recipe, path: str, value: Any) -> Keys | None:
    if path in ("own.stage", "own.packing"):
        return _own_key(recipe, path, value)
    if path == "own.add_bos_token":
        return {}  # the tokenizer's own files say it
    if path == "pack.strategy" and value in ("knapsack", "neat"):
        return {("packing" if value == "knapsack" else "neat_packing",): True}
    follows = (path, value) in (("pack.strategy", "wrapped"), ("batch.multiple", None))
    if (is_pretraining(recipe) and follows) or (path == "pack.isolate" and value == (recipe.pack.strategy == "neat")):
        return {}
    return None


def _in_entry(recipe: Recipe, path: str, value: Any) -> Noted:
    """What dataset_info.json says of the data, and what it cannot say."""
    if path == "data.format" and value not in ("auto", *FORMATTING.values(), "prompt_completion", "columns"):
        return {}, (f"LLaMA-Factory has no formatting for `{value}` rows",)
    if path == "data.role_map":
        seen = list(value.values())
        twice = sorted({role for role in seen if seen.count(role) > 1})
        return {}, tuple(f"LLaMA-Factory takes one tag a role: {role} has several" for role in twice)
    return {}, ()


TABLE = (
    _typed("cutoff_len", "length.max", int, float, write=limit("cutoff_len", "LLaMA-Factory")),
    _typed("preprocessing_batch_size", "pack.group", int, float),
    _typed("default_system", "render.inject_system", str),
    _typed("model_name_or_path", "tokenizer.name", object),
    _typed("model_revision", "tokenizer.revision", object),
    _typed("per_device_train_batch_size", "batch.size", int, float),
    same("tool_format", "own.tool_format"),
    same("max_samples", "own.max_samples"),
    # a dataclass takes any value for a flag, and only asks whether it is true
    same("ignore_pad_token_for_loss", "own.ignore_pad_token_for_loss", convert=bool),
    _added("add_tokens"),
    _added("add_special_tokens"),
    rule(" ".join(KWARGS), "render.kwargs", _kwargs, _written_kwargs),
    same("template", "render.template", null=False, convert=lambda name: f"{OWN}{name}", write=_written_template),
    flag("train_on_prompt", "mask.rule", "all"),
    flag("mask_history", "mask.turns", "last"),
    rule("val_size seed", "own.val_size own.seed", _aside, _own_key),
    rule(
        "stage packing neat_packing",
        "own.stage own.packing own.add_bos_token pack.strategy pack.isolate batch.multiple",
        _stage,
        _written_stage,
    ),
    rule("", "data.format data.fields data.message_keys data.role_map", nothing, _in_entry),
    silent("own.formatting", "tokenizer.transformers"),
)
KEYS = keys_read(TABLE)
