"""The v1 engine's flat YAML and its dataset file, read into recipes and written back.

Source: llamafactory 0.9.6.dev0 (ff6d4d1), v1/config/*.py, v1/core/data_engine.py, v1/plugins/data_plugins/loader.py.
A dataclass takes a YAML's values as they are.
`train_dataset` is a file or folder of rows, a dataset of the Hub, or a YAML that lists such ones; all paths are
relative to the working folder. Where the user opened a config, the YAML is theirs with the changed keys only, and what
describes the dataset is written only if what it says of the data changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.model import Problem
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.side_files import read_side_bytes, reason
from sftui.trainers import table
from sftui.trainers.config import DatasetRef, Facts, KeyNote, KeyUse, OpenedConfig, WrittenFile, refuse, text_at
from sftui.trainers.llamafactory_v1 import LlamaFactoryV1Options
from sftui.trainers.llamafactory_v1.formats import CONVERTERS, TITLE
from sftui.trainers.table import Draft, Form, KeyRules, KnownKeys, Remark, inlined, unmodelled
from sftui.trainers.yaml_edit import REMOVE, edit

CUSTOM = "llamafactory-v1/custom"
"""The one template of its own: what `custom_chat_template` holds."""
STRATEGIES = {
    (False, False): "normal",
    (True, False): "padding_free",
    (False, True): "dynamic_batching",
    (True, True): "dynamic_padding_free",
}
"""batch.flatten and own.dynamic → batching_strategy."""


_typed = partial(
    table.typed, null="refused", why="LLaMA-Factory does not convert YAML values, and stops where the type is wrong"
)


def _strategy(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    name = config.get("batching_strategy", "normal")
    flatten, dynamic = next(key for key, value in STRATEGIES.items() if value == name)
    return {"batch.flatten": flatten, "own.dynamic": dynamic}


def _written_strategy(recipe: Recipe, path: str, value: Any) -> table.Keys:
    flatten, dynamic = recipe.batch.flatten, LlamaFactoryV1Options.of(recipe).dynamic
    return {("batching_strategy",): STRATEGIES[flatten, dynamic]}


def _in_entry(recipe: Recipe, path: str, value: Any) -> table.Noted:
    """What the dataset's entry says of the data, and what it cannot say."""
    if path == "data.format" and value not in ("auto", "messages", *CONVERTERS):
        return {}, (f"{TITLE} has no converter for `{value}` rows",)
    if path != "data.format":
        return {}, (f"{path} has no key: its converters read columns, keys and roles with fixed names",)
    return {}, ()


TABLE = (
    _typed("cutoff_len", "length.max", int, write=table.limit("cutoff_len", TITLE)),
    _typed("model", "tokenizer.name", str),
    _typed("micro_batch_size", "batch.size", int),
    table.rule("batching_strategy", "batch.flatten own.dynamic", _strategy, _written_strategy),
    table.inline_template(table.same("custom_chat_template", "own.custom_chat_template", says=bool), CUSTOM),
    table.rule("", "data.format data.fields data.message_keys data.role_map", table.nothing, _in_entry),
    table.silent("tokenizer.transformers"),
)
KEYS = table.keys_read(TABLE)


UNSUPPORTED = {
    "trust_remote_code": "sftui runs no code from a tokenizer's folder",
    "model_class": "`cls` and `other` are for models other than language models",
}
"""Keys about data that sftui does not model, and why, where they are set to something."""
RULES = KeyRules(
    KEYS | {"train_dataset"},
    (
        *unmodelled(UNSUPPORTED, None, False, "llm"),
        Remark("eval_dataset", "", lambda value: value is not None, KeyUse.PASSED),
    ),
    unread="stops at it",
    stops=True,
)
ATTENTION = ("eager", "sdpa", "flash_attention_2")
TYPES = ("arrow", "csv", "json", "jsonl", "parquet", "txt")
"""The endings of the files that it loads."""
ENTRY_KEYS = frozenset({"path", "source", "split", "converter", "size", "weight", "streaming"})
DRAWN = "samples are drawn at random, some of them several times: sftui shows each once"


def read(path: str, text: str, preset: Recipe, known: KnownKeys) -> OpenedConfig:
    """The config as one recipe a dataset; RecipeError where the engine itself would stop."""
    config = dict(parse_yaml(text, path, "omegaconf"))
    refuse(_problems(config, known), path)
    notes = [RULES.note(str(key), value, known, known.config) for key, value in config.items()]
    recipe = table.read_into(preset, TABLE, config, path)
    wanted = config.get("train_dataset")
    if not isinstance(wanted, str) or not wanted:
        why = f"{TITLE} needs one for training"
        fix = "set train_dataset to a file of rows, or to a YAML that lists datasets"
        raise RecipeError("the config has no train_dataset", where=path, why=why, fix=fix)
    entries = entries_of(wanted, path)
    references = [_reference(name, entry, recipe, f"{wanted}: `{name}`") for name, entry in entries.items()]
    if wanted.endswith(".yaml"):
        notes += [_entry_note(name, str(key), value) for name, entry in entries.items() for key, value in entry.items()]
    return OpenedConfig(preset.trainer, path, text, tuple(references), tuple(notes), config=config)


