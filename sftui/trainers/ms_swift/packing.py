"""Packs as ms-swift makes them: rows put into as few sequences as it finds, a thousand at a time, or in order.

Source: ms-swift 4.6.0, dataset/packing.py (PackingDataset.create_packed_idx, calculate_matched_group), template/base.py
(packing_row); binpacking 2 (to_constant_volume): the longest first, each into the emptiest pack that has room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sftui import labels as label_rules
from sftui.model import Example, Pack

GROUP = 1000
"""PackingDataset.PACKING_BATCH_SIZE; of each but the last group the last pack goes on into the next."""

Placed = tuple[int, Example]
"""The place of an example among all, and itself."""


def packs(examples: Iterable[Example], size: int, in_order: bool) -> Iterator[Pack]:
    """The packs of examples in their order; the examples of a group are held at a time."""
    held: list[Placed] = []
    fresh = 0
    for number, example in enumerate(examples):
        if fresh == GROUP:
            *whole, held = _packed(held, size, in_order)
            yield from map(_pack, whole)
            fresh = 0
        held.append((number, example))
        fresh += 1
    if held:
        yield from map(_pack, filter(None, _packed(held, size, in_order)))


def _packed(held: Sequence[Placed], size: int, in_order: bool) -> list[list[Placed]]:
    """The packs of a group; in order the last one is what is still open, which may be empty."""
    return _in_order(held, size) if in_order else _emptiest(held, size)


def _emptiest(held: Sequence[Placed], size: int) -> list[list[Placed]]:
    found: list[list[Placed]] = [[]]
    sums = [0]
    for one in sorted(held, key=lambda placed: -len(placed[1].input_ids)):
        length = len(one[1].input_ids)
        fits = [i for i, held_there in enumerate(sums) if held_there + length <= size]
        if fits:
            place = min(fits, key=sums.__getitem__)
        elif found[0]:
            place = len(found)
            found.append([])
            sums.append(0)
        else:
            place = 0
        found[place].append(one)
        sums[place] += length
    return found


def _in_order(held: Sequence[Placed], size: int) -> list[list[Placed]]:
    found: list[list[Placed]] = []
    now: list[Placed] = []
    total = 0
    for one in held:
        length = len(one[1].input_ids)
        if now and total + length > size:
            found.append(now)
            now, total = [], 0
        now.append(one)
        total += length
        if total >= size:
            found.append(now)
            now, total = [], 0
    return [*found, now]


def _pack(rows: Sequence[Placed]) -> Pack:
    """Rows one after the other, position ids from 0 in each, and no mask."""
    return replace(label_rules.pack_of(rows), attention_mask=None)
