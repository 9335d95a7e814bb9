"""Axolotl's YAML as recipes, one for each entry of `datasets:`.

Source: axolotl 0.19.0, utils/schemas/config.py and datasets.py, utils/config/__init__.py
(normalize_config, normalize_cfg_datasets), utils/data/shared.py (load_dataset_with_config). Paths
are relative to the working folder, not to the config.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed
from sftui.recipe_io import Misfit, check, knob_at, parse_yaml, set_knob_to
from sftui.trainers.axolotl import pretrain
from sftui.trainers.axolotl.formats import modelled
from sftui.trainers.axolotl.keys import OVERTAKEN, UNSUPPORTED, listed, note_in_dataset, note_of
from sftui.trainers.axolotl.packing import varlen
from sftui.trainers.axolotl.schema import (
    MISTRAL_COMMON,
    by_mistral_common,
    checked,
    null_at_work,
    padded_for_packing,
    stopped,
)
from sftui.trainers.axolotl.settings import CHAT, DEFAULT_MAPPING
from sftui.trainers.axolotl.templates import FALLBACK, JINJA, TOKENIZER
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, files_at, text_at
from sftui.trainers.known import Known

OVER = {"drop": "drop", "truncate": "cut_right", "raise": "error"}
# The older flags in the order in which Axolotl asks for them.
FLAGS = {
    "xformers_attention": "xformers",
    "sage_attention": "sage",
    "flex_attention": "flex_attention",
    "flash_attention": "flash_attention_2",
    "sdp_attention": "sdpa",
    "eager_attention": "eager",
}
SPECIAL = {"bos_token": "tokenizer.bos_token", "eos_token": "tokenizer.eos_token", "pad_token": "tokenizer.pad_token"}
TOP_OPTIONS = (
    "tokens",
    "added_tokens_overrides",
    "eot_tokens",
    "sample_packing_bin_size",
    "sample_packing_sequentially",
    "multipack_real_batches",
    "curriculum_sampling",
    "shuffle_merged_datasets",
    "dataset_exact_deduplication",
    "val_set_size",
    "eval_sample_packing",
    "seed",
)
NO_EVALUATION = ("val_set_size", "eval_sample_packing", "seed")
"""Options that only say which rows are set aside."""
DATASET_OPTIONS = (
    "type",
    "field",
    "train_on_eos",
    "train_on_eot",
    "drop_system_message",
    "split_thinking",
    "template_thinking_key",
    "field_thinking",
    "field_tools",
)
LOADERS = {
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "csv": "csv",
    "tsv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "txt": "text",
}


def read(path: str, text: str, preset: Recipe, known: Known) -> OpenedConfig:
    """An Axolotl config; RecipeError where it names no dataset or says what Axolotl refuses."""
    config = dict(parse_yaml(text, path, "pyyaml"))
    _supervised(config, path)
    streams = bool(config.get("pretraining_dataset"))
    entries = [pretrain.entry_of(config, path)] if streams else config.get("datasets")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise RecipeError(
            "the config names no dataset to fine-tune on",
            where=path,
            why="Axolotl asks for datasets or pretraining_dataset",
            fix="list one under `datasets`",
        )
    plugins = listed(config.get("plugins"))
    mistral = by_mistral_common(config)
    told = {**mistral, **null_at_work(config)}
    notes = [
        known.stops(str(key), value, error)
        if (error := told.get(key) or stopped(OVERTAKEN.get(str(key), str(key)), value, known))
        else KeyNote(str(key), value, KeyUse.UNSUPPORTED, f"Magistral: {UNSUPPORTED[MISTRAL_COMMON]}")
        if key in mistral
        else note_of(str(key), value, plugins, known)
        for key, value in config.items()
        if key != "datasets" or streams
    ]
    written = {OVERTAKEN.get(str(key), str(key)): value for key, value in config.items()}
    config = padded_for_packing(checked(written, path), written)
    if config.get("max_packed_sequence_len"):
        raise RecipeError(
            "`max_packed_sequence_len` is no longer supported by Axolotl", where=path, fix="set sequence_len"
        )
    base = _top(preset, config, path, _stops(notes))
    if streams:  # nothing is set aside, and no row is left out for its labels
        none_aside = replace(base.own, **dict.fromkeys(NO_EVALUATION))
        base = changed(changed(base, "own", none_aside), "length.drop_unlabelled", False)
    refs: list[DatasetRef] = []
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or not entry.get("path"):
            raise RecipeError(
                f"datasets[{number}] has no `path`", where=path, fix="name its file, folder or Hub dataset"
            )
        if not streams:
            notes += [_note(entry, f"datasets[{number}].{key}", str(key), value, known) for key, value in entry.items()]
        where = f"{path}, datasets[{number}]"
        stops = _stops(notes, f"datasets[{number}].")
        refs += _refs(entry, _dataset(base, config, checked(entry, where), where, stops), where)
    return OpenedConfig(preset.trainer, path, text, tuple(refs), tuple(notes))


def _supervised(config: Mapping[str, Any], path: str) -> None:
    """RecipeError for a config by which Axolotl trains on something else than single answers (utils/data/rl.py)."""
    for key in ("rl", "reward_model", "process_reward_model"):
        if config.get(key):
            said = f"`{key}: {config[key]}`" if key == "rl" else f"`{key}`"
            raise RecipeError(
                f"{said} is not supervised fine-tuning",
                where=path,
                why="Axolotl prepares preferences, rewards and prompts in other ways, which sftui does not show",
                fix="open a config without it",
            )


def _stops(notes: Sequence[KeyNote], before: str = "") -> frozenset[str]:
    """The keys at whose values the trainer is told to stop, of those whose paths begin so."""
    told = (note.path for note in notes if note.use in (KeyUse.STOPS, KeyUse.NEWEST_STOPS))
    return frozenset(path.removeprefix(before) for path in told if path.startswith(before))


def _top(recipe: Recipe, config: Mapping[str, Any], path: str, stops: frozenset[str]) -> Recipe:
    knobs: dict[str, Any] = {}
    for key, knob in (
        ("sequence_len", "length.max"),
        ("min_sample_len", "length.min_tokens"),
        ("micro_batch_size", "batch.size"),
        ("sample_packing_group_size", "pack.group"),
        ("pad_to_multiple_of", "batch.multiple"),
        ("revision_of_model", "tokenizer.revision"),
    ):
        if config.get(key):
            knobs[knob] = config[key]
    name = config.get("tokenizer_config") or config.get("base_model_config") or config.get("base_model")
    if name:
        knobs["tokenizer.name"] = str(name)
    if config.get("tokenizer_type") and config["tokenizer_type"] != "AutoTokenizer":
        recipe = set_knob_to(recipe, "tokenizer.type", config["tokenizer_type"], "tokenizer_type", path)
    knobs["length.over"] = OVER[config.get("excess_length_strategy") or "drop"]
    if config.get("train_on_inputs"):
        knobs["mask.rule"] = "all"
    if config.get("chat_template_kwargs"):
        knobs["render.kwargs"] = dict(config["chat_template_kwargs"])
    options = {key: config[key] for key in TOP_OPTIONS if config.get(key) is not None}
    if not options.get("val_set_size"):  # these decide nothing else that is shown
        for key in NO_EVALUATION:
            options.pop(key, None)
    special = config.get("special_tokens") or {}
    knobs.update({SPECIAL[key]: str(value) for key, value in special.items() if key in SPECIAL and value is not None})
    rest = {key: value for key, value in special.items() if key not in SPECIAL and value is not None}
    if rest:
        options["special_tokens"] = rest
    attention = attention_of(config)
    if attention:
        options["attn_implementation"] = attention
    padded = config.get("pad_to_sequence_len")
    if padded:
        knobs["batch.pad_to"] = "max"
    elif padded is False:
        knobs["batch.multiple"] = None
    if config.get("sample_packing"):
        knobs["pack.strategy"] = "multipack"
        isolated = attention in ("sdpa", "eager") or varlen(attention or "")
        knobs["pack.isolate"] = isolated
        knobs["batch.attention"] = "none" if isolated else "doc_ids"
    for knob, value in knobs.items():
        recipe = changed(recipe, knob, value)
    return _with_own(recipe, options, path, stops)


def _with_own(recipe: Recipe, said: Mapping[str, Any], where: str, stops: frozenset[str]) -> Recipe:
    """The recipe with what the config says of Axolotl's own options, but for a value at which Axolotl stops."""
    for key, value in said.items():
        if key in stops and isinstance(check(knob_at(f"own.{key}", recipe), value), Misfit):
            continue
        recipe = set_knob_to(recipe, f"own.{key}", value, key, where)
    return recipe