def entries_of(wanted: str, where: str) -> Mapping[str, Mapping[str, Any]]:
    """The datasets that a `train_dataset` stands for, by their names; RecipeError where its file cannot be read."""
    if not wanted.endswith(".yaml"):
        return {"default": {"path": wanted, **({"source": "local"} if os.path.exists(wanted) else {})}}
    try:
        text = read_side_bytes(wanted).decode("utf-8")
    except OSError as error:
        why = f"{reason(error)}; train_dataset is relative to the working folder {Path.cwd()}"
        fix = "start sftui where you start llamafactory-cli, or give an absolute path"
        raise RecipeError(f"cannot open {wanted}", where=where, why=why, fix=fix) from error
    except UnicodeDecodeError as error:
        raise RecipeError(f"{wanted} is not UTF-8 text", where=where, fix="fix the file") from error
    listed = parse_yaml(text, wanted, "omegaconf")
    for name, entry in listed.items():
        if not isinstance(entry, Mapping):
            raise RecipeError(f"`{name}` is not a mapping with a path", where=wanted, fix="give it a path")
    if not listed:
        raise RecipeError(f"{wanted} lists no datasets", where=where, fix="add one, with its path")
    if any(entry.get("streaming", False) for entry in listed.values()):
        why, fix = f"{TITLE} stops at `streaming: true`", "remove streaming"
        raise RecipeError("Iterable dataset is not supported yet.", where=wanted, why=why, fix=fix)
    return {str(name): entry for name, entry in listed.items()}


def _problems(config: table.Config, known: KnownKeys) -> Iterator[Problem]:
    """What the engine refuses, and configs that are for something else."""
    if config and known.config and known.config.isdisjoint(map(str, config)):
        yield Problem(f"none of its keys belongs to {TITLE}", fix="open a training config for the v1 engine")
    if "model_name_or_path" in config and "train_dataset" not in config:
        yield Problem("this is a config for LLaMA-Factory's main engine (0.9)", fix="open it without --trainer")
    peft = config.get("peft_config")
    if isinstance(peft, Mapping) and peft.get("export_dir") and "train_dataset" not in config:
        yield Problem("the config trains on nothing: it merges a model (export_dir)")
    strategy, known_strategies = config.get("batching_strategy", "normal"), STRATEGIES.values()
    if strategy not in known_strategies:
        what = f"Plugin {strategy!r} is not registered under BatchingPlugin."
        yield Problem(what, fix=f"set batching_strategy to {', '.join(known_strategies)}")
    steps = config.get("max_steps")
    if strategy == "dynamic_batching" and (not isinstance(steps, int) or steps <= 0):
        yield Problem("`dynamic_batching` requires `max_steps` because it is step-driven.", fix="set max_steps")
    if strategy == "dynamic_batching" and config.get("save_epochs") is not None:
        yield Problem("`save_epochs` is not supported with `dynamic_batching`; use `save_steps` instead.")
    attention = config.get("flash_attn", "sdpa")
    if attention not in ATTENTION:
        yield Problem(f"Unsupported `flash_attn`: {attention}", fix=f"set {', '.join(ATTENTION)}")
    if strategy == "padding_free" and attention != "flash_attention_2":
        yield Problem("`padding_free` requires `flash_attn: flash_attention_2`.", fix="also set flash_attn")
    size, whole = config.get("micro_batch_size", 1), config.get("global_batch_size")
    if isinstance(size, int) and isinstance(whole, int) and size > 0 and whole % size:
        yield Problem(
            "Global batch size must be divisible by DP size and micro batch size.",
            f"{whole} is not a multiple of {size}",
            "set global_batch_size to a multiple of micro_batch_size",
        )


def _reference(name: str, entry: Mapping[str, Any], recipe: Recipe, where: str) -> DatasetRef:
    path = text_at(entry, "path", where) or ""
    refuse(_entry_problems(entry, path), where)
    converter, split = entry.get("converter"), str(entry.get("split") or "train")
    recipe = changed(recipe, "data.format", "messages" if converter is None else CONVERTERS[converter])
    local = entry.get("source", "hf_hub") == "local"
    return DatasetRef(name, (path,), recipe, None if local and split == "train" else split)


