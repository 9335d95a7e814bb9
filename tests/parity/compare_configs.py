"""Where sftui's reading of a config differs from the trainer's own: the keys that decide rows, ids and labels.

`differences` takes a config as sftui opened it and the loader's answer (see ask_configs.py) and gives one sentence for
each value that is not the same. What a reader tells as not modelled (KeyUse.UNSUPPORTED) is not compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ask_configs import Answer

from sftui.recipe import Recipe
from sftui.trainers.config import DatasetRef, KeyUse, OpenedConfig, plain

LOADERS = ("json", "csv", "parquet", "text", "arrow")


def differences(trainer: str, opened: OpenedConfig, answer: Answer) -> list[str]:
    """What is not the same, as `key: sftui's, the trainer's`."""
    told = {note.path for note in opened.keys if note.use is KeyUse.UNSUPPORTED}
    pairs = PAIRS[trainer](opened, answer)
    return [
        f"{key}: {ours!r}, {theirs!r}"
        for key, ours, theirs in pairs
        if ours != theirs and key not in told and key.partition("[")[0] not in told
    ]


Pair = tuple[str, Any, Any]


def _own(recipe: Recipe) -> dict[str, Any]:
    """The trainer's own options that a recipe sets, as a config writes them."""
    return {name: plain(value) for name, value in recipe.own.said().items()}


def _axolotl(opened: OpenedConfig, answer: Answer) -> Iterator[Pair]:
    recipe, values = opened.datasets[0].recipe, answer.values
    options = _own(recipe)
    over = {"drop": "drop", "cut_right": "truncate", "error": "raise"}
    yield "sequence_len", recipe.length.max, values.get("sequence_len")
    yield "min_sample_len", recipe.length.min_tokens, values.get("min_sample_len", recipe.length.min_tokens)
    yield "micro_batch_size", recipe.batch.size, values.get("micro_batch_size")
    yield "train_on_inputs", recipe.mask.rule == "all", bool(values.get("train_on_inputs"))
    yield "sample_packing", recipe.pack.strategy == "multipack", bool(values.get("sample_packing"))
    yield "excess_length_strategy", over[recipe.length.over], values.get("excess_length_strategy") or "drop"
    yield "val_set_size", float(options.get("val_set_size") or 0), float(values.get("val_set_size") or 0)
    if values.get("val_set_size"):
        yield "seed", options.get("seed", 42), values.get("seed", 42)
    yield "tokenizer", recipe.tokenizer.name, values.get("tokenizer_config")
    packs = recipe.pack.strategy == "multipack" and recipe.batch.multiple is not None
    yield "pad_to_sequence_len", recipe.batch.pad_to == "max" or packs, bool(values.get("pad_to_sequence_len"))
    for key in ("eot_tokens", "tokens", "sample_packing_sequentially", "curriculum_sampling", "multipack_real_batches"):
        yield key, options.get(key) or None, values.get(key) or None
    yield (
        "dataset_exact_deduplication",
        bool(options.get("dataset_exact_deduplication")),
        bool(values.get("dataset_exact_deduplication")),
    )
    special = values.get("special_tokens") or {}
    for name in ("bos_token", "eos_token", "pad_token"):
        yield f"special_tokens.{name}", getattr(recipe.tokenizer, name), special.get(name)
    yield "chat_template_kwargs", dict(recipe.render.kwargs), values.get("chat_template_kwargs") or {}
    entries = [one for one in values.get("datasets") or () for _ in _each(one.get("name"))]
    if len(entries) != len(opened.datasets):
        yield "datasets", len(opened.datasets), len(entries)
        return
    for number, (entry, ref) in enumerate(zip(entries, opened.datasets)):
        yield from _axolotl_entry(f"datasets[{number}]", entry, ref, values)
    asked = [_hub(one) for one in answer.asks]
    yield "asked", [(ref.paths, ref.subset, _split(ref), ref.revision) for ref in opened.datasets], asked


def _each(names: Any) -> Sequence[Any]:
    return names if isinstance(names, list) else [names]


