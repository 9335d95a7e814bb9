"""NeMo Automodel's packs: THD, rows in order until a pack is full, and neat, by a greedy knapsack over all rows.

Source: nemo-automodel 0.7.0, components/datasets/llm/packed_sequence.py (pack_dataset, _pad_pack) and neat_packing.py
(greedy_knapsack, _build_packed_sample). Rows come as the dataset gives them, already shifted; those that it pads to
seq_length itself (padding: max_length): formatting_utils.py (_package_tokenized_example).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from sftui.labels import pack_of
from sftui.model import IGNORE_INDEX, Example, Pack
from sftui.trainers.base import TaggedIds
from sftui.trainers.packing import NumberedRow, emptiest_fit, next_fit


def in_order(examples: Iterable[Example], size: int, pad: int, multiple: int = 1) -> Iterator[Pack]:
    """THD: whole rows one behind the other, each padded to a multiple; a longer one than a pack is left out."""
    return (_thd(rows, size, pad, multiple) for rows in rows_in_order(examples, size, multiple))


def rows_in_order(examples: Iterable[Example], size: int, multiple: int) -> Iterator[list[NumberedRow]]:
    """The rows of each of these packs."""
    for rows in next_fit(_short(examples, size), size, multiple):
        if any(example.input_ids for _, example in rows):
            yield rows


def _short(examples: Iterable[Example], size: int) -> Iterator[NumberedRow]:
    """The rows that fit into a pack, each with its number."""
    return ((index, example) for index, example in enumerate(examples) if len(example.input_ids) <= size)


def _thd(rows: Sequence[NumberedRow], size: int, pad: int, multiple: int) -> Pack:
    padded = ((index, _padded(example, -len(example.input_ids) % multiple, pad)) for index, example in rows)
    made = pack_of(padded, size, pad)
    lengths = [end - start for _, start, end in made.documents]
    positions, gap = (made.position_ids or ())[: sum(lengths)], size - sum(lengths)
    lengths[-1] += gap
    padding = (min(positions[-1] + 1 + step, size - 1) for step in range(gap))
    return replace(made, position_ids=(*positions, *padding), attention_mask=None, seq_lens=tuple(lengths))


def _padded(example: Example, gap: int, pad: int) -> Example:
    """The row with so many more tokens behind it."""
    if not gap:
        return example
    return replace(
        example,
        input_ids=(*example.input_ids, *[pad] * gap),
        labels=(*example.labels, *[IGNORE_INDEX] * gap),
        attention_mask=(*example.attention_mask, *[0] * gap),
    )


def by_knapsack(examples: Sequence[Example], size: int, pad: int) -> Iterator[Pack]:
    """Neat: the longest row first, into the pack that holds least; a longer one than a pack is left out."""
    return (pack_of(rows, size, pad) for rows in rows_by_knapsack(examples, size))


def rows_by_knapsack(examples: Iterable[Example], size: int) -> list[list[NumberedRow]]:
    """The rows of each of these packs."""
    return emptiest_fit(_short(examples, size), size)


def filled(
    example: Example, size: int, own: int, pad: int | None, left: bool, count: Callable[[Sequence[int]], int]
) -> Example:
    """A row of `size` tokens: padded with the tokenizer's `own` id, shifted, and padded by one more with the dataset's.

    `count`: how many inputs of so many ids count as content, which the attention mask shows.
    """
    ids = example.input_ids
    gap = size - len(ids) - 1
    if gap > 0 and isinstance(ids, TaggedIds):
        last, first = ids.tag  # the id that the shifted row lost, and the label of its first token
        row, labels = (*ids, last), (first, *example.labels)
        masked, fillers = (IGNORE_INDEX,) * gap, (own,) * gap
        row, labels = ((*fillers, *row), (*masked, *labels)) if left else ((*row, *fillers), (*labels, *masked))
        seen = count(row)
        attention = (1,) * seen + (0,) * (len(row) - 1 - seen)
        example = replace(example, input_ids=row[:-1], labels=labels[1:], attention_mask=attention)
    return _padded(example, max(size - len(example.input_ids), 0), pad or 0)
