"""torchtune's PackedDataset: rows in order, padded with 0 to the full length.

Source: torchtune 0.6.1, torchtune/datasets/_packed.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from sftui.errors import RecipeError
from sftui.model import IGNORE_INDEX, Example, Pack

PADDING = 0
"""The builders leave padding_idx at its default, whatever the tokenizer's pad token is."""


def pack_sequential(examples: Sequence[Example], size: int, *, split: bool) -> tuple[Pack, ...]:
    """Packs of `size` tokens; a row that does not fit opens the next pack, or is split over both.

    RecipeError where a row is longer than a pack and rows are not split. Position ids restart with
    each row and go on through the padding.
    """
    packs: list[Pack] = []
    documents: list[tuple[int, int, int]] = []
    room = size
    for index, example in enumerate(examples):
        n = len(example.input_ids)
        if n > size and not split:
            raise RecipeError(f"a row has {n} tokens and a pack holds {size}: torchtune stops", fix="raise length.max")
        start = 0
        if n > room and not split:
            packs.append(_pack(examples, documents, size))
            documents, room = [], size
        while n - start > room:
            if room:
                documents.append((index, start, start + room))
            start += room
            packs.append(_pack(examples, documents, size))
            documents, room = [], size
        if n > start or not n:
            documents.append((index, start, n))
            room -= n - start
    if any(end > start for _, start, end in documents):
        packs.append(_pack(examples, documents, size))
    return tuple(packs)


def _pack(examples: Sequence[Example], documents: Sequence[tuple[int, int, int]], size: int) -> Pack:
    ids = [token for index, start, end in documents for token in examples[index].input_ids[start:end]]
    labels = [label for index, start, end in documents for label in examples[index].labels[start:end]]
    positions = [place % size for _, start, end in documents for place in range(start, end)]
    gap = size - len(ids)
    after = positions[-1] + 1 if positions else 0
    return Pack(
        tuple(documents),
        (*ids, *[PADDING] * gap),
        (*labels, *[IGNORE_INDEX] * gap),
        (*positions, *(min(after + step, size - 1) for step in range(gap))),
    )
