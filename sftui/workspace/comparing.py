"""The rows on screen under a second recipe, and how often the two differ over the dataset."""

from __future__ import annotations

import json
import traceback
from array import array
from collections.abc import Callable, Collection, Generator
from dataclasses import replace
from difflib import unified_diff
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.model import Row
from sftui.recipe import Recipe
from sftui.session.opened import OpenData, settle_split, settling, unsure_of
from sftui.session.ready import Ready, prove_rows, row_texts, tokenized, tokenizer_of, under, waits
from sftui.workspace.events import Answering, Answers, ComparisonReady, CountReady, RepairCount
from sftui.workspace.requests import CompareRequest, CountRequest
from sftui.workspace.watching import Pace, in_thread

if TYPE_CHECKING:
    from sftui.comparison import RowComparison

REPORT_EVERY = 0.25
MOST_COLUMNS = 1500
MOST_DIFFED = 60_000
"""Characters of a row that are compared line by line."""
MOST_LINES = 300
BEFORE = 20


class Comparison:
    """Keeps the session of the second recipe while the first one's data and tokenizer stay the same."""

    def __init__(self) -> None:
        self._session: OpenData | None = None
        self._made_for: tuple[object, ...] = ()

    def compare(
        self, first: OpenData, request: CompareRequest, answer: Answering[ComparisonReady]
    ) -> Answers[ComparisonReady]:
        """One row, aligned, with the second recipe's inspection."""
        other = yield from self._second(first, request.recipe, request.repairs)
        from sftui.comparison import compare_row

        splits = [settle_split(session, most=0) for session in (first, other)]
        made = [first.inspect(request.index), other.inspect(request.index)]
        found = compare_row(made, unsure=unsure_of(splits))
        shown = _shown(found)
        diff = "" if request.repairs is None else row_diff(made[0].row, made[1].row)
        unmarked = tuple(split.note for split in splits) if unsure_of(splits) else ()
        left_out, differing = len(found.columns) - len(shown.columns), found.differing_tokens
        yield answer(shown, made[1], left_out, differing, diff, unmarked)

    def count(
        self, first: OpenData, request: CountRequest, answer: Answering[CountReady], settled: Callable[[], None]
    ) -> Answers[CountReady]:
        """The count over every row, reported as it grows; `settled` is called once it is known which rows evaluate,
        where it was not."""
        first.ready().checks()
        other = yield from self._second(first, request.recipe, request.repairs)
        from sftui.comparison import ComparisonCount

        known = not (first.split.later or other.split.later)
        for session in (first, other):
            yield from settling(session)
        if not known:
            settled()
        unsure = unsure_of(settle_split(session, most=0) for session in (first, other))
        counted, pace, differing = ComparisonCount(keep=1), Pace(REPORT_EVERY), array("q")
        for row in first.stored.source.rows():
            found = _compared(first, other, row, unsure)
            counted = counted.plus(found)
            if request.causes and found.differs:
                differing.append(row.index)
            yield answer(counted, first.count_now(), repaired=_repaired(other)) if pace.due() else None
        whole = answer(counted, counted.rows, True, repaired=_repaired(other))
        yield whole
        if request.repairs is None and isinstance(first, Ready) and isinstance(other, Ready):
            from sftui.session.comparing import chosen, explain

            rows = chosen(differing)
            for causes in explain(first, other, rows, len(differing)):
                yield replace(whole, causes=causes) if causes.looked_at == len(rows) else None

    def _second(
        self, first: OpenData, recipe: Recipe, repairs: tuple[str, ...] | None
    ) -> Generator[None, None, OpenData]:
        """The second session; its tokenizer is loaded on a thread where it is another one, and not before that of the
        first: until then nothing is compared."""
        if waits(first):
            return under(first, recipe, repairs)
        key = (recipe, repairs, first.source, first.overlay, tokenizer_of(first), first.recipe.tokenizer)
        if self._session is None or self._made_for != key:
            session = under(first, recipe, repairs)
            if recipe.tokenizer.name is not None and waits(session):
                session = yield from _loaded(partial(tokenized, session))
                session = yield from _loaded(partial(prove_rows, session, row_texts(session)))
            self._session, self._made_for = session, key
        return self._session


def _shown(found: RowComparison) -> RowComparison:
    """At most MOST_COLUMNS columns, from shortly before the first difference on: more takes seconds to draw."""
    if len(found.columns) <= MOST_COLUMNS:
        return found
    first = next((i for i, column in enumerate(found.columns) if column.differs), 0)
    start = max(0, min(first - BEFORE, len(found.columns) - MOST_COLUMNS))
    rejected = None if found.rejected is None else min(max(0, found.rejected - start), MOST_COLUMNS)
    return replace(found, columns=found.columns[start : start + MOST_COLUMNS], rejected=rejected)


def _compared(first: OpenData, other: OpenData, row: Row, unsure: Collection[int]) -> RowComparison:
    from sftui.comparison import compare_prepared, compare_row

    rows = [first.over(row), other.over(row)]
    if rows[0] is rows[1] and first.recipe == other.recipe:  # no repair touches it
        found = first.inspect_row(row, spans=False, text=True)
        return compare_row([found, other.placed(found)], align_equal=False, unsure=unsure)
    sides = [partial(one.inspect_row, row, text=True) for one, row in zip((first, other), rows)]
    return compare_prepared(sides, align_equal=False, unsure=unsure)


def _repaired(other: OpenData) -> RepairCount | None:
    if other.overlay is None:
        return None
    from sftui.workspace.repairing import count_of

    return count_of(other.overlay.counts)


def row_diff(before: Row, after: Row) -> str:
    """What differs in the data of a row, as a unified diff of its JSON; of a very long row only its beginning is looked
    at."""
    old, new = (
        json.dumps(dict(row.data or {}), indent=1, ensure_ascii=False, default=str)[:MOST_DIFFED].splitlines()
        for row in (before, after)
    )
    return "\n".join(islice(unified_diff(old, new, n=2, lineterm=""), 2, MOST_LINES))


def _loaded(work: Callable[[], OpenData]) -> Generator[None, None, OpenData]:
    """The second tokenizer, loaded in a thread."""
    try:
        return (yield from in_thread(work, "sftui-second-tokenizer"))
    except SftuiError:
        raise
    except Exception as error:
        traceback.print_exception(error)  # for --debug, which shows what the worker writes
        raise SftuiError("the second tokenizer could not be loaded") from error
