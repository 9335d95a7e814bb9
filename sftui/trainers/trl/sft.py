"""The keys of SFTConfig that TRL's trainer has, and Unsloth's, which is built on it.

Source: trl 1.16.0, trl/trainer/sft_config.py and sft_trainer.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sftui.recipe import Recipe
from sftui.trainers.table import Config, KeyEntry, Keys, Said, nothing, rule, same, words

RENAMED = {"bfd-requeue": "bfd_split"}
PACKINGS = ("bfd", "bfd_split", "wrapped")


def entries(flat: KeyEntry, beside: Callable[[Config], bool] = lambda config: False) -> tuple[KeyEntry, ...]:
    """Their entries in the table of a trainer; `flat` is that of padding_free.

    `beside`: whether something but assistant_only_loss says what is trained, so that completion_only_loss adds to it.
    """

    def trained(config: Config, recipe: Recipe, where: str) -> Said:
        completion, assistant = config.get("completion_only_loss"), bool(config.get("assistant_only_loss"))
        said: dict[str, Any] = {"mask.rule": "generation_tag"} if assistant else {}
        if completion is not None and (assistant or beside(config)):
            said["own.completion_only_loss"] = bool(completion)
        elif completion is not None:
            said["mask.rule"] = "completion" if completion else "all"
        return said

    return (
        same("eos_token", "tokenizer.eos_token"),
        same("pad_token", "tokenizer.pad_token"),
        same("per_device_train_batch_size", "batch.size"),
        same("dataset_text_field", "own.dataset_text_field", unless="text"),
        words("truncation_mode", "length.over", {"keep_end": "cut_left"}),
        rule("completion_only_loss assistant_only_loss", "mask.rule own.completion_only_loss", trained, written_mask),
        rule("", "batch.flatten pack.isolate", nothing, follows_packing),
        flat,
        rule("packing packing_strategy", "pack.strategy pack.isolate batch.flatten", packing, written_packing),
    )


def written_mask(recipe: Recipe, path: str, value: Any) -> Keys | None:
    if path == "own.completion_only_loss":
        return {("completion_only_loss",): value}
    if value in ("all", "completion"):
        return {("completion_only_loss",): value == "completion"}
    return {("assistant_only_loss",): True} if value == "generation_tag" else None


def packing(config: Config, recipe: Recipe, where: str) -> Said:
    """With bfd documents are kept apart, and batches flat; wrapped does neither."""
    if not config.get("packing"):
        return {}
    named = config.get("packing_strategy", "bfd")
    strategy = RENAMED.get(named, named) if isinstance(named, str) else named
    apart = strategy != "wrapped"
    return {
        "pack.strategy": strategy,
        "pack.isolate": apart,
        "batch.flatten": apart or bool(config.get("padding_free")),
    }


def follows_packing(recipe: Recipe, path: str, value: Any) -> Keys | None:
    """Where documents are packed and kept apart, both knobs are said by that."""
    return {} if recipe.pack.strategy not in ("none", "wrapped") else None


def written_packing(recipe: Recipe, path: str, value: Any) -> Keys | None:
    if path != "pack.strategy" or value not in PACKINGS:
        return None
    return {("packing",): True} | ({} if value == "bfd" else {("packing_strategy",): value})


def template(key: str, says: Callable[[Any], bool]) -> KeyEntry:
    """A template in a file stands under a key; others are told by what is written beside the config."""

    def write(recipe: Recipe, path: str, value: Any) -> Keys:
        return {(key,): value[5:]} if value.startswith("file:") else {}

    return same(key, "render.template", says=says, convert=lambda file: f"file:{file}", write=write)
