"""Rows that the dataset itself pads to seq_length (padding: max_length), before they are shifted and after.

Source: nemo-automodel 0.7.0, components/datasets/llm/formatting_utils.py (_package_tokenized_example).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sftui.model import IGNORE_INDEX, Example


class Shortened(tuple[int, ...]):
    """The ids of a shifted row, with the last one that it lost (`last`) and the label of its first token (`first`): a
    padded row keeps both."""

    last: int
    first: int

    @classmethod
    def of(cls, ids: Sequence[int], last: int, first: int) -> Shortened:
        made = cls(ids)
        made.last, made.first = last, first
        return made


def filled(
    example: Example, size: int, own: int, pad: int | None, left: bool, count: Callable[[Sequence[int]], int]
) -> Example:
    """A row of `size` tokens: padded with the tokenizer's `own` id, shifted, and padded by one more with the dataset's.

    `count`: how many inputs of so many ids count as content, which the attention mask shows.
    """
    ids = example.input_ids
    gap = size - len(ids) - 1
    if gap <= 0 or not isinstance(ids, Shortened):
        return _behind(example, size, pad)
    row, labels = (*ids, ids.last), (ids.first, *example.labels)
    masked, fillers = (IGNORE_INDEX,) * gap, (own,) * gap
    row, labels = ((*fillers, *row), (*masked, *labels)) if left else ((*row, *fillers), (*labels, *masked))
    seen = count(row)
    attention = (1,) * seen + (0,) * (len(row) - 1 - seen)
    return _behind(replace(example, input_ids=row[:-1], labels=labels[1:], attention_mask=attention), size, pad)


def _behind(example: Example, size: int, pad: int | None) -> Example:
    gap = max(size - len(example.input_ids), 0)
    return replace(
        example,
        input_ids=(*example.input_ids, *(pad or 0,) * gap),
        labels=(*example.labels, *(IGNORE_INDEX,) * gap),
        attention_mask=(*example.attention_mask, *(0,) * gap),
    )
