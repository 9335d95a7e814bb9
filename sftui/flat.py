"""Whole numbers along the tokens of a row, four bytes each: as gigatoken gives ids and as Arrow takes them."""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Flat: TypeAlias = "array[int]"
Ranges = tuple[tuple[int, int], ...]
"""Half open and in order."""


def flat(numbers: Sequence[int], code: str = "i") -> Flat:
    """The same numbers as items of `array`; struct.error where an item cannot hold one. `struct` takes half as long as
    `array` itself."""
    return array(code, struct.pack(f"{len(numbers)}{code}", *numbers))


_ONES = re.compile(rb"\x01+")


def labelled(labels: Iterable[int], ignore: int = -100) -> Ranges:
    """Where labels are not `ignore`."""
    return tuple([run.span() for run in _ONES.finditer(bytes([label != ignore for label in labels]))])


def masked(number: int, ranges: Ranges, numbers: Flat) -> Flat:
    """The numbers inside of the ranges, and `number` outside of them."""
    made = array("i", (number,)) * len(numbers)
    for start, end in ranges:
        made[start:end] = numbers[start:end]
    return made


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in order, those that are empty left out and neighbours joined."""
    found: list[tuple[int, int]] = []
    for start, end in ranges:
        if start < end:
            found.append((found.pop()[0] if found and found[-1][1] == start else start, end))
    return tuple(found)


def first(ranges: Iterable[tuple[int, int]], most: int) -> Ranges:
    """No more than `most` positions of ranges."""
    kept: list[tuple[int, int]] = []
    for start, end in ranges:
        kept.append((start, min(end, start + most)))
        most -= kept[-1][1] - start
    return merged(kept)


def cut(ranges: Ranges, numbers: Flat) -> Flat:
    """What of the numbers lies in the ranges."""
    if len(ranges) == 1:
        return numbers if ranges == ((0, len(numbers)),) else numbers[ranges[0][0] : ranges[0][1]]
    made = array("i")
    for start, end in ranges:
        made += numbers[start:end]
    return made


def covered(ranges: Ranges, since: int = 0) -> int:
    """How many tokens lie in the ranges, of those from `since` on."""
    if not since:
        return sum([end - start for start, end in ranges])
    return sum([end - max(start, since) for start, end in ranges if end > since])


def within(places: Sequence[int], ranges: Ranges) -> list[int]:
    """Which of some places, in order, lie in the ranges."""
    return [at for start, end in ranges for at in places[bisect_left(places, start) : bisect_left(places, end)]]


def overlap(ranges: Ranges, kept: Ranges) -> Ranges:
    """What of the ranges lies in those that are kept."""
    return tuple([(max(a, c), min(b, d)) for c, d in kept for a, b in ranges if a < d and b > c])


def moved(ranges: Ranges, kept: Ranges) -> Ranges:
    """Ranges as they are in what is left of a row, where the kept ones are."""
    found, at = [], 0
    for start, end in kept:
        found += [(a - start + at, b - start + at) for a, b in overlap(ranges, ((start, end),))]
        at += end - start
    return tuple(found)
