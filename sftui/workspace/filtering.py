"""Going through all rows for those that an expression is true for, some at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from sftui.model import Row
from sftui.session.facets import Facets, MatchingRows, filter_of
from sftui.session.opened import OpenData
from sftui.sources.source import chunks
from sftui.where import Need
from sftui.workspace.events import Answering, Answers, FacetsCounted, RowsMatched
from sftui.workspace.requests import FacetsRequest, FilterRequest
from sftui.workspace.watching import Pace

REPORT_EVERY = 0.2
MOST_LISTED = 500
"""Values that are listed, the most frequent ones."""
AT_ONCE, BYTES_AT_ONCE = 64, 64 << 10
"""Rows of which only the record is read, and bytes of them, between two looks at whether something else is wanted: they
take about a millisecond."""


def filter_rows(session: OpenData, request: FilterRequest, answer: Answering[RowsMatched]) -> Answers[RowsMatched]:
    """The rows that match, as they are found; SftuiError where the expression is none for this data."""
    wanted = filter_of(session, request.text)
    count, pace = MatchingRows(session, wanted, request.marks), Pace(REPORT_EVERY)
    first, found = 0, array("L")
    for some in chunks(_rows(session, request.listed), AT_ONCE if wanted.need is Need.RECORD else 1, BYTES_AT_ONCE):
        found.extend(row.index for row in some if count.add(row))
        if pace.due():
            yield answer(first, count.rows, found)
            first, found = count.rows, array("L")
        else:
            yield None
    yield answer(first, count.rows, found, True, "".join(count.sentences()))


def _rows(session: OpenData, listed: Sequence[int] | None) -> Iterator[Row]:
    return session.rows() if listed is None else map(session.row, listed)


def count_values(session: OpenData, request: FacetsRequest, answer: Answering[FacetsCounted]) -> Answers[FacetsCounted]:
    """The values of an expression with how many rows have each; SftuiError where it is none for this data."""
    counted, pace = Facets(session, request.text, request.marks), Pace(REPORT_EVERY)
    for some in chunks(_rows(session, request.listed), AT_ONCE if counted.need is Need.RECORD else 1, BYTES_AT_ONCE):
        for row in some:
            counted.add(row)
        yield answer(counted.rows) if pace.due() else None
    yield answer(counted.rows, counted.most(MOST_LISTED), counted.different, True, tuple(counted.sentences()))
