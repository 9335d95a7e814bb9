"""A recipe of one trainer as the nearest recipe of another, and what gets lost on the way.

Knobs that mean the same everywhere are carried over; which tokens are trained is translated to the
other trainer's own rule for it. What the trainers do by themselves is not carried: it shows in the
labels, which are counted.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sftui.errors import SftuiError
from sftui.recipe import Recipe, changed, diff, get

if TYPE_CHECKING:
    from sftui.trainers.config import WrittenConfig

ALWAYS = (
    "tokenizer.name", "tokenizer.revision", "tokenizer.eos_token", "tokenizer.pad_token", "tokenizer.bos_token", "data.format", "data.fields",
    "render.kwargs", "length.max", "length.over", "batch.size",
)
TRANSLATED = ("mask.rule", "mask.turns", "mask.prompt", "mask.options", "render.template", "pack.strategy", "pack.isolate", "batch.flatten",
              "batch.attention", "mask.instruction_marker", "mask.response_marker", "preset")
ASSISTANT = {"trl": "generation_tag", "axolotl": "turn_content", "llamafactory": "parts", "unsloth": "markers"}
"""The rule by which each trainer trains every assistant turn; the others' is that of their preset."""

ONLY_LAST = ("llamafactory", "unsloth")
"""Trainers that can train the last assistant turn alone."""

PACKING = {"trl": "bfd", "axolotl": "multipack", "llamafactory": "knapsack", "unsloth": "bfd", "torchtune": "sequential"}
EVERY_ASSISTANT = ("assistant", "generation_tag", "turn_content", "turn_full", "parts", "markers")


@dataclass(frozen=True, slots=True)
class Converted:
    """The other trainer's recipe, before its config is written, and what it cannot say."""

    recipe: Recipe
    losses: tuple[str, ...] = ()


def convert(recipe: Recipe, to: str, data_format: str | None) -> Converted:
    """`recipe` for the preset `to`; `data_format` is how the rows are read. RecipeError for an unknown preset."""
    from sftui.trainers import preset

    target, source = preset(to), preset(recipe.preset)
    name, losses = target.preset.partition("@")[0], []
    for path in ALWAYS:
        target = changed(target, path, get(recipe, path))
    for change in diff(source, recipe):
        if change.path not in (*ALWAYS, *TRANSLATED):
            target = changed(target, change.path, change.after)
    for key, value in recipe.mask.options.items():
        if (key, value) == ("type", "chat_template"):  # what every trainer does with messages
            continue
        losses.append(f"mask.options.{key} = {value!r} is {recipe.preset}'s own and has no equal")
    template = recipe.render.template
    if template.startswith(("file:", "builtin:")):
        target = changed(target, "render.template", template)
    elif template != "tokenizer":
        losses.append(f"render.template {template} is {recipe.preset}'s own: the tokenizer's template is used")
    target, lost = _mask(recipe, target, name, data_format)
    losses += lost
    if recipe.pack.strategy != "none":
        strategy = PACKING.get(name, "none")
        target = changed(target, "pack.strategy", strategy)
        if strategy != recipe.pack.strategy:
            losses.append(f"pack.strategy {recipe.pack.strategy} becomes {strategy}: rows are packed in other groups")
    return Converted(target, tuple(losses))


def _mask(recipe: Recipe, target: Recipe, name: str, data_format: str | None) -> tuple[Recipe, list[str]]:
    meant = _meant(recipe, data_format)
    own = ASSISTANT.get(name, target.mask.rule)
    if meant == "all":
        return changed(target, "mask.rule", "all"), []
    if meant == "completion":
        if name in ("trl", "unsloth"):
            return changed(target, "mask.rule", "completion"), []
        return changed(target, "mask.rule", own), []
    target = changed(target, "mask.rule", own)
    if meant == "last":
        if name in ONLY_LAST:
            return changed(target, "mask.turns", "last"), []
        return target, [f"{recipe.preset} trains the last assistant message only: {target.preset} has no key for it and trains every one"]
    return target, []


def _meant(recipe: Recipe, data_format: str | None) -> str:
    """What a recipe trains: all, completion, assistant (every turn), last (assistant turn), or other."""
    mask = recipe.mask
    pairs = data_format in ("prompt_completion", "alpaca", "columns")
    if mask.rule == "auto" and recipe.preset.startswith("torchtune@"):  # the default of its dataset builders
        return "all" if data_format in ("alpaca", "text") else "assistant"
    if mask.rule == "all" or (mask.rule == "auto" and not pairs and data_format != "tokenized"):
        return "all"
    if mask.rule in ("completion", "auto"):
        return "completion" if pairs or mask.prompt == "column" else "last"
    return "last" if mask.turns == "last" else "assistant" if mask.rule in EVERY_ASSISTANT else "other"


def reread(recipe: Recipe, written: WrittenConfig) -> Recipe:
    """What the trainer does with a written config, by reading it back; `recipe` where it is no config file."""
    from sftui.trainers import trainer_named
    from sftui.trainers.yaml_edit import edit

    main = next((file for file in written.files if file.name.endswith((".yaml", ".yml"))), None)
    if main is None:
        return recipe
    name, _, version = recipe.preset.partition("@")
    with tempfile.TemporaryDirectory(prefix="sftui-export-") as folder:
        for file in written.files:
            Path(folder, file.name).write_text(file.content, encoding="utf-8")
        text = main.content
        if any(file.name == "dataset_info.json" for file in written.files):
            text = edit(text, {("dataset_dir",): folder})
        try:
            return _with_files(trainer_named(name).read_config(main.name, text, version or None).recipe, recipe)
        except SftuiError:
            return recipe


def _with_files(found: Recipe, recipe: Recipe) -> Recipe:
    """The recipe read back, its template named where it stands rather than beside the config, its tokenizer as named."""
    values: dict[str, Any] = {"tokenizer.name": recipe.tokenizer.name, "tokenizer.revision": recipe.tokenizer.revision}
    if found.render.template.startswith("file:"):
        values["render.template"] = recipe.render.template
    for path, value in values.items():
        found = changed(found, path, value)
    return found
