"""LLaMA-Factory's lengths: cuts in proportion, turn by turn, and packs filled greedily.

Source: llamafactory 0.9.5, data/processor/processor_utils.py (infer_seqlen, greedy_knapsack) and
data/processor/supervised.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sftui.labels import pack_of
from sftui.model import Example, Pack

Pair = tuple[int, int]
"""Tokens of a source and of its target."""


def shares(source: int, target: int, room: int) -> Pair:
    """How many tokens of a source and its target are kept in `room` tokens, both from their start.

    A target under half the room is kept whole, else a source under half the room, else both are cut in proportion.
    """
    if target * 2 < room:
        most = room
    elif source * 2 < room:
        most = room - source
    else:
        most = int(room * (target / (source + target)))
    kept = min(most, target)
    return min(max(room - kept, 0), source), kept


def cut(pairs: Sequence[Pair], cutoff: int | None, *, reserved: int, last_first: bool) -> list[Pair]:
    """The kept tokens of each pair, in order; pairs that find no room keep (0, 0).

    `reserved` tokens are taken beforehand (the final EOS). `last_first` serves the last pair first.
    """
    if cutoff is None:
        return list(pairs)
    kept = [(0, 0)] * len(pairs)
    total = reserved
    order = range(len(pairs))
    for i in reversed(order) if last_first else order:
        if total >= cutoff:
            break
        kept[i] = shares(*pairs[i], cutoff - total)
        total += sum(kept[i])
    return kept


def knapsacks(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Lengths in packs: the longest that still fits goes in, until none does."""
    left = sorted(lengths)
    packs = []
    while left:
        pack: list[int] = []
        room = capacity
        while (at := bisect_right(left, room)) > 0:
            pack.append(left.pop(at - 1))
            room -= pack[-1]
        if not pack:  # longer than the capacity: LLaMA-Factory drops such rows before
            break
        packs.append(pack)
    return packs


def pack(examples: Sequence[Example], size: int, pad_id: int, *, neat: bool) -> Iterator[Pack]:
    """Packs of `size` tokens, one of which stays free; of equal lengths the later row goes first.

    The attention mask is all ones, padding included; with `neat` it numbers the documents and
    padding is 0. Position ids start anew with every document.
    """
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for index, example in enumerate(examples):
        if len(example.input_ids) < size:
            by_length[len(example.input_ids)].append(index)
    lengths = [length for length, found in by_length.items() for _ in found]
    for chosen in knapsacks(lengths, size - 1):
        rows = [by_length[length].pop() for length in chosen]
        made = pack_of(((row, examples[row]) for row in rows), size, pad_id)
        yield made if neat else replace(made, attention_mask=(1,) * size)
