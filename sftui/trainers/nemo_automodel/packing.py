"""NeMo Automodel's packs: THD, rows in order until a pack is full, and neat, by a greedy knapsack over all rows.

Source: nemo-automodel 0.7.0, components/datasets/llm/packed_sequence.py (pack_dataset, _pad_pack) and neat_packing.py
(greedy_knapsack, _build_packed_sample). Rows come as the dataset gives them, already shifted; those that it pads to
seq_length itself (padding: max_length): formatting_utils.py (_package_tokenized_example).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

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
    held = [(index, _aligned(example, multiple, pad)) for index, example in held]
    documents, ids, labels = _joined(held)
    lengths = [end - start for _, start, end in documents]
    positions = [place for length in lengths for place in range(length)]
    gap, after = size - len(ids), positions[-1] + 1 if positions else 0
    if lengths:
        lengths[-1] += gap
    return Pack(
        documents,
        (*ids, *[pad] * gap),
        (*labels, *[IGNORE_INDEX] * gap),
        (*positions, *(min(after + step, size - 1) for step in range(gap))),
        seq_lens=tuple(lengths),
    )


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
        yield _neat([(index, examples[index]) for index in one], size, pad)


def _neat(held: Held, size: int, pad: int) -> Pack:
    documents, ids, labels = _joined(held)
    gap = size - len(ids)
    numbers = [number for number, (_, start, end) in enumerate(documents, 1) for _ in range(start, end)]
    positions = [place for _, start, end in documents for place in range(end - start)]
    return Pack(
        documents,
        (*ids, *[pad] * gap),
        (*labels, *[IGNORE_INDEX] * gap),
        (*positions, *[0] * gap),
        (*numbers, *[0] * gap),
    )


def _joined(held: Held) -> tuple[tuple[tuple[int, int, int], ...], list[int], list[int]]:
    documents = tuple((index, 0, len(example.input_ids)) for index, example in held)
    ids = [token for _, example in held for token in example.input_ids]
    return documents, ids, [label for _, example in held for label in example.labels]


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
