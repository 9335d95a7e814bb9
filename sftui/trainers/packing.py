"""How rows are put into packs, by the rules that several trainers have."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from sftui.labels import columns_of
from sftui.model import Example, Pack

NumberedRow = tuple[int, Example]
"""The place of an example among all, and itself."""
Documents = list[tuple[int, int, int]]
"""Ranges of tokens of examples: index, start and end of each."""


@lru_cache(maxsize=10_000)
def blank(length: int) -> Example:
    """An example of which nothing but the length is known."""
    ids: Any = range(length)
    return Example(ids, ids, ids)


def documents_of(rows: Iterable[NumberedRow]) -> Documents:
    """Whole rows, each with its number."""
    return [(index, 0, len(example.input_ids)) for index, example in rows]


def next_fit(rows: Iterable[NumberedRow], size: int, multiple: int = 1) -> Iterator[list[NumberedRow]]:
    """Whole rows in their order, each as long as the next `multiple`: one that does not fit opens the next pack."""
    held: list[NumberedRow] = []
    room = size
    for row in rows:
        length = len(row[1].input_ids)
        length += -length % multiple
        if held and length > room:
            yield held
            held, room = [], size
        held.append(row)
        room -= length
    if held:
        yield held


def emptiest_fit(rows: Iterable[NumberedRow], size: int) -> list[list[NumberedRow]]:
    """Whole rows, the longest first, each into the pack that holds least, the first of equal ones; into a new one where
    it has no room there."""
    packs: list[list[NumberedRow]] = []
    heap: list[tuple[int, int]] = []
    for row in sorted(rows, key=lambda row: -len(row[1].input_ids)):
        length = len(row[1].input_ids)
        if heap and heap[0][0] + length <= size:
            filled, number = heapq.heappop(heap)
        else:
            filled, number = 0, len(packs)
            packs.append([])
        packs[number].append(row)
        heapq.heappush(heap, (filled + length, number))
    return packs


def wrapped(examples: Sequence[Example], size: int) -> Iterator[Documents]:
    """All examples end to end, cut every `size` tokens, borders ignored; the last pack may hold less."""
    documents: Documents = []
    room = size
    for index, example in enumerate(examples):
        start, n = 0, len(example.input_ids)
        while start < n:
            taken = min(room, n - start)
            documents.append((index, start, start + taken))
            start, room = start + taken, room - taken
            if not room:
                yield documents
                documents, room = [], size
    if documents:
        yield documents


def pack_wrapped(examples: Sequence[Example], size: int) -> Iterator[Pack]:
    """The packs of `wrapped`, in which nothing tells documents apart."""
    for documents in wrapped(examples, size):
        ids, labels, _ = columns_of([(examples[index], start, end) for index, start, end in documents])
        yield Pack(tuple(documents), ids, labels, attention_mask=(1,) * len(ids))
