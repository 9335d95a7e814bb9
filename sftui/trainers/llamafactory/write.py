"""The recipe as LLaMA-Factory's YAML and dataset_info.json entry.

Where the user opened a config, the YAML is theirs with the changed keys only, and the entry is
written only if what it says of the data changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.recipe import Data, Recipe, diff
from sftui.recipe_io import parse_yaml
from sftui.trainers.config import OpenedConfig, WrittenConfig, WrittenFile, no_key, with_arguments
from sftui.trainers.llamafactory import formats, keys
from sftui.trainers.llamafactory.config import COLUMNS, FORMATTING, INFO, MESSAGE_TAGS, TAGS, read_info
from sftui.trainers.llamafactory.own import LlamaFactoryOptions
from sftui.trainers.llamafactory.pretrain import is_pretraining
from sftui.trainers.yaml_edit import REMOVE, edit

OWN = "llamafactory/"
ENTRY = ("data.format", "data.fields", "data.message_keys", "data.role_map")
"""Knobs that stand in dataset_info.json."""

NO_LIMIT = 1_000_000
"""cutoff_len must be a number."""


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Mapping[str, Any]) -> WrittenConfig:
    """The files that make LLaMA-Factory do what the recipe says, and what it has no key for."""
    wanted, losses = keys_of(recipe, preset)
    if opened is not None:
        before, _ = keys_of(opened.recipe, preset)
        changes: dict[tuple[str | int, ...], Any] = {
            (key,): wanted.get(key, REMOVE) for key in {**before, **wanted} if before.get(key) != wanted.get(key)
        }
        if recipe.pack.strategy != opened.recipe.pack.strategy:
            changes.update(_packing_said(recipe, opened))
        files = [WrittenFile(Path(opened.path).name, edit(opened.text, changes, opened.path))]
        own, before_own = LlamaFactoryOptions.of(recipe), LlamaFactoryOptions.of(opened.recipe)
        if (recipe.data, own.formatting) != (opened.recipe.data, before_own.formatting):
            files.append(_changed_info(recipe, opened))
        return WrittenConfig(tuple(files), tuple(losses))
    data = str(facts.get("data") or "DATA")
    name = Path(data.rstrip("/")).name.split(".")[0] or "data"
    local = bool(Path(data).suffix) or data.startswith((".", "/"))
    where = {"file_name": str(Path(data).absolute())} if local else {"hf_hub_url": data}
    base = {
        "model_name_or_path": facts.get("tokenizer") or "MODEL",
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "lora",
        "dataset": name,
        "dataset_dir": facts.get("folder") or ".",
        **wanted,
        "output_dir": "out",
    }
    lines: dict[tuple[str | int, ...], Any] = {(key,): value for key, value in base.items()}
    text = edit("", lines)
    if facts.get("split") not in (None, "train"):
        where["split"] = str(facts["split"])
    entry = json.dumps({name: {**where, **entry_of(recipe, facts)}}, ensure_ascii=False, indent=2)
    notes = []
    if not facts.get("folder"):
        notes.append(
            f"run llamafactory-cli train llamafactory_sft.yaml in this folder: dataset_dir is relative to it ({INFO}"
            " stands here)"
        )
    if recipe.render.template == "tokenizer":
        notes.append("template is not set: LLaMA-Factory parses the tokenizer's own chat template")
    return WrittenConfig(
        (WrittenFile("llamafactory_sft.yaml", text), WrittenFile(INFO, entry + "\n")), tuple(losses), tuple(notes)
    )


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[dict[str, Any], list[str]]:
    """The YAML keys that differ from LLaMA-Factory's defaults, and the knobs that it has no key for."""
    found: dict[str, Any] = {}
    losses: list[str] = []
    back = {path: key for key, path in keys.PLAIN.items()}
    for change in diff(with_arguments(preset), recipe):
        path, value = change.path, change.after
        if path == "length.max" and value is None:
            found["cutoff_len"] = NO_LIMIT
            losses.append(f"LLaMA-Factory always has a limit: cutoff_len {NO_LIMIT} stands for none")
        elif path in back:
            found[back[path]] = value
        elif path == "mask.rule" and value == "all":
            found["train_on_prompt"] = True
        elif path == "mask.turns" and value == "last":
            found["mask_history"] = True
        elif path == "pack.strategy" and value in ("knapsack", "neat"):
            found["packing" if value == "knapsack" else "neat_packing"] = True
        elif path == "render.template" and value.startswith(OWN):
            found["template"] = value.removeprefix(OWN)
        elif path == "render.kwargs":
            found.update({key: value[key] for key in keys.KWARGS if key in value})
            losses += [
                f"render.kwargs {key} has no key in LLaMA-Factory's config" for key in value if key not in keys.KWARGS
            ]
        elif path.startswith("own."):
            if path not in ("own.add_bos_token", "own.formatting"):  # what files say that stand beside the YAML
                found[path.removeprefix("own.")] = value
        elif is_pretraining(recipe) and (path, value) in (("pack.strategy", "wrapped"), ("batch.multiple", None)):
            continue
        elif path in ENTRY:
            losses += _data_losses(recipe, path)
        elif path == "render.template":
            losses.append(
                f"LLaMA-Factory reads no {value}: give the tokenizer's folder that chat template and leave"
                " `template` out"
            )
        elif path not in ("preset", "tokenizer.transformers") and not (
            path == "pack.isolate" and value == (recipe.pack.strategy == "neat")
        ):
            losses.append(no_key(path, value, "LLaMA-Factory"))
    if is_pretraining(recipe) and recipe.pack.strategy == "none":
        found["packing"] = False
    return found, losses