def attention_of(config: Mapping[str, Any]) -> str | None:
    """The attention a config asks for, by attn_implementation or by one of the older flags."""
    stated = config.get("attn_implementation")
    if stated:
        return str(stated)
    return next((name for flag, name in FLAGS.items() if config.get(flag)), None)


def _dataset(
    recipe: Recipe, config: Mapping[str, Any], entry: Mapping[str, Any], where: str, stops: frozenset[str]
) -> Recipe:
    options = {key: entry[key] for key in DATASET_OPTIONS if entry.get(key) is not None}
    keys: dict[str, str] = {}
    mapping = {str(key): str(value) for key, value in (entry.get("message_property_mappings") or {}).items()}
    for ours in ("role", "content"):
        legacy = entry.get(f"message_field_{ours}")
        # its validator asks whether the key is there, be it null (utils/schemas/utils.py)
        if f"message_field_{ours}" in entry and ours in mapping and mapping[ours] != legacy:
            raise RecipeError(
                f"message_field_{ours} and message_property_mappings.{ours} say different things",
                where=where,
                fix="keep one of them",
            )
        source = legacy or mapping.pop(ours, ours)
        mapping.pop(ours, None)
        if source != DEFAULT_MAPPING[ours]:
            keys[ours] = str(source)
    if mapping:
        options["message_property_mappings"] = mapping
    for key, ours in (("message_field_training", "train_flag"), ("message_field_training_detail", "train_detail")):
        if entry.get(key):
            keys[ours] = str(entry[key])
    knobs: dict[str, Any] = {"data.message_keys": keys}
    if entry.get("field_messages"):
        knobs["data.fields"] = {"messages": str(entry["field_messages"])}
    if entry.get("roles_to_train") is not None:
        knobs["mask.roles"] = tuple(str(role) for role in entry["roles_to_train"])
    if entry.get("roles"):
        knobs["data.role_map"] = {
            str(source): str(role) for role, sources in entry["roles"].items() for source in sources
        }
    if not entry.get("type"):
        knobs["data.format"] = "tokenized"  # without a type Axolotl takes prepared rows only
    template, inline = choice_of(config, entry)
    if isinstance(inline, str) and template == f"axolotl/{JINJA}":
        options["chat_template_jinja"] = inline
    knobs["render.template"] = template
    for knob, value in knobs.items():
        recipe = changed(recipe, knob, value)
    return _with_own(recipe, options, where, stops)


