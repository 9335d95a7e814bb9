"""Open data of which only the rows that an expression means are read in order, under the numbers that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from sftui.errors import RecipeError
from sftui.model import Inspection, Row
from sftui.session.marks import known_marks
from sftui.session.opened import OpenData, RowSplit
from sftui.where import NO_MARKS, Filter, FilterCount, Need, RowValues

if TYPE_CHECKING:
    from sftui.findings import Finding

Data = TypeVar("Data", bound=OpenData)


class MatchingRows(FilterCount):
    """The rows that match, and how many of those up to the last one that was read; rows that are read again are counted
    once. `marks` are the kinds of those that are marked, by default those that are known of the data."""

    def __init__(self, opened: OpenData, wanted: Filter, marks: Mapping[int, str] | None = None) -> None:
        from sftui.repairs.run import layout_of

        base = replace(opened, known=RowSplit())  # which rows evaluate is found out among those that match

        def inspect(row: Row) -> Inspection:
            return base.ready().inspect_row(row, spans=wanted.need is Need.CHECKED, text=False)

        def check(made: Inspection) -> tuple[Finding, ...]:
            return base.ready().found(made)

        self._stale = False
        if wanted.marks and marks is None:
            known, self._stale = known_marks(opened.options)
            marks = known.kinds()
        super().__init__(wanted, RowValues(layout_of(opened.detected), inspect, check, marks or NO_MARKS))
        self._upto = 0

    def add(self, row: Row) -> bool:
        if row.index < self._upto:
            return self.decides(row)
        self._upto = row.index + 1
        return super().add(row)

    def sentences(self) -> Iterator[str]:
        yield from super().sentences()
        if self._stale:
            yield "the data changed after its rows were marked: check that the marks still apply"


def filter_of(opened: OpenData, text: str) -> Filter:
    """The expression, for this data; RecipeError where it is none, or names what no row has, SftuiError where it needs
    tokens and there are none."""
    wanted = Filter(text)
    keys = dict.fromkeys(str(key) for row in opened.stored.sample if row.data is not None for key in row.data)
    if keys and opened.stored.whole:
        wanted.refuse_unknown(keys)
    if wanted.need is not Need.RECORD:
        opened.ready()
    return wanted


def matching(opened: Data) -> Data:
    """The same data with only the rows that its options ask for; the very same where they ask for all."""
    where = opened.options.where
    return opened if where is None else replace(opened, only=MatchingRows(opened, filter_of(opened, where)))


def needs_tokens(where: str | None) -> bool:
    """Whether an expression asks what the trainer makes of a row; RecipeError where it is none."""
    return where is not None and Filter(where).need is not Need.RECORD


def refuse_where(given: Mapping[str, Any], why: str) -> None:
    """RecipeError where options choose or repair rows and `why` says that this cannot be."""
    for option, done in (("where", "filtered"), ("apply", "repaired"), ("edits", "edited")):
        if given.get(option):
            fix = f"write the rows to a file first, with `sftui repair --{'marks' if option == 'edits' else option}`"
            raise RecipeError(f"rows cannot be {done} here", why=why, fix=fix)


def stored_rows(opened: OpenData) -> Iterator[tuple[Row, bytes | None]]:
    """Each row that is wanted as it is stored, without repairs, with its own line where it has one."""
    lines, only = opened.source.lines(), opened.only
    for row in opened.source.rows():
        line = next(lines, None)
        if only is None or only.add(row):
            yield row, line
