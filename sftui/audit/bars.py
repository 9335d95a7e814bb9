"""Histograms in steps that a plot has room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def length_bars(lengths: Mapping[int, int]) -> list[tuple[str, int]]:
    """Rows by length, in steps that double: below 16 tokens, below 32, …"""
    counts: Counter[int] = Counter()
    for length, count in lengths.items():
        counts[_step(length)] += count
    return [(_below(step), counts[step]) for step in range(min(counts, default=0), max(counts, default=-1) + 1)]


def length_bar(length: int) -> str:
    """The step that a length is counted in."""
    return _below(_step(length))


def _step(length: int) -> int:
    return max(4, length.bit_length())


def _below(step: int) -> str:
    return f"<{1 << step}" if step < 10 else f"<{1 << step - 10}k"


def share_bars(shares: Mapping[int, int]) -> list[tuple[str, int]]:
    """Rows by the per cent of their tokens that is trained, in tenths; none (0) and all (100) stand apart."""
    bars = {"0": 0, ">0": 0, **{f"≥{low}": 0 for low in range(10, 100, 10)}, "100": 0}
    for share, count in shares.items():
        bars[share_bar(share)] += count
    return list(bars.items())


def share_bar(share: int) -> str:
    """The tenth that a share in whole per cent is counted in."""
    if 10 <= share < 100:
        return f"≥{share // 10 * 10}"
    return ">0" if 0 < share < 10 else str(share)


def short(number: int) -> str:
    """A count in few characters: 999, 1.2k, 12k, 3M."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            few = f"{number / size:.1f}".rstrip("0").rstrip(".")
            return (few if number < 10 * size else str(number // size)) + letter
    return str(number)