def choice_of(config: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[str, Any]:
    """render.template for a dataset, and the inline text that goes with it.

    The top-level choice replaces the tokenizer's own template, so a dataset that asks for the
    tokenizer's gets it too. A dataset's chat_template_jinja counts only with `chat_template: jinja`
    beside it: without, its schema says tokenizer_default first (SFTDataset.check_chat_template_config).
    """
    name, jinja = entry.get("chat_template"), entry.get("chat_template_jinja")
    if name is None or name == TOKENIZER or str(name).startswith(FALLBACK):
        more = config.get("chat_template_jinja")
        top = config.get("chat_template") or (JINJA if more else None)
        if top is not None:
            name, jinja = top, more
    if name is None or name == TOKENIZER or entry.get("type", CHAT) != CHAT:
        return "tokenizer", None
    if name == JINJA and isinstance(jinja, str) and "{" not in jinja:
        return f"file:{jinja}", None
    return f"axolotl/{name}", jinja


def _note(entry: Mapping[str, Any], path: str, key: str, value: Any, known: Known) -> KeyNote:
    if key == "chat_template_jinja" and value and entry.get("chat_template") != JINJA:
        why = "Axolotl passes over it: a dataset needs `chat_template: jinja` beside it"
        return KeyNote(path, value, KeyUse.PASSED, why)
    error = stopped(key, value, known, dataset=True)
    if error is None and key == "type" and isinstance(value, str) and not modelled(value):
        return KeyNote(path, value, KeyUse.UNSUPPORTED, "sftui does not model this type")
    return known.stops(path, value, error) if error else note_in_dataset(path, key, value, known)


def _refs(entry: Mapping[str, Any], recipe: Recipe, where: str) -> list[DatasetRef]:
    """The sources of one entry: a list of names, as the Hub has subsets, gives one each."""
    path, files = str(entry["path"]), entry.get("data_files")
    paths: tuple[str, ...] = (path,)
    local = os.path.exists(path) or bool(Path(path.split("::")[0]).suffix)
    if files:
        listed = files_at(entry, "data_files", where)
        root = Path() if path in LOADERS.values() or os.path.isdir(path) else Path(path)
        paths, local = tuple(str(root / one) for one in listed), True
    split = text_at(entry, "split", where) or (None if local else "train")
    one = DatasetRef(
        path if not files else ", ".join(paths), paths, recipe, split, revision=text_at(entry, "revision", where)
    )
    names = entry.get("name")
    if isinstance(names, list):
        return [replace(one, subset=str(name), name=f"{one.name} ({name})") for name in names]
    return [replace(one, subset=str(names))] if names else [one]
