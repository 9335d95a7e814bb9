"""TRL's collator over packs and flattened batches, which Unsloth trains with, too.

Source: trl 1.16.0, trl/trainer/sft_trainer.py DataCollatorForLanguageModeling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sftui import labels as label_rules
from sftui.model import IGNORE_INDEX, Batch, Example, Pack
from sftui.recipe import Recipe
from sftui.trainers.base import Toolbox, Trainer, pad_token_id


class Collated(Trainer):
    """A trainer whose batches TRL's collator makes."""

    def collate(self, examples: Sequence[Example], rows: Sequence[int], recipe: Recipe, tools: Toolbox) -> Batch:
        if not recipe.batch.flatten:
            return super().collate(examples, rows, recipe, tools)
        positions = [range(len(example.input_ids)) for example in examples]
        return flat_batch(examples, rows, positions, recipe, pad_token_id(recipe, tools)[0])

    def fed(self, pack: Pack, recipe: Recipe) -> Pack:
        return first_masked(pack, recipe)

    def packing_order(self, recipe: Recipe) -> str:
        return f"{super().packing_order(recipe)} (one process)"

    def collate_packs(self, packs: Sequence[Pack], recipe: Recipe, tools: Toolbox) -> Batch:
        if recipe.pack.strategy == "wrapped" and not recipe.batch.flatten:
            return super().collate_packs(packs, recipe, tools)
        return flat_packs(packs, recipe, pad_token_id(recipe, tools)[0])


def flat_batch(
    examples: Sequence[Example],
    rows: Sequence[int],
    positions: Sequence[Sequence[int]],
    recipe: Recipe,
    pad_id: int | None,
) -> Batch:
    """Padding-free: one row, position ids that start anew, no attention mask, first of each document masked."""
    ids = [i for example in examples for i in example.input_ids]
    labels = [label for example in examples for label in example.labels]
    places = [place for one in positions for place in one]
    multiple = recipe.batch.multiple or 1
    gap = -len(ids) % multiple
    label_rules.refuse_too_large(1, len(ids) + gap)
    ids += [pad_id or 0] * gap
    labels += [IGNORE_INDEX] * gap
    places += [0] * gap
    labels = [IGNORE_INDEX if place == 0 else label for place, label in zip(places, labels)]
    return Batch(
        rows=tuple(rows),
        lengths=tuple(len(example.input_ids) for example in examples),
        input_ids=(tuple(ids),),
        labels=(tuple(labels),),
        attention_mask=None,
        position_ids=(tuple(places),),
        notes=("padding-free: one row, no attention mask, the first token of each document carries no loss",),
    )


def flat_packs(packs: Sequence[Pack], recipe: Recipe, pad_id: int | None) -> Batch:
    """Packed sequences joined into one row, position ids anew at each document."""
    examples = [Example(pack.input_ids, pack.labels, (1,) * len(pack.input_ids)) for pack in packs]
    positions = [pack.position_ids or range(len(pack.input_ids)) for pack in packs]
    return flat_batch(examples, range(len(packs)), positions, recipe, pad_id)


def first_masked(pack: Pack, recipe: Recipe) -> Pack:
    """A pack with the labels of the padding-free collator: where a position is 0 there is no loss. `wrapped` is
    collated so only where batch.flatten says it."""
    if recipe.pack.strategy == "wrapped" and not recipe.batch.flatten:
        return pack
    places = pack.position_ids or range(len(pack.input_ids))
    labels = tuple(IGNORE_INDEX if place == 0 else label for place, label in zip(places, pack.labels))
    return replace(pack, labels=labels, attention_mask=None, position_ids=tuple(places))