def _entry_problems(entry: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Why the engine does not read an entry."""
    if not path:
        yield Problem("the entry names no path", fix="set path")
    converter, source = entry.get("converter"), entry.get("source", "hf_hub")
    if converter == "pair":
        why = "they are for `llamafactory-cli dpo`; sftui supports only supervised fine-tuning"
        yield Problem("the dataset contains preference pairs (converter pair)", why, "open another dataset")
    if converter is not None and (not isinstance(converter, str) or converter not in CONVERTERS):
        fix = f"set converter to {', '.join(CONVERTERS)}, or leave it out"
        yield Problem(f"Plugin {converter!r} is not registered under DataConverterPlugin.", fix=fix)
    if source not in ("hf_hub", "local"):
        fix = "set source to local or hf_hub"
        yield Problem(f"Plugin {source!r} is not registered under DataLoaderPlugin.", fix=fix)
    kind = Path(path).suffix[1:]
    if source == "local" and os.path.isfile(path) and kind not in TYPES:
        yield Problem(f"Unknown dataset filetype: {kind}.", fix=f"give a file of {', '.join(TYPES)}")


def _entry_note(name: str, key: str, value: Any) -> KeyNote:
    path = f"train_dataset.{name}.{key}"
    if key in ("size", "weight") and value:
        return KeyNote(path, value, KeyUse.UNSUPPORTED, DRAWN)
    return KeyNote(path, value, KeyUse.USED if key in ENTRY_KEYS else KeyUse.PASSED)


INFO = "dataset_info.yaml"
STEPS = 1000
"""Steps to train, where the strategy asks for a number and nobody said one."""


def _rows(draft: Draft) -> table.Keys:
    recipe, facts = draft.recipe, draft.facts
    data = facts.data or "DATA"
    name = Path(data.rstrip("/")).name.split(".")[0] or "data"
    entry = {"path": str(Path(data).absolute()), "source": "local"} if facts.local else {"path": data}
    if facts.other_split is not None:
        entry["split"] = facts.other_split
    converter = _converter(recipe, facts.format)
    if converter is not None:
        entry["converter"] = converter
    draft.files.append(WrittenFile(INFO, edit("", {(name,): entry})))
    if not facts.folder:
        draft.notes.append(f"run USE_V1=1 llamafactory-cli sft {FORM.name} in this folder: {INFO} is here")
    listed = str(Path(facts.folder) / INFO) if facts.folder else INFO
    return {("model_class",): "llm", ("train_dataset",): listed, **_needed(recipe)}


def _changes(draft: Draft, opened: OpenedConfig, changes: table.Keys) -> table.Keys:
    """With what the strategy needs, and the dataset's converter in its own file."""
    recipe, said, facts, moved = draft.recipe, opened.config, draft.facts, opened.moved_to(draft.facts)
    other = _converter(recipe, facts.format) != _converter(opened.recipe)
    if other or moved:
        draft.files += _changed_info(recipe, opened, facts)
        if draft.files and facts.folder:
            changes = {**changes, ("train_dataset",): str(Path(facts.folder) / draft.files[-1].name)}
        elif moved and not draft.files:
            changes = {**changes, ("train_dataset",): moved}
        if not draft.files and other:
            draft.notes.append(
                "train_dataset names the rows; to read them this way, name a YAML with `converter` there"
            )
    needed = {place: value for place, value in _needed(recipe).items() if not _has(said, place[0], value)}
    return {**changes, **needed}


def _more(draft: Draft) -> None:
    inlined(("custom_chat_template",), CUSTOM)(draft)
    if ("max_steps",) in _needed(draft.recipe):
        draft.notes.append(f"batching_strategy dynamic_batching requires max_steps: it is {STEPS} until you set it")


FORM = Form(TITLE, "llamafactory_v1_sft.yaml", TABLE, _rows, more=_more, changes=_changes)
write, keys_of = FORM.write, FORM.keys_of


def _needed(recipe: Recipe) -> table.Keys:
    """What a batching_strategy asks for beside itself."""
    if recipe.batch.flatten:
        return {("flash_attn",): "flash_attention_2"}
    return {("max_steps",): STEPS} if LlamaFactoryV1Options.of(recipe).dynamic else {}


def _has(said: Mapping[str, Any], key: str | int, value: Any) -> bool:
    """Whether a config has what is needed; of steps any number will do."""
    held = said.get(str(key))
    return isinstance(held, int) and held > 0 if isinstance(value, int) else bool(held == value)


def _converter(recipe: Recipe, found: str | None = None) -> str | None:
    """The converter that reads rows as the recipe does; where it leaves that open, as they are found."""
    kind = recipe.data.format if recipe.data.format != "auto" else found or "messages"
    return next((name for name, ours in CONVERTERS.items() if ours == kind), None)


def _changed_info(recipe: Recipe, opened: OpenedConfig, facts: Facts) -> list[WrittenFile]:
    """The user's dataset file with the entry of the open dataset changed."""
    wanted = opened.config.get("train_dataset")
    if not isinstance(wanted, str) or not wanted.endswith(".yaml"):
        return []
    name, moved = opened.datasets[opened.chosen].name, opened.moved_to(facts)
    entries = entries_of(wanted, opened.path)
    held = Path(wanted).read_text(encoding="utf-8") if entries else ""
    converter = _converter(recipe, facts.format)
    change: table.Keys = {(name, "converter"): converter if converter is not None else REMOVE}
    if moved:
        gone: table.Keys = {(name, "split"): REMOVE} if "split" in entries.get(name, ()) else {}
        change = {**change, (name, "path"): moved, (name, "source"): "local", **gone}
    return [WrittenFile(Path(wanted).name, edit(held, change, wanted))]
