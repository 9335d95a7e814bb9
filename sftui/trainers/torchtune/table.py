"""Which keys of torchtune's config say which knobs: those at the top and of `tokenizer`, and those of `dataset`.

Source: torchtune 0.6.1 and main (0.7), torchtune/datasets/*, torchtune/data/_messages.py and _collate.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.side_files import object_of
from sftui.trainers import table
from sftui.trainers.torchtune import gsm8k, sentencepieces
from sftui.trainers.torchtune.messages import COLUMNS, pair_of
from sftui.trainers.torchtune.trainer import newest

OWN = "torchtune/"
"""Before the name of a model whose tokenizer renders by its own code."""
_TOLD = object_of(Path(__file__).with_name("keys.json"))
BUILDER_OF: Mapping[str, str] = _TOLD["builder of format"]
"""How rows are read → the builder that reads them so."""
RULES = ("auto", "all", "turn_full", "assistant")


def _multiple(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    multiple = config.get("pad_to_multiple_of")
    if multiple is None:
        return {}
    if not newest(recipe):
        raise RecipeError(
            "torchtune 0.6.1 cannot pad to a multiple",
            where=where,
            why="padded_collate_sft has no pad_to_multiple_of before 0.7",
        )
    return {"batch.multiple": multiple}


def _folder(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """The folder of the Hugging Face files beside vocab.json, tokenizer.model or original/tokenizer.model."""
    block = config["tokenizer"]
    path = block.get("path") or block.get("tokenizer_json_path")
    if not path:
        return {}
    file = Path(str(path))
    inner = file.parent.name == "original"
    said = {"tokenizer.name": str(file.parent.parent if inner else file.parent)}
    usual = file.name == sentencepieces.FILE and not inner
    return said if usual or not _of_pieces(recipe) else {**said, "own.tokenizer_path": str(path)}


def _written_folder(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    if path == "tokenizer.name":
        return {}
    return {("tokenizer", "path"): value} if _of_pieces(recipe) else None


def _of_pieces(recipe: Recipe) -> bool:
    """Whether the recipe's tokenizer is built of a SentencePiece model."""
    return recipe.render.template.removeprefix(OWN) in sentencepieces.MODELS


