"""Named counts with their first rows, bounded however many names the data brings; which rows stand behind each number,
and the weights of trained tokens."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from sftui.audit.figures import GroupFigure, WeightFigures
from sftui.model import Example

MOST_NAMES = 2000
FIRST_ROWS = 50
OTHERS = "others"


def largest(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts, the largest first, equal ones by name."""
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


class Tallies:
    """How many rows have each name, and the first of them; later names beyond `MOST_NAMES` are counted together."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.rows: dict[str, list[int]] = {}

    def add(self, name: str, row: int) -> None:
        held = self.rows.get(name)
        if held is not None and len(held) == FIRST_ROWS and row > held[-1]:
            self.counts[name] += 1
        else:
            self._put(name, 1, (row,))

    def merge(self, other: Tallies) -> None:
        for name, count in other.counts.items():
            self._put(name, count, other.rows[name])

    def _put(self, name: str, count: int, rows: Iterable[int]) -> str:
        """The name it is counted under."""
        if name not in self.counts and len(self.counts) >= MOST_NAMES:
            name = OTHERS
        self.counts[name] = self.counts.get(name, 0) + count
        held = self.rows.setdefault(name, [])
        if len(held) < FIRST_ROWS:
            held.extend(rows)
        else:
            last = held[-1]
            earlier = [row for row in rows if row < last]
            if not earlier:
                return name
            held.extend(earlier)
        held.sort()
        del held[FIRST_ROWS:]
        return name

    def figures(self) -> tuple[GroupFigure, ...]:
        """The largest first, equal ones by name."""
        return tuple(GroupFigure(name, count, tuple(self.rows[name])) for name, count in largest(self.counts).items())


KINDS = (
    "verdict",
    "findings",
    "length",
    "trained share",
    "over",
    "no label under",
    "role",
    "part",
    "message",
    "special",
    "weight",
    "repeats",
    "dropped for",
    "stopped at",
    "roles",
    "template",
    "source",
    "evaluation",
)
"""What rows are listed by: a number of the figures each, or a list of them."""


def listed_by(kind: str, name: str) -> str:
    """How the rows behind a number are requested; `kind` is one of `KINDS`, `name` as the figures have it."""
    return f"{kind}: {name}"


class Listing:
    """Every row of each name, in order, four bytes a row and name; for an audit that reads alone, row after row.

    Later names of a kind beyond `MOST_NAMES` are listed together, as they are counted.
    """

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._names: Counter[str] = Counter()

    def add(self, kind: str, name: str, row: int) -> None:
        """One more row, which may be added several times in turn."""
        by = listed_by(kind, name)
        held = self._rows.get(by)
        if held is None:
            if self._names[kind] >= MOST_NAMES:
                by = listed_by(kind, OTHERS)
            self._names[kind] += 1
            held = self._rows.setdefault(by, array("I"))
        if not held or held[-1] != row:
            held.append(row)

    def rows(self, by: str) -> array[int] | None:
        """The rows that are requested as `listed_by` says it; None where there is no such number."""
        kind = by.partition(": ")[0]
        return self._rows.get(by, array("I")) if kind in KINDS else None


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
                    self.counts[name_of(weight)] += count
                    self.other += count if weight != 1 else 0
                    self.total += Fraction(weight) * count if math.isfinite(weight) else 0
                    self.unsummed += count if not math.isfinite(weight) else 0
        return names

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
        return WeightFigures(self.other, self._sum(), largest(self.counts))

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
