"""torchtune's PackedDataset: rows in order, padded with 0 to the full length.

Source: torchtune 0.6.1 and 0.7, torchtune/datasets/_packed.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sftui.errors import RecipeError
from sftui.model import IGNORE_INDEX, Example, Pack

PADDING = 0
"""The builders leave padding_idx at its default, whatever the tokenizer's pad token is."""


def pack_sequential(examples: Iterable[Example], size: int, *, split: bool, shifted: bool) -> Iterator[Pack]:
    """Packs of `size` tokens; a row that does not fit opens the next pack, or is split over both.

    RecipeError where a row is longer than a pack and rows are not split. Position ids restart with
    each row and go on through the padding. No more than one pack's rows are held. `shifted`: the labels are shifted
    before rows are packed (0.7), so that the last token of a pack learns the one that its row goes on with in the next.
    """
    held: list[tuple[int, int, int, Example]] = []
    room = size
    for index, example in enumerate(examples):
        n = len(example.input_ids)
        if n > size and not split:
            raise RecipeError(f"a row has {n} tokens and a pack holds {size}: torchtune stops", fix="raise length.max")
        start = 0
        if n > room and not split:
            yield _pack(held, size, shifted)
            held, room = [], size
        while n - start > room:
            if room:
                held.append((index, start, start + room, example))
            start += room
            yield _pack(held, size, shifted)
            held, room = [], size
        if n > start or not n:
            held.append((index, start, n, example))
            room -= n - start
    if any(end > start for _, start, end, _ in held):
        yield _pack(held, size, shifted)


def _pack(held: Sequence[tuple[int, int, int, Example]], size: int, shifted: bool) -> Pack:
    ids = [token for _, start, end, example in held for token in example.input_ids[start:end]]
    labels = [label for _, start, end, example in held for label in example.labels[start:end]]
    if shifted and held[0][1]:
        labels[0] = IGNORE_INDEX
    last, end = held[-1][3].labels, held[-1][2]
    positions = [place % size for _, start, end, _ in held for place in range(start, end)]
    gap = size - len(ids)
    after = positions[-1] + 1 if positions else 0
    return Pack(
        tuple((index, start, end) for index, start, end, _ in held),
        (*ids, *[PADDING] * gap),
        (*labels, *[IGNORE_INDEX] * gap),
        (*positions, *(min(after + step, size - 1) for step in range(gap))),
        follows=last[end] if shifted and end < len(last) else IGNORE_INDEX,
        seq_lens=(*(end - start for _, start, end, _ in held), *([gap] if gap else [])),
    )
