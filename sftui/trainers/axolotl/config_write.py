"""A recipe as Axolotl's YAML: the user's own file with the changed keys only, or one of its rows and recipe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.recipe import Recipe
from sftui.recipe_io import parse_yaml
from sftui.trainers.axolotl.config import LOADERS
from sftui.trainers.axolotl.instruct import alpaca_prompts
from sftui.trainers.axolotl.settings import CHAT, DEFAULT_MAPPING, TYPE_OF_FORMAT
from sftui.trainers.axolotl.table import DATASET, TOP
from sftui.trainers.axolotl.templates import JINJA
from sftui.trainers.config import OpenedConfig, WrittenConfig, WrittenFile
from sftui.trainers.table import Keys, written
from sftui.trainers.yaml_edit import REMOVE, edit
from sftui.trainers.yaml_edit import Path as KeyPath

TEMPLATE_FILE = "chat_template.jinja"
TABLE = (*TOP, *DATASET)


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Mapping[str, Any]) -> WrittenConfig:
    """The config for a recipe; `facts` may say which dataset of `opened` it is of (`dataset`, default 0)."""
    own_file = bool(facts.get("template_source")) and not recipe.render.template.startswith(("tokenizer", "axolotl/"))
    template = TEMPLATE_FILE if own_file else None
    files = [WrittenFile(TEMPLATE_FILE, str(facts["template_source"]))] if own_file else []
    top, dataset, losses = keys_of(recipe, preset, template)
    if opened is None:
        text, name = edit("", _whole(top, dataset, recipe, facts)), "axolotl.yml"
    else:
        text, name = (
            _edited(opened, int(facts.get("dataset") or 0), top, dataset, recipe, preset, template),
            Path(opened.path).name,
        )
    notes = (
        (f"start Axolotl in the folder of {TEMPLATE_FILE}: elsewhere it takes the file's name for the template itself",)
        if own_file and not facts.get("folder")
        else ()
    )
    return WrittenConfig((WrittenFile(name, text), *files), tuple(losses), notes)


def keys_of(recipe: Recipe, preset: Recipe, template_file: str | None = None) -> tuple[Keys, Keys, list[str]]:
    """Top-level keys, keys of the dataset entry, and what Axolotl has no key for; only what differs from its
    defaults."""
    keys, losses = written(recipe, preset, TABLE, "Axolotl", in_its_order=True)
    dataset: Keys = {place[1:]: value for place, value in keys.items() if place[0] == "datasets"}
    if template_file is not None and dataset.get(("chat_template",)) == JINJA:
        dataset[("chat_template_jinja",)] = template_file
    return {place: value for place, value in keys.items() if place[0] != "datasets"}, dataset, losses


def _edited(
    opened: OpenedConfig,
    number: int,
    top: Keys,
    dataset: Keys,
    recipe: Recipe,
    preset: Recipe,
    template_file: str | None,
) -> str:
    """The user's own text with the keys that changed and no other."""
    before = opened.datasets[number].recipe
    same = before.render.template == recipe.render.template
    old_top, old_dataset, _ = keys_of(before, preset, template_file if same else None)
    config = parse_yaml(opened.text, opened.path, "pyyaml")
    entries = config.get("datasets")
    place: KeyPath = ("datasets",) if isinstance(entries, Mapping) else ("datasets", _entry_of(config, number))
    entry = entries if isinstance(entries, Mapping) else (entries or [])[int(place[1])]
    changes: dict[KeyPath, Any] = {}
    for path in {**old_top, **top}:
        if old_top.get(path) != top.get(path):
            changes[_where(path, config)] = top.get(path, REMOVE)
    for path in {**old_dataset, **dataset}:
        if old_dataset.get(path) == dataset.get(path):
            continue
        legacy = f"message_field_{path[-1]}"
        if path[0] == "message_property_mappings" and legacy in entry:
            gone: KeyPath = (*place, legacy)
            changes[gone] = REMOVE
        at_top = path[0] in ("chat_template", "chat_template_jinja") and path[0] not in entry and path[0] in config
        target = path if at_top else place + path
        value = dataset.get(path, REMOVE)
        if value is REMOVE and path[0] == "chat_template":
            value = "tokenizer_default"
        changes[target] = value
    return edit(opened.text, changes, opened.path)


def _entry_of(config: Mapping[str, Any], number: int) -> int:
    """The entry a dataset comes from: one with a list of names makes several datasets."""
    at = 0
    for index, entry in enumerate(config.get("datasets") or []):
        at += len(entry["name"]) if isinstance(entry.get("name"), list) else 1
        if number < at:
            return index
    return 0


def _where(path: KeyPath, config: Mapping[str, Any]) -> KeyPath:
    """The key to change: the tokenizer is the base model's where the config names no other."""
    if path == ("tokenizer_config",) and "tokenizer_config" not in config:
        return ("base_model_config",) if config.get("base_model_config") else path
    return path


def _whole(top: Keys, dataset: Keys, recipe: Recipe, facts: Mapping[str, Any]) -> Keys:
    """What Axolotl needs to read the rows, then what the recipe says."""
    data = str(facts.get("data") or "DATASET")
    suffix = Path(data.removesuffix(".gz").removesuffix(".zst")).suffix.lstrip(".")
    entry: dict[str, Any] = {"path": data}
    if facts.get("split") not in (None, "train"):
        entry["split"] = facts["split"]
    if suffix in LOADERS:
        entry["ds_type"] = LOADERS[suffix]
    kind: Any = TYPE_OF_FORMAT.get(str(facts.get("format")), CHAT)
    named = facts.get("fields") or {}
    if facts.get("format") in ("prompt_completion", "columns") and {"prompt", "completion"} <= set(named):
        # A pair of texts has no type of its own: the prompt as it stands, the completion and EOS behind it.
        plain = {"format": "{instruction}", "no_input_format": "{instruction}"}
        kind = {"field_instruction": named["prompt"], "field_output": named["completion"], **plain}
    if kind == "alpaca" and any(ours != named.get(ours, ours) for ours in ("instruction", "input", "output")):
        kind = _renamed_alpaca(named)
    if ("type",) not in dataset and kind != "tokenized" and recipe.data.format != "tokenized":
        entry["type"] = kind
    found = facts.get("fields") or ({"messages": "conversations"} if facts.get("format") == "sharegpt" else {})
    if found.get("messages", "messages") != "messages" and ("field_messages",) not in dataset:
        entry["field_messages"] = found["messages"]
    if found.get("text", "text") != "text" and ("field",) not in dataset:
        entry["field"] = found["text"]
    keys = facts.get("message_keys") or (
        {"role": "from", "content": "value"} if facts.get("format") == "sharegpt" else {}
    )
    if {**DEFAULT_MAPPING, **keys} != DEFAULT_MAPPING and not any(
        path[0] == "message_property_mappings" for path in dataset
    ):
        entry["message_property_mappings"] = {
            "role": keys.get("role", "role"),
            "content": keys.get("content", "content"),
        }
    for path, value in dataset.items():
        target = entry
        for step in path[:-1]:
            target = target.setdefault(str(step), {})
        target[str(path[-1])] = value
    return {("datasets",): [entry], **top}


def _renamed_alpaca(named: Mapping[str, str]) -> dict[str, str]:
    """A user-defined type with the prompts of type alpaca, which reads no columns but its own."""
    with_input, without = alpaca_prompts()
    columns = {f"field_{name}": named[name] for name in ("instruction", "input", "output") if name in named}
    return {**columns, "format": with_input, "no_input_format": without}
