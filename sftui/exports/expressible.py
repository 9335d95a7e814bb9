"""What preprocess.py can do, and the sentence for each thing that it cannot: a script that is nearly right is none."""

from __future__ import annotations

import re

from sftui.conversations.tensors import is_tensors
from sftui.errors import ExportError
from sftui.exports.prepared import ExportInput
from sftui.recipe import Recipe
from sftui.tokens.loading.locate import locate
from sftui.trainers import hand_written

INSTEAD = "export the recipe instead"


def check_expressible(recipe: Recipe, prepared: ExportInput) -> None:
    """ExportError for the first thing that the script could not do as the screen does."""
    _check_set_up(recipe, prepared)
    _check_rows(recipe, prepared)
    _check_labels(recipe, prepared)
    _check_reading(recipe, prepared)


def _check_set_up(recipe: Recipe, prepared: ExportInput) -> None:
    if recipe.preset not in hand_written():
        raise ExportError(
            f"preprocess.py is for {' and '.join(hand_written())}",
            why=f"the recipe is for {recipe.preset}",
            fix="export that trainer's config instead",
        )
    if recipe.tokenizer.name is None:
        raise ExportError("the script needs a tokenizer", fix="give one with -t")
    form = prepared.reading().format
    tokenizer = prepared.tokenizer if form == "tokenized" else prepared.facts()
    if tokenizer is not None and tokenizer.state == "provisional":
        raise ExportError("the tokenizer is not verified yet", fix="try again in a few seconds")
    _refuse(recipe.pack.strategy != "none", f"pack.strategy {recipe.pack.strategy}")
    _refuse(recipe.length.over in ("split", "proportional"), f"length.over {recipe.length.over}")
    _refuse(form == "segments", "data.format segments")
    _refuse(any(path.endswith(".zst") for path in prepared.paths), "data compressed as .zst")
    weights, fix = recipe.loss.weights, "write the rows with their loss_weights: sftui encode -o OUT.parquet"
    _refuse(weights != "none", f"loss.weights {weights}: no collator pads loss weights", fix)


def _check_rows(recipe: Recipe, prepared: ExportInput) -> None:
    form, data = prepared.reading().format, recipe.data
    fix = "write the rows with their labels: sftui encode -o OUT.parquet"
    _refuse(is_tensors(prepared.reading()), "stored ids with a mask, weights or parts", fix)
    if form in ("text", "tokenized"):
        return
    _refuse(form not in ("messages", "sharegpt", "alpaca", "prompt_completion", "columns"), f"data.format {form}")
    _refuse(form in ("prompt_completion", "columns") and data.strings != "chat", "data.strings plain")
    _refuse(data.strict_turns != "off", f"data.strict_turns {data.strict_turns}")


def _check_labels(recipe: Recipe, prepared: ExportInput) -> None:
    mask, detected = recipe.mask, prepared.reading()
    form = detected.format
    if form == "tokenized":
        if detected.fields.get("labels") is None and mask.rule != "all":
            raise ExportError("the rows have ids but no labels", fix="set mask.rule to all")
        return
    if form == "text":
        if mask.rule not in ("all", "completion"):
            raise ExportError(
                f"mask.rule {mask.rule} needs messages", why="the rows are plain text", fix="set mask.rule to all"
            )
    else:
        column = mask.rule == "completion" and mask.prompt == "column"
        _refuse(column, "mask.prompt column", "set mask.prompt to last_assistant")
    if recipe.tokenize.append_eos != "never" and not (recipe.tokenizer.eos_token or prepared.facts().eos_token):
        raise ExportError(
            "preprocess.py cannot append an EOS token",
            why="the tokenizer has none",
            fix="set tokenizer.eos_token, or tokenize.append_eos to never",
        )
    if mask.rule == "generation_tag":
        _check_tags(recipe, prepared)
        return
    if mask.rule == "assistant":
        _check_offsets(recipe, prepared)
    masked = mask.terminator == "mask" or (mask.trailing == "mask" and mask.rule in ("completion", "assistant"))
    _refuse(masked, "mask.terminator or mask.trailing as `mask`")
    others = mask.rule == "assistant" and list(mask.roles) != ["assistant"]
    _refuse(others, f"mask.roles {', '.join(mask.roles)}", "set mask.roles to assistant")
    _refuse(mask.rule not in ("all", "completion", "assistant"), f"mask.rule {mask.rule}")


def _check_tags(recipe: Recipe, prepared: ExportInput) -> None:
    options = recipe.tokenize
    _refuse(
        (options.bos, options.append_eos, options.add_special_tokens) != ("keep", "never", False),
        "mask.rule generation_tag when ids or text are added or dropped",
        "set tokenize to its defaults, or export the recipe instead",
    )
    _check_offsets(recipe, prepared)
    source = prepared.template_source or prepared.facts().chat_templates.get("default", "")
    if not re.search(r"\{%-?\s*generation\s*-?%\}", source):
        raise ExportError(
            "mask.rule generation_tag trains nothing",
            why="the chat template has no {% generation %} tag",
            fix="use a template with the tag, or mask.rule assistant",
        )


def _check_offsets(recipe: Recipe, prepared: ExportInput) -> None:
    """Rules drawn on character offsets need ids that are the text's own, and a tokenizer that has offsets."""
    _refuse(
        recipe.tokenize.append_eos != "never" or recipe.tokenize.bos == "drop_second",
        f"mask.rule {recipe.mask.rule} when ids are added or dropped",
        "set tokenize.append_eos to never and tokenize.bos to keep, or export the recipe",
    )
    what = f"mask.rule {recipe.mask.rule} with this tokenizer"
    _refuse(not prepared.facts().is_fast, what, why="it has no offsets")


def _check_reading(recipe: Recipe, prepared: ExportInput) -> None:
    loading = prepared.loading
    if not loading.script:
        shape = " in this shape" if loading.loader else ""
        raise ExportError(f"preprocess.py cannot read {loading.kind or 'this'} data{shape}", fix=INSTEAD)
    split, fix = f"the split {prepared.split}", "name parts of one split, or export the recipe instead"
    _refuse(prepared.ranges is None, split, fix, "it comes from several splits")
    if locate(recipe.tokenizer.name or "", recipe.tokenizer.revision).kind == "gguf":
        raise ExportError(
            "preprocess.py cannot load a .gguf tokenizer", fix="give the Hub repository or folder it was converted from"
        )


def _refuse(cannot: bool, what: str, fix: str = INSTEAD, why: str = "") -> None:
    """ExportError where the script cannot do something."""
    if cannot:
        raise ExportError(f"preprocess.py cannot express {what}", why=why, fix=fix)