def entry_of(recipe: Recipe, found: Mapping[str, Any]) -> dict[str, Any]:
    """What dataset_info.json says of the data.

    Where the recipe leaves the format open, `found` says how the rows are read: `format`, and
    where known `fields`, `message_keys` and `role_map` (see `conversations.Detected`).
    """
    data = recipe.data
    kind, fields, names, roles = data.format, data.fields, data.message_keys, data.role_map
    openai = LlamaFactoryOptions.of(recipe).formatting == "openai"
    if kind == "auto":
        kind = str(found.get("format") or "alpaca")
        fields, names, roles = (
            found.get(key) or held for key, held in (("fields", fields), ("message_keys", names), ("role_map", roles))
        )
    roles = {theirs: "observation" if ours == "tool" else ours for theirs, ours in roles.items()}
    if (
        roles == Data().role_map or formats.ROLES.keys() <= roles.keys()
    ):  # nobody chose names: they are those of the format
        roles = dict(formats.ROLES)
    if kind == "messages" and not openai:  # role and content: sharegpt with tags to LLaMA-Factory
        kind, names = "sharegpt", names or formats.CHAT_KEYS
        fields, roles = (
            fields or {"messages": "messages"},
            dict(formats.CHAT_ROLES) if roles == formats.ROLES else roles,
        )
    elif kind in ("prompt_completion", "columns"):
        kind, fields = (
            "alpaca",
            {"instruction": fields.get("prompt", "prompt"), "output": fields.get("completion", "completion")},
        )
    formatting = next((name for name, ours in FORMATTING.items() if ours == kind), "alpaca")
    entry: dict[str, Any] = {} if formatting == "alpaca" else {"formatting": formatting}
    default = formats.ALPACA_FIELDS if formatting == "alpaca" else formats.MESSAGE_FIELDS
    if fields and dict(fields) != default:
        entry["columns"] = {theirs: fields[ours] for theirs, ours in COLUMNS.items() if ours in fields}
    if formatting != "alpaca" and (dict(names or formats.MESSAGE_KEYS), roles) != (formats.MESSAGE_KEYS, formats.ROLES):
        named = names or formats.MESSAGE_KEYS
        tags = {theirs: named[ours] for theirs, ours in MESSAGE_TAGS.items() if ours in named}
        back = {ours: theirs for theirs, ours in reversed(list(roles.items()))}
        entry["tags"] = {**tags, **{theirs: back[ours] for theirs, ours in TAGS.items() if ours in back}}
    return entry


def _packing_said(recipe: Recipe, opened: OpenedConfig) -> dict[tuple[str | int, ...], Any]:
    """`packing` and `neat_packing` set where the user's text has them: either one alone turns packing on."""
    said = parse_yaml(opened.text, opened.path, "omegaconf")
    strategy = recipe.pack.strategy
    wanted = {"packing": strategy in ("knapsack", "neat", "wrapped"), "neat_packing": strategy == "neat"}
    return {(key,): on for key, on in wanted.items() if key in said}


def _changed_info(recipe: Recipe, opened: OpenedConfig) -> WrittenFile:
    """The user's dataset_info.json with the first dataset's entry changed."""
    config = parse_yaml(opened.text, opened.path, "omegaconf")
    info = dict(read_info(config.get("dataset_dir", "data"), opened.path))
    name = opened.datasets[opened.chosen].name
    kept = {key: value for key, value in info[name].items() if key not in ("formatting", "columns", "tags")}
    media = {key: value for key, value in (info[name].get("columns") or {}).items() if key not in COLUMNS}
    entry = entry_of(recipe, {})
    if media:
        entry["columns"] = {**entry.get("columns", {}), **media}
    info[name] = {**kept, **entry}
    return WrittenFile(INFO, json.dumps(info, ensure_ascii=False, indent=2) + "\n")


def _data_losses(recipe: Recipe, path: str) -> list[str]:
    if path == "data.format" and recipe.data.format not in (
        "auto",
        *FORMATTING.values(),
        "prompt_completion",
        "columns",
    ):
        return [f"LLaMA-Factory has no formatting for `{recipe.data.format}` rows"]
    if path == "data.role_map":
        seen = list(recipe.data.role_map.values())
        twice = sorted({role for role in seen if seen.count(role) > 1})
        return [f"LLaMA-Factory takes one tag a role: {role} has several" for role in twice]
    return []
