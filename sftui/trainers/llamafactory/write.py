"""The recipe as LLaMA-Factory's YAML and dataset_info.json entry.

Where the user opened a config, the YAML is theirs with the changed keys only, and the entry is
written only if what it says of the data changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.recipe import Data, Recipe
from sftui.recipe_io import parse_yaml
from sftui.trainers.config import OpenedConfig, WrittenConfig, WrittenFile, with_arguments
from sftui.trainers.llamafactory import formats
from sftui.trainers.llamafactory.config import COLUMNS, INFO, MESSAGE_TAGS, TAGS, read_info
from sftui.trainers.llamafactory.own import LlamaFactoryOptions
from sftui.trainers.llamafactory.pretrain import is_pretraining
from sftui.trainers.llamafactory.table import FORMATTING, TABLE
from sftui.trainers.table import Keys, changes_of, written
from sftui.trainers.yaml_edit import edit


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Mapping[str, Any]) -> WrittenConfig:
    """The files that make LLaMA-Factory do what the recipe says, and what it has no key for."""
    wanted, losses = keys_of(recipe, preset)
    if opened is not None:
        changes = changes_of(wanted, keys_of(opened.recipe, preset)[0])
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
    base: Keys = {
        ("stage",): "sft",
        ("do_train",): True,
        ("dataset",): name,
        ("dataset_dir",): facts.get("folder") or ".",
        **wanted,
    }
    text = edit("", base)
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


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[Keys, list[str]]:
    """The YAML keys that differ from LLaMA-Factory's defaults, and the knobs that it has no key for."""
    found, losses = written(recipe, with_arguments(preset), TABLE, "LLaMA-Factory")
    if is_pretraining(recipe) and recipe.pack.strategy == "none":
        found["packing",] = False
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
