"""A recipe as Axolotl's YAML: the user's own file with the changed keys only, or a small whole one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.recipe import Recipe, diff
from sftui.recipe_io import parse_yaml
from sftui.trainers.axolotl.config import DATASET_OPTIONS, LOADERS, OVER, SPECIAL, TOP_OPTIONS
from sftui.trainers.axolotl.instruct import alpaca_prompts
from sftui.trainers.axolotl.own import AxolotlOptions
from sftui.trainers.axolotl.settings import CHAT, DEFAULT_MAPPING, TYPE_OF_FORMAT
from sftui.trainers.axolotl.templates import JINJA
from sftui.trainers.config import OpenedConfig, WrittenConfig, WrittenFile, no_key, plain
from sftui.trainers.yaml_edit import REMOVE, edit
from sftui.trainers.yaml_edit import Path as KeyPath

PLAIN = {
    "length.max": "sequence_len",
    "length.min_tokens": "min_sample_len",
    "batch.size": "micro_batch_size",
    "pack.group": "sample_packing_group_size",
    "tokenizer.name": "tokenizer_config",
    "tokenizer.revision": "revision_of_model",
}
HANDLED = frozenset(
    (
        *PLAIN,
        *SPECIAL.values(),
        "tokenizer.transformers",
        "tokenizer.type",
        "length.over",
        "mask.rule",
        "mask.roles",
        "mask.terminator",
        "data.format",
        "data.fields",
        "data.message_keys",
        "data.role_map",
        "render.template",
        "render.kwargs",
        "pack.strategy",
        "pack.isolate",
        "batch.pad_to",
        "batch.multiple",
        "batch.attention",
        "preset",
    )
)
NO_LIMIT = 1_000_000
"""sequence_len must be a number."""

TEMPLATE_FILE = "chat_template.jinja"
Keys = dict[KeyPath, Any]


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
    changes = {change.path: change.after for change in diff(preset, recipe)}
    own, said = AxolotlOptions.of(recipe), recipe.own.said()
    top: Keys = {(PLAIN[path],): value for path, value in changes.items() if path in PLAIN}
    unlimited = "length.max" in changes and recipe.length.max is None
    if unlimited:
        top[("sequence_len",)] = NO_LIMIT
    losses = [no_key(path, value, "Axolotl") for path, value in changes.items() if not _handled(path)]
    losses += [f"Axolotl always has a limit: sequence_len {NO_LIMIT} stands for none"] if unlimited else []
    over = next((word for word, ours in OVER.items() if ours == recipe.length.over), None)
    if over is None:
        losses.append(f"length.over = {recipe.length.over!r} has no key in Axolotl's config")
    elif over != "drop":
        top[("excess_length_strategy",)] = over
    rule = recipe.mask.rule
    if rule == "all":
        top[("train_on_inputs",)] = True
    elif rule != "turn_content":
        losses.append(f"mask.rule = {rule!r} has no key in Axolotl's config: it trains the content of turns")
    if recipe.tokenizer.type is not None:
        top[("tokenizer_type",)] = recipe.tokenizer.type
    for name, path in SPECIAL.items():
        if path in changes:
            top["special_tokens", name] = changes[path]
    for name, value in own.special_tokens.items():
        top["special_tokens", name] = value
    top.update({(name,): plain(said[name]) for name in TOP_OPTIONS if name in said})
    if recipe.render.kwargs:
        top[("chat_template_kwargs",)] = dict(recipe.render.kwargs)
    losses += _packing(recipe, changes, top)
    return top, _dataset_keys(recipe, changes, template_file), losses


def _packing(recipe: Recipe, changes: Mapping[str, Any], top: Keys) -> list[str]:
    losses = []
    batch = recipe.batch
    if recipe.pack.strategy == "multipack":
        top[("sample_packing",)] = True
    elif recipe.pack.strategy != "none":
        losses.append(f"pack.strategy = {recipe.pack.strategy!r} has no key in Axolotl's config")
    if batch.pad_to == "max":
        top[("pad_to_sequence_len",)] = True
    elif batch.multiple is None:
        top[("pad_to_sequence_len",)] = False
    if batch.multiple not in (None, 64):
        top[("pad_to_multiple_of",)] = batch.multiple
    if recipe.pack.isolate and (recipe.pack.strategy != "multipack" or batch.attention != "none"):
        losses.append(
            "pack.isolate = True is what pack.strategy multipack with batch.attention none does in Axolotl, and nothing"
            " else"
        )
    stated = AxolotlOptions.of(recipe).attn_implementation
    if stated:
        top[("attn_implementation",)] = stated
    elif "batch.attention" in changes and recipe.pack.strategy == "multipack":
        if batch.attention == "none":
            top[("attn_implementation",)] = "flash_attention_2"
        else:
            losses.append(f"batch.attention = {batch.attention!r} follows from the model type in Axolotl")
    return losses


def _dataset_keys(recipe: Recipe, changes: Mapping[str, Any], template_file: str | None) -> Keys:
    own, said, keys = AxolotlOptions.of(recipe), recipe.own.said(), recipe.data.message_keys
    out: Keys = {(name,): plain(said[name]) for name in DATASET_OPTIONS if name in said}
    if ("type",) not in out and recipe.data.format in TYPE_OF_FORMAT and recipe.data.format != "tokenized":
        out[("type",)] = TYPE_OF_FORMAT[recipe.data.format]
    if recipe.data.fields.get("messages"):
        out[("field_messages",)] = recipe.data.fields["messages"]
    if recipe.data.fields.get("text") and ("field",) not in out:
        out[("field",)] = recipe.data.fields["text"]
    for ours in ("role", "content"):
        if keys.get(ours, ours) != ours:
            out["message_property_mappings", ours] = keys[ours]
    if "reasoning" in keys:
        out["message_property_mappings", own.template_thinking_key or "reasoning_content"] = keys["reasoning"]
    for name, value in own.message_property_mappings.items():
        out["message_property_mappings", name] = value
    for ours, name in (("train_flag", "message_field_training"), ("train_detail", "message_field_training_detail")):
        if ours in keys:
            out[(name,)] = keys[ours]
    if "mask.roles" in changes:
        out[("roles_to_train",)] = list(recipe.mask.roles)
    if recipe.mask.terminator == "mask" and ("train_on_eos",) not in out:
        out[("train_on_eos",)] = "none"
    if "data.role_map" in changes:
        sources: dict[str, list[str]] = {}
        for source, role in recipe.data.role_map.items():
            sources.setdefault(role, []).append(source)
        out[("roles",)] = sources
    return {**out, **_template(recipe, template_file)}


def _template(recipe: Recipe, template_file: str | None) -> Keys:
    template = recipe.render.template
    if template == "tokenizer":
        return {}
    name = template.partition("/")[2]
    if not template.startswith("axolotl/"):
        return {("chat_template",): JINJA, ("chat_template_jinja",): template_file or template.partition(":")[2]}
    if name != JINJA:
        return {("chat_template",): name}
    return {("chat_template",): name, ("chat_template_jinja",): AxolotlOptions.of(recipe).chat_template_jinja}


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
    """A small config that Axolotl loads: what it needs to start, then what the recipe says."""
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
    base: Keys = {
        ("base_model",): facts.get("tokenizer") or recipe.tokenizer.name or "MODEL",
        ("datasets",): [entry],
        ("output_dir",): "out",
        ("sequence_len",): recipe.length.max or 512,
        ("micro_batch_size",): recipe.batch.size,
        ("gradient_accumulation_steps",): 1,
        ("num_epochs",): 1,
        ("learning_rate",): 0.0002,
        ("optimizer",): "adamw_torch",
        ("val_set_size",): 0.0,
    }
    return {
        **base,
        **{
            path: value
            for path, value in top.items()
            if path != ("tokenizer_config",) or facts.get("tokenizer") != value
        },
    }


def _renamed_alpaca(named: Mapping[str, str]) -> dict[str, str]:
    """A user-defined type with the prompts of type alpaca, which reads no columns but its own."""
    with_input, without = alpaca_prompts()
    columns = {f"field_{name}": named[name] for name in ("instruction", "input", "output") if name in named}
    return {**columns, "format": with_input, "no_input_format": without}


def _handled(path: str) -> bool:
    """Whether a knob has a key, or is told in words of its own; every option of Axolotl's own is one."""
    return path in HANDLED or path.startswith("own.")