def _prompt_template(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """A null is no template; no key is the tokenizer's own, which only some have."""
    there, value = table.at(config, table.place_of("tokenizer.prompt_template"))
    usual = recipe.render.template.removeprefix(OWN) in sentencepieces.USUAL
    return {"own.prompt_template": {} if value is None else value} if there and (value is not None or usual) else {}


def _since_newest(entry: table.KeyEntry) -> table.KeyEntry:
    """An entry whose keys only 0.7 has."""
    return replace(
        entry,
        read=lambda config, recipe, where: entry.read(config, recipe, where) if newest(recipe) else {},
        write=lambda recipe, path, value: entry.write(recipe, path, value) if newest(recipe) else None,
    )


def _written_template(recipe: Recipe, path: str, value: str) -> table.Keys | str:
    return {} if value.startswith(OWN) else "it renders messages in its own code"


TOP = (
    # written always: the recipes have no default for it
    table.same("batch_size", "batch.size", says=lambda size: isinstance(size, int), write=table.needless),
    table.rule("pad_to_multiple_of", "batch.multiple", _multiple, table.needless),
    table.rule(
        "tokenizer.path tokenizer.tokenizer_json_path", "tokenizer.name own.tokenizer_path", _folder, _written_folder
    ),
    table.same("tokenizer.max_seq_len", "length.max", null=False),
    _since_newest(table.words("tokenizer.truncation_type", "length.over", {"left": "cut_left"})),
    table.rule(
        "tokenizer.prompt_template", "own.prompt_template", _prompt_template, table.as_is("tokenizer.prompt_template")
    ),
    table.same("tokenizer.special_tokens_path", "own.special_tokens_path", null=False),
    table.rule("tokenizer._component_", "render.template", table.nothing, _written_template),
    table.silent("tokenizer.transformers"),
)


def _trained(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    """What is trained; the builder's own default is said outright: a conversion to another trainer needs to know it."""
    kind = recipe.data.format
    trained = table.block_of(config, "dataset").get("train_on_input", kind in ("alpaca", "text"))
    if trained is None:  # a null reaches the message transform, which then goes by its masking_strategy
        trained = kind == "alpaca" and newest(recipe)
    return {"mask.rule": "all" if trained else "turn_full", "mask.turns": "all"}


def _written_rule(recipe: Recipe, path: str, value: str) -> table.Keys | None:
    """What is trained is written by `always`; all of it is nothing to gsm8k_sft."""
    known = path == "mask.turns" or (value in RULES and not (value == "all" and gsm8k.chosen(recipe)))
    return {} if known else None


def _appended(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    never = recipe.data.format == "text" and table.block_of(config, "dataset").get("add_eos") is False
    return {"tokenize.append_eos": "never"} if never else {}


def _written_eos(recipe: Recipe, path: str, value: str) -> table.Keys | None:
    return {("dataset", "add_eos"): False} if value == "never" and recipe.data.format == "text" else None


def _packed(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    entry = table.block_of(config, "dataset")
    if not entry.get("packed"):
        return {}
    split = entry.get("split_across_pack", True) and recipe.data.format == "text"
    return {"pack.strategy": "sequential", "pack.isolate": True} | ({"own.split_across_pack": True} if split else {})


def _written_packing(recipe: Recipe, path: str, value: Any) -> table.Keys | None:
    if path != "pack.strategy":
        return {}
    return {("dataset", "packed"): True} if value == "sequential" and not gsm8k.chosen(recipe) else None


def _written_system(recipe: Recipe, path: str, value: str) -> table.Keys | None:
    reads = recipe.data.format != "alpaca" and not gsm8k.chosen(recipe)
    return {("dataset", "new_system_prompt"): value} if reads else None


def _partition(config: table.Config, recipe: Recipe, where: str) -> table.Said:
    found = table.block_of(config, "dataset").get("partition") if gsm8k.chosen(recipe) else None
    return {"own.partition": found} if found else {}


def _written_partition(recipe: Recipe, path: str, value: str) -> table.Keys | table.Noted:
    lost = ("own.partition has no key in torchtune's config without own.builder gsm8k_sft",)
    return {("dataset", "partition"): value} if gsm8k.chosen(recipe) else ({}, lost)


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> table.Keys:
    builder = BUILDER_OF.get(recipe.data.format) if not gsm8k.chosen(recipe) else None
    return columns(builder, value) if builder else {}


def columns(builder: str, fields: Mapping[str, str]) -> table.Keys:
    """The keys that name the dataset's columns, where they are not the builder's own; `fields` by sftui's names."""
    if builder == "chat_dataset":
        return {("dataset", "conversation_column"): fields["messages"]} if "messages" in fields else {}
    if builder == "text_completion_dataset":
        return {("dataset", "column"): fields["text"]} if fields.get("text", "text") != "text" else {}
    pair = builder == "instruct_dataset"
    given = pair_of(fields) if pair else {name: fields.get(name) for name in COLUMNS["alpaca"]}
    named = {ours: theirs for ours, theirs in given.items() if theirs}
    if all(ours == theirs for ours, theirs in named.items()):
        return {}
    return {("dataset", "column_map"): {**{ours: ours for ours in given if ours != "input"}, **named}}


DATASET = (
    table.rule("dataset.train_on_input", "mask.rule mask.turns", _trained, _written_rule),
    table.same("dataset.new_system_prompt", "render.inject_system", null=False, write=_written_system),
    table.rule("dataset.add_eos", "tokenize.append_eos", _appended, _written_eos),
    table.rule(
        "dataset.packed dataset.split_across_pack",
        "pack.strategy pack.isolate own.split_across_pack",
        _packed,
        _written_packing,
    ),
    table.rule("dataset.partition", "own.partition", _partition, _written_partition),
    table.rule(
        "dataset.conversation_column dataset.column dataset.column_map", "data.fields", table.nothing, _written_columns
    ),
    table.silent("data.format", "own.builder"),  # the builder says both
)
