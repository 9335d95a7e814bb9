"""TRL's own YAML config: read into recipes, and written back with the changed keys only.

Source: trl 1.16.0, trl/scripts/utils.py (TrlParser, ScriptArguments, DatasetMixtureConfig,
get_dataset), trl/trainer/sft_config.py. `trl sft --config x.yaml` reads a flat YAML; paths are
relative to the working folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed, diff
from sftui.recipe_io import parse_yaml
from sftui.trainers.config import (
    DatasetRef,
    KeyNote,
    KeyUse,
    OpenedConfig,
    WrittenConfig,
    WrittenFile,
    files_at,
    no_key,
    text_at,
    with_arguments,
)
from sftui.trainers.known import Known
from sftui.trainers.trl.values import given
from sftui.trainers.yaml_edit import REMOVE, edit

PLAIN = {
    "max_length": "length.max",
    "padding_free": "batch.flatten",
    "pad_to_multiple_of": "batch.multiple",
    "eos_token": "tokenizer.eos_token",
    "pad_token": "tokenizer.pad_token",
    "per_device_train_batch_size": "batch.size",
    "model_name_or_path": "tokenizer.name",
    "model_revision": "tokenizer.revision",
}
OWN_COLUMNS = {"template_kwargs": "chat_template_kwargs"}
"""Columns that TRL calls otherwise than sftui."""
UNREAD = ("alpaca", "columns", "segments")
ENTRY_UNSUPPORTED = {
    "fraction": "TRL keeps the first rows of each dataset by it; all are shown",
    "columns": "TRL reads these columns alone; all are shown",
}
"""Keys of a mixture's entry that decide rows or columns."""
RENAMED = {"bfd-requeue": "bfd_split"}
READ_TOGETHER = {
    "completion_only_loss",
    "assistant_only_loss",
    "truncation_mode",
    "packing",
    "packing_strategy",
    "dataset_text_field",
    "chat_template_path",
    "dataset_name",
    "dataset_config",
    "dataset_train_split",
    "dataset_kwargs",
    "datasets",
    "shuffle_dataset",
    "eval_packing",
    "dataset_streaming",
    "streaming",
    "test_split_size",
    "trust_remote_code",
}


def read(path: str, text: str, preset: Recipe, known: Known) -> OpenedConfig:
    """A flat TRL YAML as recipes; RecipeError where TRL itself would stop."""
    config = given(dict(parse_yaml(text, path, "pyyaml")), known, path)
    notes: list[KeyNote] = []
    recipe = with_arguments(preset)
    for key, value in config.items():
        if key in PLAIN:
            recipe = changed(recipe, PLAIN[key], AS_TRL[key](value) if key in AS_TRL else value)
            notes.append(KeyNote(key, value, KeyUse.USED))
        elif key in READ_TOGETHER:
            notes.append(_note(key, value))
            notes += _entry_notes(value, known) if key == "datasets" else ()
        elif key in known.config:
            notes.append(KeyNote(key, value, KeyUse.PASSED))
        else:
            notes.append(known.unknown(str(key), value, "hands it to `accelerate launch`, which stops at it"))
    recipe = _mask(recipe, config)
    if config.get("truncation_mode", "keep_start") == "keep_end":
        recipe = changed(recipe, "length.over", "cut_left")
    if config.get("packing"):
        named = config.get("packing_strategy", "bfd")
        strategy = RENAMED.get(named, named) if isinstance(named, str) else named
        recipe = changed(recipe, "pack.strategy", strategy)
        recipe = changed(recipe, "pack.isolate", strategy != "wrapped")
        recipe = changed(recipe, "batch.flatten", strategy != "wrapped" or bool(config.get("padding_free")))
    template = config.get("chat_template_path")
    if isinstance(template, str):
        if template.endswith((".jinja", ".j2")):
            recipe = changed(recipe, "render.template", f"file:{template}")
        else:
            notes = [
                (
                    replace(n, use=KeyUse.UNSUPPORTED, note="cloning the template of another tokenizer")
                    if n.path == "chat_template_path"
                    else n
                )
                for n in notes
            ]
    return OpenedConfig(preset.trainer, path, text, _datasets(config, recipe, path), tuple(notes))


def _multiple(value: Any) -> Any:
    """SFTConfig.__post_init__: `auto` is None but on Neuron, another text is a number or None."""
    if not isinstance(value, str):
        return value
    if value.lower() in ("auto", "none", "null"):
        return None
    try:
        return int(value)
    except ValueError:
        return value


