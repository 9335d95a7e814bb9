"""Where the documents of a stored pack begin and end, by what is stored next to its ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any

from sftui.conversations.tokenized import attended
from sftui.model import Conversation

Ranges = tuple[tuple[int, int], ...]


def documents_of(conversation: Conversation) -> Ranges:
    """The documents of a row of ids as half-open ranges of its tokens, padding outside of them.

    By `seq_lengths`, else by numbers in the attention mask, else by position ids, which start anew at 0 with each
    document. One document, without the padding that the attention mask tells, where nothing says more.
    """
    count, mask = len(conversation.input_ids), conversation.attention_mask
    start, end = 0, count
    if mask is not None and len(mask) == count and 1 in mask:
        start, end = mask.index(1), attended(mask, count)
    lengths = _numbers(conversation.extra.get("seq_lengths"))
    if lengths and all(length > 0 for length in lengths) and sum(lengths) <= count:
        places = [0, *accumulate(lengths)]
        return tuple((a, b) for a, b in pairwise(places) if a < end)
    if mask is not None and len(set(mask) - {0}) > 1:
        ranges = [*_numbered(mask)]  # a mask of every position against each other may number padding, too
        return tuple(ranges[:-1] if conversation.labels and _pads(conversation, ranges) else ranges)
    positions = _numbers(conversation.extra.get("position_ids"))
    if len(positions) == count:
        starts = [start, *(i for i in range(start + 1, end) if positions[i] == 0)]
        ranges = [*pairwise([*starts, end])]
        # Padding without an attention mask: positions that stay at 0 to the end.
        while mask is None and len(ranges) > 1 and ranges[-1][1] - ranges[-1][0] == 1 and _pads(conversation, ranges):
            ranges.pop()
        return tuple(ranges)
    return ((start, end),)


def _pads(conversation: Conversation, ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether the last of some documents is padding: one token over and over, which nothing trains."""
    ids, own = conversation.input_ids, slice(*ranges[-1])
    return len({*ids[own], ids[-1]}) == 1 and max((conversation.labels or (-1,))[own], default=-1) < 0


def _numbered(mask: Sequence[int]) -> Iterator[tuple[int, int]]:
    at = 0
    for number, some in groupby(mask):
        length = len([*some])
        if number:
            yield at, at + length
        at += length


def _numbers(values: Any) -> list[int]:
    """A stored list of whole numbers; empty for anything else."""
    sound = isinstance(values, (list, tuple)) and all(type(one) is int for one in values)
    return [*values] if sound else []
