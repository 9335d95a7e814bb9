"""The weights of trained tokens in the loss, counted so that the order of rows decides nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from sftui.audit.figures import WeightFigures
from sftui.model import Example

DIGITS = 3
LEAST, MOST = 1e-6, 1e6
"""Weights are counted by their first digits, those of another size together: so many names at most, whatever the data
brings."""


class Weights:
    """How many tokens are trained with which weight, and what all of these add up to, which is exact."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.other = self.unsummed = 0
        self.total = Fraction(0)
        self.known = False

    def add(self, examples: Sequence[Example]) -> set[str]:
        """What the trainer receives of one row; the names that its weights are counted by."""
        names = set()
        for example in examples:
            if example.weights is None:
                continue
            self.known = True
            for start, end, weight in example.weights.runs():
                count = end - start - example.labels[start:end].count(example.ignore_index)
                if count and weight:
                    names.add(name_of(weight))
                    self._count(weight, count)
        return names

    def _count(self, weight: float, count: int) -> None:
        self.counts[name_of(weight)] += count
        self.other += count if weight != 1 else 0
        if math.isfinite(weight):
            self.total += Fraction(weight) * count
        else:
            self.unsummed += count

    def merge(self, other: Weights) -> None:
        self.counts.update(other.counts)
        self.other += other.other
        self.unsummed += other.unsummed
        self.total += other.total
        self.known = self.known or other.known

    def figures(self) -> WeightFigures | None:
        """None where no row has weights."""
        if not self.known:
            return None
        ordered = sorted(self.counts.items(), key=lambda one: (-one[1], one[0]))
        return WeightFigures(self.other, self._sum(), dict(ordered))

    def _sum(self) -> float | None:
        try:
            return None if self.unsummed else float(self.total)
        except OverflowError:
            return None


def name_of(weight: float) -> str:
    """A weight as it is counted: its first digits."""
    if not math.isfinite(weight) or LEAST <= abs(weight) < MOST:
        return f"{weight:.{DIGITS}g}"
    if abs(weight) < LEAST:
        return f"above 0, below {LEAST:g}" if weight > 0 else f"below 0, above {-LEAST:g}"
    return f"{MOST:g} or more" if weight > 0 else f"{-MOST:g} or less"
