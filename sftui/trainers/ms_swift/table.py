"""Which arguments of `swift sft` say which knobs.

Source: ms-swift 4.6.0, cli/main.py (parse_yaml_args: every value of a YAML becomes a word, null the word `None`),
arguments/ (SftArguments, read by transformers' HfArgumentParser) and loss_scale/mapping.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.side_files import object_of
from sftui.trainers.ms_swift.registry import STRATEGIES, TITLE
from sftui.trainers.table import Config, Entry, Keys, Noted, Said, Write, as_is, keyless, keys_read, rule, silent, words

OWN = "ms-swift/"
OVER = {"delete": "drop", "left": "cut_left", "right": "cut_right", "split": "split"}
TRUE, FALSE = ("yes", "true", "t", "y", "1"), ("no", "false", "f", "n", "0")
_TOLD = object_of(Path(__file__).with_name("keys.json"))
COLUMNS: Mapping[str, str] = _TOLD["columns"]
"""Fields of sftui → what ms-swift calls their column."""


def word(value: Any) -> str:
    """A value as the word that reaches the parser."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else str(value)


def whole(text: str, key: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _stops(key, text, "a whole number", where) from None


def number(text: str, key: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _stops(key, text, "a number", where) from None


def truth(text: str, key: str, where: str) -> bool:
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise _stops(key, text, "true or false", where)


def plain(text: str, key: str, where: str) -> str:
    return text


def _stops(key: str, text: str, wanted: str, where: str) -> RecipeError:
    null = ": null in a YAML is the word None" if text == "None" else ""
    return RecipeError(f"{key} is `{text}`", where=where, why=f"{TITLE} stops{null}", fix=f"write {wanted}, or no key")


def one(config: Config, key: str, where: str) -> str | None:
    """The word of a key that takes one; None where it is absent."""
    if key not in config:
        return None
    value = config[key]
    if isinstance(value, list):
        if len(value) != 1:
            raise _stops(key, " ".join(map(str, value)), "one value", where)
        value = value[0]
    return word(value)


def _same(key: str, knob: str, read: Callable[[str, str, str], Any] = plain, write: Write | None = None) -> Entry:
    """A key that is one knob, converted as the parser does."""

    def reads(config: Config, recipe: Recipe, where: str) -> Said:
        text = one(config, key, where)
        return {} if text is None else {knob: read(text, key, where)}

    return rule(key, knob, reads, write or _unless_null(key))


def _unless_null(key: str) -> Write:
    """A knob as its key; null needs none, since no key says it."""
    usual = as_is(key)
    return lambda recipe, path, value: {} if value is None else usual(recipe, path, value)


def _choice(key: str, knob: str, choices: Mapping[str, str]) -> Entry:
    """A key of which some words stand for choices of a knob; ms-swift stops at any other."""

    def chosen(text: str, key: str, where: str) -> str:
        if text not in choices:
            raise _stops(key, text, " or ".join(choices), where)
        return choices[text]

    return _same(key, knob, chosen, words(key, knob, choices).write)


def _loss_scale(config: Config, recipe: Recipe, where: str) -> Said:
    text = one(config, "loss_scale", where)
    if text is None:
        return {}
    first, _, rest = text.partition("+")
    if first not in STRATEGIES:
        first, rest = "default", text
    return {
        "mask.rule": "all" if first == "all" else "parts",
        "mask.turns": "last" if first == "last_round" else "all",
        "own.loss_scale": rest or None,
    }


def _written_loss_scale(recipe: Recipe, path: str, value: Any) -> Keys | None:
    mask, more = recipe.mask, getattr(recipe.own, "loss_scale", None)
    if mask.rule not in ("parts", "all") or (mask.rule == "all" and mask.turns == "last"):
        return None
    first = "all" if mask.rule == "all" else "last_round" if mask.turns == "last" else "default"
    text = f"{first}+{more}" if more and first != "default" else more or first
    return {("loss_scale",): text}


def _written_template(recipe: Recipe, path: str, value: str) -> Noted:
    if value.startswith(OWN):
        return {("template",): value.removeprefix(OWN)}, ()
    if value == "tokenizer":
        return {}, ()
    return {}, (
        f"render.template = {value!r} has no key in {TITLE}'s config: it trains with templates of its own, by name",
    )


def _system(config: Config, recipe: Recipe, where: str) -> Said:
    text = one(config, "system", where)
    if text is None:
        return {}
    if text.endswith(".txt"):
        from sftui.side_files import read_side_file

        return {"render.inject_system": read_side_file(text, "the system text", RecipeError)}
    return {"render.inject_system": text.replace("\\n", "\n")}


def _written_system(recipe: Recipe, path: str, value: str | None) -> Noted:
    if value is None:
        return {}, ()
    if value.endswith(".txt"):
        return {("system",): value}, ("render.inject_system ends with .txt, which ms-swift takes for a file",)
    return _with_line_feeds("system", recipe, path, value)


def _with_line_feeds(key: str, recipe: Recipe, path: str, value: str | None) -> Noted:
    """A text in which ms-swift reads a backslash and an n as a line feed (template_args.py, __post_init__)."""
    if value is None:
        return {}, ()
    lost = (f"ms-swift reads the \\n of {path} as a line feed",) if "\\n" in value else ()
    return {(key,): value}, lost


def _packing(config: Config, recipe: Recipe, where: str) -> Said:
    text = one(config, "packing", where)
    if text is None or not truth(text, "packing", where):
        return {}
    strategy = one(config, "packing_strategy", where) or "binpack"
    if strategy not in ("binpack", "sequential"):
        raise _stops("packing_strategy", strategy, "binpack or sequential", where)
    return {"pack.strategy": strategy, "pack.isolate": True}


def _written_packing(recipe: Recipe, path: str, value: Any) -> Noted | None:
    strategy = recipe.pack.strategy
    if strategy not in ("none", "binpack", "sequential"):
        return None
    if recipe.pack.isolate is not (strategy != "none"):
        kept = "always keeps documents apart, by position ids" if strategy != "none" else "packs no documents"
        lost: tuple[str, ...] = (f"pack.isolate = {recipe.pack.isolate} has no key in {TITLE}'s config: it {kept}",)
    else:
        lost = ()
    if strategy == "none":
        return {}, lost
    more: Keys = {("packing_strategy",): "sequential"} if strategy == "sequential" else {}
    return {("packing",): True, **more}, lost if path == "pack.isolate" else ()


def _written_columns(recipe: Recipe, path: str, value: Any) -> Noted:
    """`columns` of the config, and the columns that data.fields names."""
    given = getattr(recipe.own, "columns", None)
    try:
        mapping: dict[str, Any] = json.loads(given) if given else {}
    except ValueError:
        return {("columns",): given}, ()
    if not isinstance(mapping, dict):
        return {("columns",): given}, ()
    mapping |= {column: COLUMNS[ours] for ours, column in recipe.data.fields.items() if ours in COLUMNS}
    lost = tuple(
        f"data.fields {ours} = {column!r} has no name among {TITLE}'s columns"
        for ours, column in recipe.data.fields.items()
        if ours not in COLUMNS and path == "data.fields"
    )
    return ({("columns",): json.dumps(mapping, ensure_ascii=False)} if mapping else {}), lost


def _aside(config: Config, recipe: Recipe, where: str) -> Said:
    """Beside a val_dataset none of the rows is set aside (arguments/base_args/data_args.py)."""
    return (
        {}
        if config.get("val_dataset")
        else _same("split_dataset_ratio", "own.split_dataset_ratio", number).read(config, recipe, where)
    )


TABLE = (
    _same("model", "tokenizer.name"),
    _same("model_revision", "tokenizer.revision"),
    _same("template", "render.template", lambda text, key, where: f"{OWN}{text}", _written_template),
    rule("system", "render.inject_system", _system, _written_system),
    _same("max_length", "length.max", whole),
    _choice("truncation_strategy", "length.over", OVER),
    rule("loss_scale", "mask.rule mask.turns own.loss_scale", _loss_scale, _written_loss_scale),
    rule("packing packing_strategy", "pack.strategy pack.isolate", _packing, _written_packing),
    _same("packing_length", "own.packing_length", whole),
    _same("per_device_train_batch_size", "batch.size", whole),
    _choice("padding_side", "batch.pad_side", {"left": "left", "right": "right"}),
    _same("padding_free", "batch.flatten", truth),
    rule("columns", "own.columns data.fields", _same("columns", "own.columns").read, _written_columns),
    _same("is_binary_loss_scale", "own.is_binary_loss_scale", truth),
    _same("disable_ignore_empty_think", "own.disable_ignore_empty_think", truth),
    _same("add_non_thinking_prefix", "own.add_non_thinking_prefix", truth),
    _same("enable_thinking", "own.enable_thinking", truth),
    _same("preserve_thinking", "own.preserve_thinking", truth),
    _same(
        "response_prefix",
        "own.response_prefix",
        lambda text, key, where: text.replace("\\n", "\n"),
        partial(_with_line_feeds, "response_prefix"),
    ),
    _same("agent_template", "own.agent_template"),
    _same("model_type", "own.model_type"),
    _same("use_chat_template", "own.use_chat_template", truth),
    _same("disable_auto_column_mapping", "own.disable_auto_column_mapping", truth),
    _same("strict", "own.strict", truth),
    rule("split_dataset_ratio", "own.split_dataset_ratio", _aside, as_is("split_dataset_ratio")),
    _same("data_seed", "own.data_seed", whole),
    _same("dataset_shuffle", "own.dataset_shuffle", truth),
    keyless("data.format", TITLE, "it goes by the names of the columns", "messages", "alpaca", "columns"),
    silent("tokenizer.transformers", "own.dataset_sample"),
)


KEYS = keys_read(TABLE)
