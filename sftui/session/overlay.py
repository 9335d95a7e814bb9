"""Repairs laid over the rows of a source: everybody who reads rows gets them repaired, the file stays as it is."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from sftui.model import Row
from sftui.repairs.lines import RepairedRow, row_of
from sftui.repairs.model import RepairLayout
from sftui.repairs.rows import fingerprint
from sftui.repairs.run import Codes, RepairPlan, RunCounts, apply_plan, double_of
from sftui.sources import Source


class Overlay:
    """The rows of a source as a plan of repairs would write them, under their old numbers.

    `over` gives a row that would be left out too, and says so (`Row.left_out`); `rows` gives only those that stay.
    Whoever reads the rows in order counts them on the way: `counts` and the row numbers in `changed` and `dropped`
    are of the first `upto` rows. Duplicates are known among those only.
    """

    def __init__(self, stored: Source, plan: RepairPlan, layout: RepairLayout, codes: Codes | None = None) -> None:
        self.stored = stored
        self.plan = plan
        self.counts = RunCounts()
        self.changed, self.dropped = array("L"), array("L")
        self.upto = 0
        self._layout = layout
        self._codes = codes
        self._first: dict[bytes, int] = {}
        self._doubles: dict[int, int] = {}

    def repair(self, row: Row) -> RepairedRow:
        """What becomes of a row of the source."""
        done = apply_plan(row, self.plan, self._layout, self._codes)
        if row.index == self.upto:
            return self._next(done)
        first = self._doubles.get(row.index)
        return done if first is None else double_of(done, first)

    def _next(self, done: RepairedRow) -> RepairedRow:
        """Take in the row that follows those that were seen."""
        index = done.row.index
        if self.plan.deduplicate and done.dropped is None and done.data is not None:
            first = self._first.setdefault(fingerprint(done.data, self._layout), index)
            if first != index:
                self._doubles[index] = first
                done = double_of(done, first)
        self.upto = index + 1
        self.counts.add(done)
        if done.dropped is not None:
            self.dropped.append(index)
        elif done.changes:
            self.changed.append(index)
        return done

    def over(self, row: Row) -> Row:
        """A row of the source with the repairs."""
        return row_of(self.repair(row))

    def rows(self, start: int = 0) -> Iterator[Row]:
        """Every row from `start` on that stays, in order."""
        if self.plan.deduplicate:  # what stands before decides on what comes
            for row in self.stored.rows(self.upto) if self.upto < start else ():
                if row.index >= start:
                    break
                self.repair(row)
        for row in self.stored.rows(start):
            done = self.repair(row)
            if done.dropped is None:
                yield row_of(done)