AS_TRL: Mapping[str, Callable[[Any], Any]] = {"pad_to_multiple_of": _multiple, "padding_free": bool}
"""What becomes of a value that is no text: argparse takes it unconverted, and TRL asks whether it is true."""


def _entry_notes(entries: Any, known: Known) -> list[KeyNote]:
    """The keys of a mixture's entries (trl 1.16.0, scripts/utils.py DatasetConfig and get_dataset)."""
    found = []
    for number, entry in enumerate(entries if isinstance(entries, list) else []):
        for key, value in entry.items() if isinstance(entry, Mapping) else ():
            path = f"datasets[{number}].{key}"
            if key in ENTRY_UNSUPPORTED and value is not None:
                found.append(KeyNote(path, value, KeyUse.UNSUPPORTED, ENTRY_UNSUPPORTED[key]))
            elif key in known.dataset:
                found.append(KeyNote(path, value, KeyUse.USED))
            else:
                found.append(known.unknown(path, value, "stops at it"))
    return found


def _note(key: str, value: Any) -> KeyNote:
    if key == "dataset_kwargs" and value:
        return KeyNote(key, value, KeyUse.UNSUPPORTED, "skip_prepare_dataset leaves the data to your own code")
    if key == "shuffle_dataset" and value:
        return KeyNote(key, value, KeyUse.UNSUPPORTED, "rows are shown in file order")
    if key == "test_split_size" and value:
        return KeyNote(key, value, KeyUse.UNSUPPORTED, "rows for evaluation are drawn without a seed; all are shown")
    if key in (
        "eval_packing",
        "test_split_size",
        "dataset_streaming",
        "streaming",
        "trust_remote_code",
        "shuffle_dataset",
    ):
        return KeyNote(key, value, KeyUse.PASSED)
    return KeyNote(key, value, KeyUse.USED)


def _mask(recipe: Recipe, config: Mapping[str, Any]) -> Recipe:
    completion = config.get("completion_only_loss")
    if config.get("assistant_only_loss"):
        recipe = changed(recipe, "mask.rule", "generation_tag")
        if completion is not None:
            recipe = changed(recipe, "own.completion_only_loss", bool(completion))
    elif completion is not None:
        recipe = changed(recipe, "mask.rule", "completion" if completion else "all")
    if config.get("dataset_text_field", "text") != "text":
        recipe = changed(recipe, "own.dataset_text_field", config["dataset_text_field"])
    return recipe


def _datasets(config: Mapping[str, Any], recipe: Recipe, path: str) -> tuple[DatasetRef, ...]:
    split = str(config.get("dataset_train_split", "train"))
    mixture = config.get("datasets")
    if mixture:
        if not isinstance(mixture, list) or not all(isinstance(item, Mapping) and item.get("path") for item in mixture):
            raise RecipeError("`datasets` must be a list of entries with a `path`", where=path)
        return tuple(_mixture_entry(item, recipe, path) for item in mixture)
    name = config.get("dataset_name")
    if not name:
        raise RecipeError("the config names no dataset", where=path, fix="set dataset_name or datasets")
    subset = text_at(config, "dataset_config", path)
    return (
        DatasetRef(
            str(name), (str(name),), recipe, None if os.path.exists(str(name)) and split == "train" else split, subset
        ),
    )


