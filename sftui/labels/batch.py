"""The padded rectangle, by the rules of transformers' DataCollatorForSeq2Seq.

Source: transformers 5.23, data/data_collator.py (labels) and tokenization_utils_base.py `_pad`
(ids and attention mask): longest row or max length, rounded up to a multiple, on one side; ids
get the pad token, the attention mask 0, labels `labels_pad`, loss weights 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from sftui.errors import RecipeError
from sftui.labels.weights import weights_padded
from sftui.model import Batch, Example
from sftui.recipe import Batch as BatchOptions
from sftui.text import many

MOST_POSITIONS = 1 << 24
"""Positions of a batch that is shown; 64 rows of 131,072 tokens are half as many."""


def collate(
    examples: Sequence[Example],
    rows: Sequence[int],
    options: BatchOptions,
    *,
    pad_id: int | None,
    padding_side: str,
    max_length: int | None = None,
    notes: tuple[str, ...] = (),
) -> Batch:
    """Pad examples to one rectangle; `padding_side` is the tokenizer's, `options.pad_side` may override it."""
    side = padding_side if options.pad_side == "tokenizer" else options.pad_side
    lengths = tuple(len(example.input_ids) for example in examples)
    width = padded_width(lengths, options, max_length)
    refuse_too_large(len(examples), width)
    if pad_id is None and any(length != width for length in lengths):
        raise RecipeError(
            "the batch cannot be padded",
            why="the tokenizer has no pad token",
            fix="set tokenizer.pad_token, or batch.pad_token to auto",
        )

    def pad(values: Sequence[int], filler: int) -> tuple[int, ...]:
        gap = (filler,) * (width - len(values))
        return (*gap, *values) if side == "left" else (*values, *gap)

    attention = None
    if options.attention != "none":
        attention = tuple(pad(example.attention_mask, 0) for example in examples)
    return Batch(
        rows=tuple(rows),
        lengths=lengths,
        input_ids=tuple(pad(example.input_ids, pad_id or 0) for example in examples),
        labels=tuple(pad(example.labels, options.labels_pad) for example in examples),
        attention_mask=attention,
        pad_side=side,
        notes=notes,
        weights=weights_padded([example.weights for example in examples], width, side),
    )


def refuse_too_large(rows: int, width: int) -> None:
    """RecipeError where so many rows of so many positions are more than can be shown."""
    if rows * width > MOST_POSITIONS:
        raise RecipeError(
            "the batch is too large to show",
            why=f"{many(rows, 'row')} of {width:,} positions are more than {MOST_POSITIONS:,}",
            fix="lower batch.multiple, batch.size or length.max",
        )


def padded_width(lengths: Sequence[int], options: BatchOptions, max_length: int | None) -> int:
    """How many positions each row of the batch has."""
    width = max(lengths, default=0)
    if options.pad_to == "max" and max_length is not None:
        width = max_length
    if options.multiple:
        width = -(-width // options.multiple) * options.multiple
    return width
