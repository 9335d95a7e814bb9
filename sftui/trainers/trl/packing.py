"""TRL's packing: best fit decreasing, with or without splitting, and wrapped.

Source: trl 1.16.0, trl/data_utils.py `_pack_bfd`, `_pack_wrapped`, `pack_dataset`; 0.24 and 1.8 to 1.15 were read, too,
and tests/parity/test_parity_trl_packing.py holds the TRL that each trainer brings against them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sftui.model import Example, Pack


@dataclass(slots=True)
class _Bin:
    documents: list[tuple[int, int, int]] = field(default_factory=list)


def pack_bfd(examples: Sequence[Example], size: int, *, split: bool) -> Iterator[Pack]:
    """Each example cut to `size` (or split into chunks of it), longest first into the fullest bin that fits.

    Ties keep their order; bins with equal space are filled oldest first; empty examples go.
    """
    documents: list[tuple[int, int, int]] = []
    for index, example in enumerate(examples):
        n = len(example.input_ids)
        if split:
            documents.extend((index, start, min(start + size, n)) for start in range(0, n, size))
        elif n:
            documents.append((index, 0, min(n, size)))
    bins: list[_Bin] = []
    by_space: defaultdict[int, deque[_Bin]] = defaultdict(deque)
    spaces: list[int] = [size]  # sorted; a fresh bin is always on offer
    for document in sorted(documents, key=lambda d: d[1] - d[2]):
        length = document[2] - document[1]
        space = spaces[bisect_left(spaces, length)]
        if space < size:
            chosen = by_space[space].popleft()
            if not by_space[space]:
                spaces.remove(space)
        else:
            chosen = _Bin()
            bins.append(chosen)
        chosen.documents.append(document)
        left = space - length
        if left:
            if not by_space[left]:
                insort(spaces, left)
            by_space[left].append(chosen)
    for one in bins:
        yield _flatten(examples, one.documents, restart=True)


def pack_wrapped(examples: Sequence[Example], size: int) -> Iterator[Pack]:
    """All examples end to end, sliced every `size` tokens, borders ignored."""
    documents: list[tuple[int, int, int]] = []
    room = size
    for index, example in enumerate(examples):
        start, n = 0, len(example.input_ids)
        while start < n:
            taken = min(room, n - start)
            documents.append((index, start, start + taken))
            start, room = start + taken, room - taken
            if not room:
                yield _flatten(examples, documents, restart=False)
                documents, room = [], size
    if documents:
        yield _flatten(examples, documents, restart=False)


def _flatten(examples: Sequence[Example], documents: Sequence[tuple[int, int, int]], *, restart: bool) -> Pack:
    ids: list[int] = []
    labels: list[int] = []
    positions: list[int] = []
    for index, start, end in documents:
        example = examples[index]
        ids.extend(example.input_ids[start:end])
        labels.extend(example.labels[start:end])
        positions.extend(range(end - start))
    return Pack(
        documents=tuple(documents),
        input_ids=tuple(ids),
        labels=tuple(labels),
        position_ids=tuple(positions) if restart else None,
        attention_mask=None if restart else (1,) * len(ids),
    )