def _axolotl_entry(where: str, entry: Mapping[str, Any], ref: DatasetRef, values: Mapping[str, Any]) -> Iterator[Pair]:
    recipe, options = ref.recipe, _own(ref.recipe)
    for key in (
        "type",
        "train_on_eos",
        "train_on_eot",
        "drop_system_message",
        "split_thinking",
        "field",
        "field_tools",
    ):
        yield f"{where}.{key}", options.get(key) or None, entry.get(key) or None
    if entry.get("type") == "chat_template":
        roles = entry.get("roles_to_train")
        yield f"{where}.roles_to_train", list(recipe.mask.roles), roles if roles is not None else ["assistant"]
        messages = entry.get("field_messages") or "messages"
        yield f"{where}.field_messages", recipe.data.fields.get("messages", "messages"), messages
        template = entry.get("chat_template")
        if template in (None, "tokenizer_default") and values.get("chat_template"):
            template = values["chat_template"]
        named = recipe.render.template.removeprefix("axolotl/")
        yield f"{where}.chat_template", "tokenizer_default" if named == "tokenizer" else named, template
        mapping = entry.get("message_property_mappings") or {}
        keys = {name: recipe.data.message_keys.get(name, name) for name in ("role", "content")}
        yield f"{where}.mapping", keys, {name: mapping.get(name, name) for name in ("role", "content")}


def _hub(asked: Mapping[str, Any]) -> tuple[Any, ...]:
    """What load_dataset is asked for, as a reference of sftui's says it: paths, subset, split, revision."""
    files, path = asked.get("data_files"), str(asked["path"])
    root = "" if path in LOADERS else path
    listed = [files] if isinstance(files, str) else list(files or ())
    folder = asked.get("data_dir") or root
    paths = tuple(os.path.join(folder, one) if folder else one for one in listed) or (path,)
    return paths, asked.get("name"), asked.get("split") or "train", asked.get("revision")


def _split(ref: DatasetRef) -> str:
    return ref.split or "train"


def _torchtune(opened: OpenedConfig, answer: Answer) -> Iterator[Pair]:
    recipe, values = opened.datasets[0].recipe, answer.values
    yield "max_seq_len", recipe.length.max, values.get("max_seq_len")
    yield "batch_size", recipe.batch.size, values.get("batch_size")
    for number, (ref, made) in enumerate(zip(opened.datasets, values["datasets"])):
        where, one = f"dataset[{number}]", ref.recipe
        yield f"{where}.packed", one.pack.strategy == "sequential", made["packed"]
        if made.get("masking_strategy"):
            strategy = {"all": "train_on_all", "turn_full": "train_on_assistant"}[one.mask.rule]
            yield f"{where}.trained", strategy, made["masking_strategy"]
        if made["packed"]:
            split = bool(_own(one).get("split_across_pack"))
            yield f"{where}.split_across_pack", split, bool(made["split_across_pack"])
        if made["kind"] == "TextCompletionDataset":
            yield f"{where}.add_eos", one.tokenize.append_eos != "never", bool(made["add_eos"])
        else:
            system = made["system"]
            yield f"{where}.new_system_prompt", str(one.render.inject_system), system
        if made["columns"]:
            named = {key: column for key, column in made["columns"].items() if key != "image"}
            ours = {key: one.data.fields.get({"conversations": "messages"}.get(key, key)) for key in named}
            yield f"{where}.columns", ours, named
    asked = [_hub(one) for one in answer.asks]
    yield "asked", [(ref.paths, ref.subset, _split(ref), ref.revision) for ref in opened.datasets], asked


COLUMNS = ("prompt", "query", "response", "history", "messages", "system", "tools")


