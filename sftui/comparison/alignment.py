"""Where two or more tokenizations of one row correspond.

Rendered texts may differ (another template, another trainer), so every text is laid onto one axis:
equal message contents are matched first, offset by offset, and what lies between them by a diff of
its words. Tokens that overlap on the axis share a column.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from sftui.model import common_prefix

Range = tuple[int, int]
"""Half open: characters of a text, or tokens of a side."""

_CHUNK = re.compile(r"<[^<>\s]{1,40}>|\w+|\s|.", re.DOTALL)
_SMALL = 250_000
"""So many pairs of words are compared each with each; longer stretches are first pinned down by runs of words."""

_RUNS = (8, 3)
"""Lengths of the runs of words that pin: those that stand exactly once in both texts."""


@dataclass(frozen=True, slots=True)
class AlignedSide:
    """One side: its text, where message contents stand in it, and each token's ids and characters.

    `starts` and `ends` are -1 where a token stands for no text.
    """

    text: str
    contents: tuple[Range, ...]
    ids: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def align(sides: Sequence[AlignedSide]) -> tuple[tuple[Range, ...], ...]:
    """Columns in order: of each side the range of its tokens there, empty where it has none.

    A column holds one token a side, or several where the sides cut the same text differently.
    """
    if all(side.ids == sides[0].ids and side.text == sides[0].text for side in sides[1:]):
        return tuple(((i, i + 1),) * len(sides) for i in range(len(sides[0].ids)))
    spans = [_spans(side, places) for side, places in zip(sides, _axis(sides))]
    return tuple(_columns(sides, spans))


def _axis(sides: Sequence[AlignedSide]) -> list[list[int]]:
    """For every side, the place of each of its characters on the common axis."""
    axis = sides[0].text
    placed = [list(range(len(axis)))]
    for number, side in enumerate(sides[1:], 1):
        same = next((k for k in range(number) if sides[k].text == side.text), None)
        if same is not None:
            placed.append(list(placed[same]))
            continue
        matched = _matched(axis, placed[0], sides[0], side)
        grown: list[str] = []
        moved: list[int] = []
        own: list[int] = []
        for char, at in zip(side.text, matched):
            if at is None:
                own.append(len(grown))
                grown.append(char)
                continue
            while len(moved) <= at:
                moved.append(len(grown))
                grown.append(axis[len(moved) - 1])
            own.append(moved[at])
        while len(moved) < len(axis):
            moved.append(len(grown))
            grown.append(axis[len(moved) - 1])
        placed = [[moved[at] for at in places] for places in placed]
        placed.append(own)
        axis = "".join(grown)
    return placed


def _matched(axis: str, base_places: list[int], base: AlignedSide, side: AlignedSide) -> list[int | None]:
    """The place on the axis of each character of `side`, rising; None where it has no equal there."""
    found: list[int | None] = []
    at = 0
    for (base_start, base_end), (start, _) in _anchors(base, side):
        first = base_places[base_start]
        found += _diff(axis, at, first, side.text[len(found) : start])
        found += base_places[base_start:base_end]
        at = base_places[base_end - 1] + 1
    found += _diff(axis, at, len(axis), side.text[len(found) :])
    return found


def _anchors(base: AlignedSide, side: AlignedSide) -> Iterator[tuple[Range, Range]]:
    """Message contents that both texts have, in the same order."""
    ours = [span for span in base.contents if span[0] < span[1]]
    theirs = [span for span in side.contents if span[0] < span[1]]
    matcher = SequenceMatcher(
        None, [base.text[a:b] for a, b in ours], [side.text[a:b] for a, b in theirs], autojunk=False
    )
    for block in matcher.get_matching_blocks():
        yield from zip(ours[block.a : block.a + block.size], theirs[block.b : block.b + block.size])


def _diff(axis: str, start: int, end: int, text: str) -> list[int | None]:
    """The places between `start` and `end` of the axis that the characters of `text` match, word by word."""
    ours, theirs = _CHUNK.findall(axis[start:end]), _CHUNK.findall(text)
    head = common_prefix(ours, theirs)
    tail = common_prefix(ours[head:][::-1], theirs[head:][::-1])
    between = _blocks(ours[head : len(ours) - tail], theirs[head : len(theirs) - tail], _RUNS)
    blocks = [(0, 0, head), *[(head + a, head + b, size) for a, b, size in between]]
    blocks.append((len(ours) - tail, len(theirs) - tail, tail))
    partner = {b + i: a + i for a, b, size in blocks for i in range(size)}
    places, at = [], start
    for chunk in ours:
        places.append(at)
        at += len(chunk)
    found: list[int | None] = []
    for number, chunk in enumerate(theirs):
        twin = partner.get(number)
        found += [None] * len(chunk) if twin is None else range(places[twin], places[twin] + len(chunk))
    return found


def _blocks(ours: Sequence[str], theirs: Sequence[str], runs: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Stretches of equal words as (start, start, size), in order; a long stretch that nothing pins down has none."""
    if len(ours) * len(theirs) <= _SMALL:
        if ours and theirs:
            for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
                yield block.a, block.b, block.size
        return
    if not runs:
        return
    a = b = 0
    for pin_a, pin_b in (*_pins(ours, theirs, runs[0]), (len(ours), len(theirs))):
        if pin_a < a or pin_b < b:  # inside the last stretch
            continue
        size = 0
        while pin_a + size < len(ours) and pin_b + size < len(theirs) and ours[pin_a + size] == theirs[pin_b + size]:
            size += 1
        for x, y, inner in _blocks(ours[a:pin_a], theirs[b:pin_b], runs[1:]):
            yield a + x, b + y, inner
        yield pin_a, pin_b, size
        a, b = pin_a + size, pin_b + size


