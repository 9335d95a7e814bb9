"""Named counts with their first rows, bounded however many names the data brings."""

from __future__ import annotations

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
