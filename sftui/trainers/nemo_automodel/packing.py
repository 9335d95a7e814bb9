"""NeMo Automodel's packs: THD, rows in order until a pack is full, and neat, by a greedy knapsack over all rows.

Source: nemo-automodel 0.7.0, components/datasets/llm/packed_sequence.py (pack_dataset, _pad_pack) and neat_packing.py
(greedy_knapsack, _build_packed_sample). Rows come as the dataset gives them, already shifted; those that it pads to
seq_length itself (padding: max_length): formatting_utils.py (_package_tokenized_example).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from sftui.labels import pack_of
from sftui.model import IGNORE_INDEX, Example, Pack

Held = list[tuple[int, Example]]


def in_order(examples: Iterable[Example], size: int, pad: int, multiple: int = 1) -> Iterator[Pack]:
    """THD: whole rows one behind the other, each padded to a multiple; a longer one than a pack is left out."""
    held: Held = []
    filled = 0
    for index, example in enumerate(examples):
        length = len(example.input_ids)
        if length > size:
            continue
        length += -length % multiple
        if filled + length > size:
            yield _thd(held, size, pad, multiple)
            held, filled = [], 0
        held.append((index, example))
        filled += length
    if filled:
        yield _thd(held, size, pad, multiple)


def _thd(held: Held, size: int, pad: int, multiple: int) -> Pack:
    made = pack_of([(index, _aligned(example, multiple, pad)) for index, example in held], size, pad)
    lengths = [end - start for _, start, end in made.documents]
    positions, gap = (made.position_ids or ())[: sum(lengths)], size - sum(lengths)
    after = positions[-1] + 1 if positions else 0
    if lengths:
        lengths[-1] += gap
    padding = (min(after + step, size - 1) for step in range(gap))
    return replace(made, position_ids=(*positions, *padding), attention_mask=None, seq_lens=tuple(lengths))


def _aligned(example: Example, multiple: int, pad: int) -> Example:
    gap = -len(example.input_ids) % multiple
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
    lengths = [len(example.input_ids) for example in examples]
    bins: list[list[int]] = []
    heap: list[tuple[int, int]] = []
    for index in sorted((i for i, length in enumerate(lengths) if length <= size), key=lambda i: -lengths[i]):
        length = lengths[index]
        if heap and heap[0][0] + length <= size:
            filled, number = heapq.heappop(heap)
            bins[number].append(index)
        else:
            filled, number = 0, len(bins)
            bins.append([index])
        heapq.heappush(heap, (filled + length, number))
    for one in bins:
        yield pack_of(((index, examples[index]) for index in one), size, pad)


class ShiftedRow(tuple[int, ...]):
    """The ids of a shifted row, with the last one that it lost (`last`) and the label of its first token (`first`): a
    padded row keeps both."""

    last: int
    first: int

    @classmethod
    def of(cls, ids: Sequence[int], last: int, first: int) -> ShiftedRow:
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
    if gap <= 0 or not isinstance(ids, ShiftedRow):
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
