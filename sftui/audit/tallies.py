"""Named counts with their first rows, bounded however many names the data brings."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable

from sftui.audit.figures import GroupFigure

MOST_NAMES = 2000
FIRST_ROWS = 50
OTHERS = "others"


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
        return tuple(
            GroupFigure(name, count, tuple(self.rows[name]))
            for name, count in sorted(self.counts.items(), key=lambda one: (-one[1], one[0]))
        )


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
