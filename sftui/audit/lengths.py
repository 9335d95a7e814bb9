"""Lengths of rows as an exact histogram, and what follows from it alone."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping


def quantiles(lengths: Mapping[int, int], shares: Iterable[float]) -> dict[float, int]:
    """For each share the smallest length that at least this part of the rows does not exceed; {} without rows."""
    total = sum(lengths.values())
    if not total:
        return {}
    ordered = sorted(lengths.items())
    found: dict[float, int] = {}
    for share in sorted(shares):
        wanted, seen = max(1, -(-int(share * total * 1_000_000) // 1_000_000)), 0
        for length, count in ordered:
            seen += count
            if seen >= wanted:
                found[share] = length
                break
    return found


def best_fit(lengths: Mapping[int, int], limit: int) -> tuple[int, int]:
    """Packs and padding tokens when rows, cut at `limit`, are packed best fit first, the longest first.

    Only the histogram counts, so whole groups of equal rows are placed at once: a pack with `free` tokens takes
    `free // length` of them before any other pack fits better.
    """
    cut: dict[int, int] = {}
    for length, count in lengths.items():
        if length > 0:
            cut[min(length, limit)] = cut.get(min(length, limit), 0) + count
    free: dict[int, int] = {}
    rooms: list[int] = []
    packs = 0
    for length in sorted(cut, reverse=True):
        left = cut[length]
        at = bisect_left(rooms, length)
        while left and at < len(rooms):
            room = rooms[at]
            each, held = room // length, free[room]
            full = min(held, left // each)
            _move(free, rooms, room, room - each * length, full)
            left -= full * each
            if left and full < held:
                _move(free, rooms, room, room - left * length, 1)
                left = 0
            at = bisect_left(rooms, room + 1)
        if left:
            each = limit // length
            whole, rest = divmod(left, each)
            packs += whole + (1 if rest else 0)
            _put(free, rooms, limit - each * length, whole)
            _put(free, rooms, limit - rest * length, 1 if rest else 0)
    return packs, packs * limit - sum(length * count for length, count in cut.items())


def _put(free: dict[int, int], rooms: list[int], room: int, packs: int) -> None:
    """`packs` more packs have `room` tokens free; `rooms` stays sorted."""
    if packs and room not in free:
        insort(rooms, room)
        free[room] = 0
    if packs:
        free[room] += packs


def _move(free: dict[int, int], rooms: list[int], room: int, to: int, packs: int) -> None:
    """`packs` of the packs with `room` tokens free have `to` free now."""
    if not packs:
        return
    free[room] -= packs
    if not free[room]:
        del free[room]
        del rooms[bisect_left(rooms, room)]
    _put(free, rooms, to, packs)