def _mixture_entry(item: Mapping[str, Any], recipe: Recipe, path: str) -> DatasetRef:
    files = item.get("data_files")
    name = str(item["path"])
    paths: tuple[str, ...] = (name,)
    if files:
        listed = files_at(item, "data_files", path)
        root = (
            Path(str(item.get("data_dir") or "")) if name in ("json", "csv", "parquet", "text", "arrow") else Path(name)
        )
        paths = tuple(str(root / one) for one in listed)
    split = str(item.get("split") or "train")
    return DatasetRef(
        name if not files else ", ".join(paths),
        paths,
        recipe,
        None if files and split == "train" else split,
        text_at(item, "name", path),
    )


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Mapping[str, Any]) -> WrittenConfig:
    """The config TRL needs to do what the recipe says, beside the template file it may need."""
    wanted, losses = keys_of(recipe, preset)
    files: list[WrittenFile] = []
    if facts.get("template_source") and recipe.render.template not in ("tokenizer",):
        files.append(WrittenFile("chat_template.jinja", str(facts["template_source"])))
        wanted["chat_template_path"] = "chat_template.jinja"
    if opened is not None:
        before, _ = keys_of(opened.recipe, preset)
        changes: dict[tuple[str | int, ...], Any] = {
            (key,): wanted.get(key, REMOVE) for key in {**before, **wanted} if before.get(key) != wanted.get(key)
        }
        text = edit(opened.text, changes, opened.path)
        name = Path(opened.path).name
    else:
        base: dict[tuple[str | int, ...], Any] = {("model_name_or_path",): facts.get("tokenizer") or "MODEL"}
        data = str(facts.get("data") or "")
        if data and Path(data).suffix:
            kind = Path(data.removesuffix(".gz").removesuffix(".zst")).suffix.lstrip(".")
            loader = {"jsonl": "json", "ndjson": "json", "tsv": "csv"}.get(kind, kind)
            base[("datasets",)] = [{"path": loader, "data_files": data, "split": facts.get("split") or "train"}]
        else:
            base[("dataset_name",)] = data or "DATASET"
            if facts.get("split") not in (None, "train"):
                base[("dataset_train_split",)] = facts["split"]
        text = str((facts.get("fields") or {}).get("text") or "text")
        if facts.get("format") == "text" and text != "text":
            wanted.setdefault("dataset_text_field", text)
        base[("output_dir",)] = "out"
        text = edit("", {**base, **{(key,): value for key, value in wanted.items() if key != "model_name_or_path"}})
        name = "trl_sft.yaml"
    files.insert(0, WrittenFile(name, text))
    return WrittenConfig(tuple(files), (*losses, *_refused(recipe, facts)))


def _refused(recipe: Recipe, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What TRL stops at: assistant_only_loss with a chat template in which it cannot find the answers."""
    source = facts.get("chat_template")
    if recipe.mask.rule != "generation_tag" or not source:
        return ()
    from sftui.trainers.trl.training_templates import finds_answers

    if finds_answers(str(source)):
        return ()
    return (
        (
            "TRL would stop: assistant_only_loss needs {% generation %} tags, which the chat template does not have and"
            " TRL cannot put into it; sftui template --add-generation-tags puts them in"
        ),
    )


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[dict[str, Any], list[str]]:
    """The TRL keys that differ from its defaults, and the knobs that TRL has no key for."""
    keys: dict[str, Any] = {}
    losses: list[str] = []
    back = {path: key for key, path in PLAIN.items()}
    for change in diff(with_arguments(preset), recipe):
        path, value = change.path, change.after
        if path == "data.fields":
            keys.update({"dataset_text_field": value["text"]} if value.get("text", "text") != "text" else {})
            losses.extend(
                f"data.fields {ours} = {theirs!r} has no key in TRL's config: rename the column to"
                f" `{OWN_COLUMNS.get(ours, ours)}`"
                for ours, theirs in value.items()
                if ours != "text" and theirs not in (OWN_COLUMNS.get(ours, ours), "conversations")
            )
            continue
        if path == "data.format" and value in UNREAD:
            losses.append(
                f"data.format = {value!r} has no key in TRL's config: TRL reads messages, prompt and completion, text,"
                " or ids"
            )
            continue
        own = sft_config_keys(path, value, recipe, back)
        if own is not None:
            keys.update(own)
        elif path.startswith("own."):
            keys[path.removeprefix("own.")] = value
        elif path == "render.template":
            if value.startswith("file:"):
                keys["chat_template_path"] = value[5:]
        else:
            losses.append(no_key(path, value, "TRL"))
    return keys, losses


def sft_config_keys(path: str, value: Any, recipe: Recipe, back: Mapping[str, str]) -> dict[str, Any] | None:
    """What SFTConfig says for a knob that was changed to `value`: {} where it needs no key, None where it has none.

    `back`: the keys of the knobs that are one key each, by the knob's path.
    """
    if path in ("preset", "data.format", "data.fields", "pack.group", "tokenizer.transformers"):
        return {}
    if path in ("batch.flatten", "pack.isolate") and recipe.pack.strategy not in ("none", "wrapped"):
        return {}
    if path in back:
        return {back[path]: value}
    if path == "length.over" and value == "cut_left":
        return {"truncation_mode": "keep_end"}
    if path == "pack.strategy" and value in ("bfd", "bfd_split", "wrapped"):
        return {"packing": True} if value == "bfd" else {"packing": True, "packing_strategy": value}
    if path == "mask.rule" and value in ("all", "completion"):
        return {"completion_only_loss": value == "completion"}
    if path == "mask.rule" and value == "generation_tag":
        return {"assistant_only_loss": True}
    return None