def _llamafactory(opened: OpenedConfig, answer: Answer) -> Iterator[Pair]:
    from sftui.trainers.llamafactory.config import COLUMNS as ours_of

    recipe, values = opened.datasets[0].recipe, answer.values
    options = _own(recipe)
    less = (
        recipe.length.max is not None and values["packing"] and values["stage"] == "sft"
    )  # data_args.py takes one off; sftui does so later
    yield "cutoff_len", (recipe.length.max or 0) - 1 if less else recipe.length.max, values["cutoff_len"]
    named = recipe.render.template.removeprefix("llamafactory/")
    if values["template"] is not None:
        yield "template", named, values["template"]
    yield "train_on_prompt", recipe.mask.rule == "all" and values["stage"] == "sft", bool(values["train_on_prompt"])
    yield "mask_history", recipe.mask.turns == "last", bool(values["mask_history"])
    packs = {"none": "no", "knapsack": "packing", "neat": "neat_packing", "wrapped": "packing"}[recipe.pack.strategy]
    packing = values["packing"] or values["neat_packing"]
    yield "packing", packs, "neat_packing" if values["neat_packing"] else "packing" if packing else "no"
    yield "val_size", float(options.get("val_size") or 0), _small(values["val_size"])
    for key in ("max_samples", "tool_format"):
        yield key, options.get(key), values[key]
    yield "default_system", recipe.render.inject_system, values["default_system"]
    yield "ignore_pad", bool(options.get("ignore_pad_token_for_loss", True)), bool(values["ignore_pad_token_for_loss"])
    yield "preprocessing_batch_size", recipe.pack.group, values["preprocessing_batch_size"]
    yield "model", recipe.tokenizer.name, values["model"]
    yield "batch_size", recipe.batch.size, values["batch_size"]
    entries = values.get("entries") or ()
    if len(entries) != len(opened.datasets):
        yield "datasets", len(opened.datasets), len(entries)
        return
    formats = {"alpaca": "alpaca", "sharegpt": "sharegpt", "openai": "messages"}
    for number, (ref, entry) in enumerate(zip(opened.datasets, entries)):
        where = f"datasets[{number}]"
        yield f"{where}.formatting", ref.recipe.data.format, formats[entry["formatting"]]
        if ref.recipe.data.fields:
            theirs = {ours_of[name]: entry[name] for name in _columns(entry) if entry[name]}
            ours = {key: value for key, value in ref.recipe.data.fields.items() if key in theirs}
            yield f"{where}.columns", ours, theirs
    asked = [_hub(one) for one in answer.asks]
    yield "asked", [(ref.paths, ref.subset, _split(ref), ref.revision) for ref in opened.datasets], asked


def _columns(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return ("messages", "system", "tools") if entry["formatting"] != "alpaca" else COLUMNS[:4] + COLUMNS[5:]


def _small(value: Any) -> float:
    return float(value) if float(value or 0) > 1e-6 else 0.0


def _trl(opened: OpenedConfig, answer: Answer) -> Iterator[Pair]:
    recipe, values = opened.datasets[0].recipe, answer.values
    options = _own(recipe)
    yield "max_length", recipe.length.max, values["max_length"]
    yield "truncation_mode", recipe.length.over, {"keep_end": "cut_left"}.get(values["truncation_mode"], "cut_right")
    packing = values["packing_strategy"] if values["packing"] else "none"
    yield "packing", recipe.pack.strategy, packing
    yield (
        "padding_free",
        recipe.batch.flatten,
        bool(values["padding_free"] or (values["packing"] and values["packing_strategy"] != "wrapped")),
    )
    yield "pad_to_multiple_of", recipe.batch.multiple, values["pad_to_multiple_of"]
    for key in ("eos_token", "pad_token"):
        yield key, getattr(recipe.tokenizer, key), values[key]
    rule, completion = recipe.mask.rule, values["completion_only_loss"]
    yield "assistant_only_loss", rule == "generation_tag", bool(values["assistant_only_loss"])
    ours = {"completion": True, "all": False}.get(rule, options.get("completion_only_loss"))
    yield "completion_only_loss", ours, completion if completion is None else bool(completion)
    yield "dataset_text_field", options.get("dataset_text_field", "text"), values["dataset_text_field"]
    yield "per_device_train_batch_size", recipe.batch.size, values["per_device_train_batch_size"]
    yield "model", recipe.tokenizer.name, values["model"]
    template = values["chat_template_path"]
    if template and template.endswith((".jinja", ".j2")):
        yield "chat_template_path", recipe.render.template, f"file:{template}"
    asked = [_hub(one) for one in answer.asks]
    yield "asked", [(ref.paths, ref.subset, _split(ref), ref.revision) for ref in opened.datasets], asked


PAIRS = {"axolotl": _axolotl, "torchtune": _torchtune, "llamafactory": _llamafactory, "trl": _trl}
