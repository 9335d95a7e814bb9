"""How often recipes differ over a dataset, row by row; parts of a dataset can be counted apart and merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from operator import add
from typing import Any

from sftui.comparison.rows import RowComparison


def evenly(count: int, most: int) -> Iterator[int]:
    """At most so many of the numbers below `count`, at even distances, 0 among them."""
    some = min(count, most)
    return (number * count // some for number in range(some))


@dataclass(frozen=True, slots=True)
class ComparisonCount:
    """What was counted so far; `trained`, `received`, `dropped` and `stopped` hold one figure a side.

    `one_sided` are rows that only some sides keep, `evaluation_differing` those that some train and others set aside
    for evaluation: they differ, but add no differing tokens. `nowhere` are rows that no side gets, `failing` those of
    them that some side could not prepare, `gone` the first of these, else of those. Rows that evaluate stand apart from
    what is trained, in `evaluation_rows` and `evaluation_tokens`, a figure a side. `first` are the first rows that
    differ, at most `keep`. `turned` are tokens that are trained otherwise, in `turned_rows`.
    """

    rows: int = 0
    differing_rows: int = 0
    differing_tokens: int = 0
    ids_differing: int = 0
    labels_differing: int = 0
    weights_differing: int = 0
    one_sided: int = 0
    evaluation_differing: int = 0
    nowhere: int = 0
    failing: int = 0
    turned: int = 0
    turned_rows: int = 0
    gone: RowComparison | None = None
    trained: tuple[int, ...] = ()
    received: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()
    stopped: tuple[int, ...] = ()
    evaluation_rows: tuple[int, ...] = ()
    evaluation_tokens: tuple[int, ...] = ()
    first: tuple[RowComparison, ...] = ()
    keep: int = 10

    def plus(self, row: RowComparison) -> ComparisonCount:
        """The count with one more row."""
        sides = row.sides
        return self.merged(
            ComparisonCount(
                rows=1,
                differing_rows=int(row.differs),
                differing_tokens=row.differing_tokens,
                ids_differing=row.ids_differing,
                labels_differing=row.labels_differing,
                weights_differing=row.weights_differing,
                one_sided=int(row.one_sided),
                evaluation_differing=int(row.evaluation_differs),
                nowhere=int(row.nowhere),
                failing=int(row.fails),
                turned=row.turned,
                turned_rows=int(row.turned > 0),
                gone=row if row.nowhere else None,
                trained=tuple(side.trained for side in sides),
                received=tuple(0 if side.evaluates else side.received for side in sides),
                dropped=tuple(int(side.gone is not None and not side.stopped) for side in sides),
                stopped=tuple(int(side.stopped) for side in sides),
                evaluation_rows=tuple(int(bool(side.evaluates)) for side in sides),
                evaluation_tokens=tuple(side.received if side.evaluates else 0 for side in sides),
                first=(row,) if row.differs else (),
                keep=self.keep,
            )
        )

    def merged(self, later: ComparisonCount) -> ComparisonCount:
        """This count and that of a later part of the same dataset."""
        summed = (field.name for field in fields(self) if field.name not in ("gone", "first", "keep"))
        return ComparisonCount(
            **{name: _sum(getattr(self, name), getattr(later, name)) for name in summed},
            gone=self.gone if self.failing or (self.gone and not later.failing) else later.gone,
            first=(*self.first, *later.first)[: self.keep],
            keep=self.keep,
        )


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, int):
        return one + other
    return tuple(map(add, one, other)) if one and other else one or other
