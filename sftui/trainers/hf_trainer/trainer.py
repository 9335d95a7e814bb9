"""The hand-written preparation of the tutorials for transformers' Trainer.

Render the whole conversation and the prompt alone with the generation prompt, tokenize both without special tokens,
mask the first len(prompt) labels, cut right at the longest length, pad with DataCollatorForSeq2Seq.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sftui.recipe import Recipe, diff
from sftui.trainers.base import Trainer
from sftui.trainers.hf_trainer import TRAITS

if TYPE_CHECKING:
    from sftui.conversations import Detection
    from sftui.model import Row

LIMITED: Mapping[str, tuple[str, ...] | None] = {
    "data.strict_turns": ("off", "error"),
    "mask.rule": ("completion", "assistant", "turn_full", "generation_tag", "given", "all"),
    "mask.instruction_marker": None,
    "mask.response_marker": None,
    "length.over": ("cut_right", "cut_left", "drop", "error"),
    "pack.strategy": ("none",),
    "pack.isolate": None,
    "pack.group": None,
    "batch.attention": ("ones", "none"),
    "batch.flatten": None,
}
"""Knobs of which these loops have nothing (None), or no more than these choices."""


class HfTrainer(Trainer):
    """transformers' Trainer with labels made by hand."""

    traits = TRAITS
    usual = Recipe(TRAITS.name)

    def detect(self, rows: Sequence[Row], recipe: Recipe) -> Detection:
        """A loop written by hand may read what any pipeline stores beside ids."""
        from sftui.conversations.tensors import detect_tensors

        return detect_tensors(rows, recipe.data) or super().detect(rows, recipe)

    def remarks(self, recipe: Recipe) -> tuple[str, ...]:
        if recipe.loss.weights == "none":
            return ()
        return ("loss weights are for your own loss: transformers models compute theirs from the labels alone",)

    def trained_roles(self, recipe: Recipe) -> tuple[str, ...]:
        return recipe.mask.roles if recipe.mask.rule in ("assistant", "turn_full") else ()

    def keys_of(self, recipe: Recipe) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The knobs that act under some trainer's preset only; the rest of what a loop does is yours to write."""
        found = []
        for change in diff(self.preset(), recipe):
            known = LIMITED.get(change.path, (change.after,))
            if known is None or change.after not in known:
                has = f": it has {', '.join(known)}" if known is not None else ""
                found.append(f"{change.path} = {change.after!r} has no equivalent in {self.title}{has}")
        return {}, tuple(found)