def _pins(ours: Sequence[str], theirs: Sequence[str], length: int) -> list[tuple[int, int]]:
    """Where the runs of words stand that occur once in both, the longest rising sequence of them."""
    first, second = _once(ours, length), _once(theirs, length)
    pairs = sorted((at, second[run]) for run, at in first.items() if run in second)
    tails: list[int] = []  # of rising sequences, by their length: the least last place, and which pair that is
    last: list[int] = []
    before: list[int | None] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(tails, place)
        before.append(last[at - 1] if at else None)
        tails[at : at + 1] = [place]
        last[at : at + 1] = [number]
    found: list[tuple[int, int]] = []
    step = last[-1] if last else None
    while step is not None:
        found.append(pairs[step])
        step = before[step]
    return found[::-1]


def _once(words: Sequence[str], length: int) -> dict[tuple[str, ...], int]:
    """Where each run of `length` words stands that occurs once."""
    places: dict[tuple[str, ...], int] = {}
    twice = set()
    for at in range(len(words) - length + 1):
        run = tuple(words[at : at + length])
        if run in places:
            twice.add(run)
        places[run] = at
    return {run: at for run, at in places.items() if run not in twice}


def _spans(side: AlignedSide, places: list[int]) -> list[Range | None]:
    """The stretch of the axis that each token covers; None for one that stands for no text."""
    return [
        (places[start], places[end - 1] + 1) if 0 <= start < end <= len(places) else None
        for start, end in zip(side.starts, side.ends)
    ]


def _columns(sides: Sequence[AlignedSide], spans: Sequence[Sequence[Range | None]]) -> Iterator[tuple[Range, ...]]:
    """Columns from left to right; tokens without text stand before the next token of their side that has some."""
    done = [0] * len(sides)
    for group in _groups(spans):
        loose = [(done[k], group[k][0]) if k in group else (done[k], done[k]) for k in range(len(sides))]
        yield from _one_by_one(loose)
        done = [end for _, end in loose]
        cells = [group.get(k, (done[k], done[k])) for k in range(len(sides))]
        there = {sides[k].ids[a:b] for k, (a, b) in enumerate(cells) if a < b}
        if len(there) == 1:
            yield from _one_by_one(cells)
        else:
            yield tuple(cells)
        done = [b for _, b in cells]
    yield from _one_by_one([(done[k], len(side.ids)) for k, side in enumerate(sides)])


def _one_by_one(cells: Sequence[Range]) -> Iterator[tuple[Range, ...]]:
    for step in range(max((b - a for a, b in cells), default=0)):
        yield tuple((a + step, a + step + 1) if a + step < b else (b, b) for a, b in cells)


def _groups(spans: Sequence[Sequence[Range | None]]) -> Iterator[dict[int, Range]]:
    """Sets of tokens that overlap on the axis, each as a token range a side, from left to right."""
    tokens = sorted(
        (span[0], span[1], side, token)
        for side, own in enumerate(spans)
        for token, span in enumerate(own)
        if span is not None
    )
    group: dict[int, Range] = {}
    reach = -1
    for start, end, side, token in tokens:
        if group and start >= reach:
            yield group
            group, reach = {}, -1
        first, last = group.get(side, (token, token + 1))
        group[side] = (min(first, token), max(last, token + 1))
        reach = max(reach, end)
    if group:
        yield group
