"""Values along the tokens of a row: whole numbers of four bytes each, as gigatoken gives ids and as Arrow takes them
(`Flat`), ranges of tokens, and runs of equal values: who wrote them, which part, why trained.

A row of thousands of tokens has a few dozen runs, so what goes by runs costs no more for longer messages. Read by
position they are a sequence like any other.
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise, repeat
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload

from sftui.values import value_class

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


T = TypeVar("T")
_SAME = re.compile(rb"(.)\1*", re.DOTALL)


@value_class
class Runs(Sequence[T], Generic[T]):
    """Run k holds `values[k]` and ends before position `ends[k]`; no run is empty, and neighbours differ."""

    ends: tuple[int, ...] = ()
    values: tuple[T, ...] = ()

    def runs(self) -> Iterator[tuple[int, int, T]]:
        """Each run: its half-open range and its value."""
        return zip((0, *self.ends), self.ends, self.values)

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Runs[T]: ...
    def __getitem__(self, at: int | slice) -> T | Runs[T]:
        size = len(self)
        if isinstance(at, slice):
            start, stop, step = at.indices(size)
            if step != 1:
                return as_runs(tuple(self)[at])
            if stop <= start:
                return Runs()
            part = slice(bisect_right(self.ends, start), bisect_left(self.ends, stop) + 1)
            return Runs(tuple([min(end, stop) - start for end in self.ends[part]]), self.values[part])
        place = at + size if at < 0 else at
        if not 0 <= place < size:
            raise IndexError(at)
        return self.values[bisect_right(self.ends, place)]

    def __iter__(self) -> Iterator[T]:
        lengths = (end - start for start, end in pairwise((0, *self.ends)))
        return chain.from_iterable(map(repeat, self.values, lengths))

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def count(self, value: Any) -> int:
        return sum(end - start for start, end, one in self.runs() if one == value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Runs):
            return (self.ends, self.values) == (other.ends, other.values)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.ends, self.values))


def joined(parts: Iterable[tuple[int, T]]) -> Runs[T]:
    """Runs from (length, value) in order; lengths below 1 are none."""
    ends: list[int] = []
    values: list[T] = []
    at = 0
    for length, value in parts:
        if length > 0:
            at += length
            if values and values[-1] == value:
                ends[-1] = at
            else:
                ends.append(at)
                values.append(value)
    return Runs(tuple(ends), tuple(values))


def as_runs(values: Sequence[T]) -> Runs[T]:
    """The same values as runs."""
    if isinstance(values, Runs):
        return values
    return joined((sum(1 for _ in some), value) for value, some in groupby(values))


Stretch = tuple[int, int, int, Any]
"""Tokens that follow each other and are of one message and one part: from, to, message, part."""


class LazyRuns(Runs[T]):
    """One side of the stretches of a row, who wrote them or which part they are: runs that are made when one asks."""

    __slots__ = ("_at", "stretches")
    stretches: tuple[Stretch, ...]
    _at: int

    def __init__(self, stretches: tuple[Stretch, ...], at: int) -> None:
        self.stretches, self._at = stretches, at

    def __getattr__(self, name: str) -> Any:
        if name not in ("ends", "values"):
            raise AttributeError(name)
        at = self._at
        made = joined((stretch[1] - stretch[0], stretch[at]) for stretch in self.stretches)
        super().__init__(made.ends, cast("tuple[T, ...]", made.values))
        return getattr(made, name)

    def __reduce__(self) -> tuple[type[Runs[T]], tuple[tuple[int, ...], tuple[T, ...]]]:
        return Runs, (self.ends, self.values)

    def __len__(self) -> int:
        return self.stretches[-1][1] if self.stretches else 0


def sides(stretches: tuple[Stretch, ...]) -> tuple[LazyRuns[int], LazyRuns[Any]]:
    """Who wrote tokens and which part they are, by their stretches: these are in order, none is empty, neighbours
    differ."""
    return LazyRuns(stretches, 2), LazyRuns(stretches, 3)


def stretches_of(first: Sequence[T], second: Sequence[Any]) -> tuple[tuple[int, int, T, Any], ...] | None:
    """The stretches of which two sequences are the sides; None where they are not."""
    if type(first) is not LazyRuns or type(second) is not LazyRuns or first.stretches is not second.stretches:
        return None
    found: tuple[tuple[int, int, Any, Any], ...] = first.stretches
    return found


class RunWriter(Generic[T]):
    """One of a few values for each token of a row, written over any number of times and then read as runs."""

    def __init__(self, size: int, first: T) -> None:
        self._marks = bytearray(size)
        self._values: list[T] = [first]
        self._numbers: dict[T, int] = {first: 0}

    def put(self, start: int, end: int, value: T) -> None:
        """Write a value over a range, as far as it lies in the row."""
        number = self._numbers.setdefault(value, len(self._values))
        if number == len(self._values):
            self._values.append(value)
        end = min(end, len(self._marks))
        self._marks[start:end] = bytes((number,)) * (end - start)

    def at(self, place: int) -> T:
        return self._values[self._marks[place]]

    def __len__(self) -> int:
        return len(self._marks)

    def runs(self) -> Runs[T]:
        ends = [run.end() for run in _SAME.finditer(self._marks)]
        return Runs(tuple(ends), tuple([self._values[self._marks[end - 1]] for end in ends]))


def places_of(values: Sequence[T], wanted: Iterable[T]) -> list[int]:
    """Where any of some values stands, in order; quick where they are rare."""
    found: list[int] = []
    for value in set(wanted):
        at = -1
        try:
            while True:
                at = values.index(value, at + 1)
                found.append(at)
        except ValueError:  # there is no other one
            continue
    return sorted(found)


def clipped(runs: Runs[T], start: int, end: int) -> Iterator[tuple[int, int, T]]:
    """The runs inside a range, and what of them lies in it."""
    at = bisect_right(runs.ends, start)
    while start < end and at < len(runs.ends):
        until = min(end, runs.ends[at])
        yield start, until, runs.values[at]
        start, at = until, at + 1


def together(first: Sequence[T], second: Sequence[Any]) -> Iterable[tuple[int, int, T, Any]]:
    """The stretches of two sequences along the same tokens in which neither changes: range and values."""
    known = stretches_of(first, second)
    return _together(first, second) if known is None else known


def _together(first: Sequence[T], second: Sequence[Any]) -> Iterator[tuple[int, int, T, Any]]:
    one, other = as_runs(first), as_runs(second)
    start = i = k = 0
    while i < len(one.ends) and k < len(other.ends):
        end = min(one.ends[i], other.ends[k])
        yield start, end, one.values[i], other.values[k]
        i, k = i + (one.ends[i] == end), k + (other.ends[k] == end)
        start = end
