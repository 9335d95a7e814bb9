"""What the workspace asks of the worker: one frozen message per request, and `QUESTIONS`, which says of each question
what answers it, how urgent it is and how long it stands.

`Workspace.ask` sends one, `Worker._job` answers it.

Requests and events travel as pickles, one after the other, over the worker's stdin and stdout;
a pickle ends where it says it ends, so no framing is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from sftui.bound import Overrun
from sftui.model import Problem
from sftui.recipe import Recipe
from sftui.session.options import OpenOptions, SearchQuery
from sftui.values import value_class
from sftui.workspace import events as ev


class OpenRequest(NamedTuple):
    """The first request. `row` None: inspect nothing until asked (after a restart). `opened` as in `SetRecipe`;
    `overran` is what ended earlier workers and is not tried again."""

    options: OpenOptions
    recipe: Recipe
    version: int
    ticket: int
    row: int | None = 0
    repairs: tuple[str, ...] = ()
    opened: int = 0
    overran: tuple[Overrun, ...] = ()


class SetRecipe(NamedTuple):
    """A new recipe, or other repairs over the rows; the last row, batch and summaries are then answered again by
    themselves.

    `opened`: how often the data was to be opened again; where that has grown, it is. (Of several requests only the
    newest arrives.)
    """

    recipe: Recipe
    version: int
    repairs: tuple[str, ...] = ()
    opened: int = 0


@value_class
class Question:
    """What is asked of the worker; `ticket` names it in what answers it."""

    ticket: int


@value_class
class RowRequest(Question):
    """`held`: the recipe version for which the workspace has the answer, 0 for none; it need not be
    answered again unless the worker's recipe is another one by now."""

    index: int
    held: int = 0


@value_class
class BatchRequest(Question):
    start: int
    rows: int


@value_class
class SummariesRequest(Question):
    """Rows `start` to `stop` (half open) for the row list, or the `rows` named where it is filtered or sorted."""

    start: int
    stop: int
    rows: tuple[int, ...] = ()


@value_class
class SearchRequest(Question):
    query: SearchQuery
    start: int
    forward: bool = True


@value_class
class HitsRequest(Question):
    """How often a query hits, over all rows from the first on."""

    query: SearchQuery


@value_class
class FilterRequest(Question):
    """Which rows an expression is true for (see `sftui.where`), of all rows or those `listed`, from the first on;
    `marks` are the kinds of those that are marked, where it asks for that."""

    text: str
    marks: Mapping[int, str] = field(default_factory=dict)
    listed: Sequence[int] | None = None


class FacetsRequest(FilterRequest):
    """How often each value of an expression comes, in the rows that such a request is of."""


@value_class
class FindingsRequest(Question):
    """What is wrong with a row, and with the set-up."""

    index: int


@value_class
class WhyRequest(Question):
    """What would turn the label of a token of a row over."""

    index: int
    token: int


@value_class
class CompareRequest(Question):
    """A row under the recipe in force and under `recipe`, with other `repairs` where they are given."""

    index: int
    recipe: Recipe
    repairs: tuple[str, ...] | None = None


@value_class
class CountRequest(Question):
    """How often the recipe in force and `recipe` differ over the dataset, with other `repairs` where they are given;
    `causes`: and why."""

    recipe: Recipe
    repairs: tuple[str, ...] | None = None
    causes: bool = False


@value_class
class PacksRequest(Question):
    """The packed sequences that rows from `start` on fill."""

    start: int


class AuditRequest(Question):
    """The figures and findings of the whole dataset."""


class WasteRequest(Question):
    """What length limits and packing strategies cost over the whole dataset."""


GROUPS = {"roles": "signatures", "template": "branches", "findings": "finding_sets"}
"""What rows are grouped by, and the field of the figures that has the groups."""

REPAIRED = {"repaired": "changed", "left out": "dropped"}
"""Orders by what the repairs in force do to rows, and where their overlay keeps those rows."""


@value_class
class OrderRequest(Question):
    """Rows by what the audit knows of them: a severity, a code, `longest`, …, or behind a number of the figures, as
    `audit.tallies.listed_by` says it.

    Those of `REPAIRED` need no audit.
    """

    by: str


class SplitRequest(Question):
    """Which rows evaluate: the worker asks itself, where the trainer sets some aside."""


class TagsRequest(Question):
    """The chat template in force with generation tags, proven on the first rows."""


class RepairsRequest(Question):
    """How many rows the repairs in force change."""


@value_class
class WriteRequest(Question):
    """The data with the repairs in force, but for the rows `marked`, or of `only` those rows, into a new file, and
    every change into a log."""

    target: str
    log: str
    marked: tuple[int, ...] = ()
    only: tuple[int, ...] | None = None


class Cancel(NamedTuple):
    ticket: int


Request: TypeAlias = "OpenRequest | SetRecipe | Question | Cancel"

SHARED = ("index", "token", "recipe", "repairs", "by", "target", "log")
"""What an answer says of its question."""


class QuestionKind(NamedTuple):
    """A kind of question: the event that answers it (several may), what that event holds, but for why and what it says
    of its question, where there is no answer (None: a `WorkerFailed` says that), whether it stands until it is answered
    `once` or is answered again under every recipe, and whether an answer counts under `any_recipe`."""

    answer: Any
    unanswered: Mapping[str, Any] | None = None
    once: bool = False
    any_recipe: bool = False


QUESTIONS: Mapping[type, QuestionKind] = {
    RowRequest: QuestionKind(ev.RowReady),
    BatchRequest: QuestionKind(ev.BatchReady, {}),
    FindingsRequest: QuestionKind(ev.FindingsReady, {}),
    WhyRequest: QuestionKind(ev.WhyReady, {}),
    CompareRequest: QuestionKind(ev.ComparisonReady, {}),
    PacksRequest: QuestionKind(ev.PacksReady, {}),
    TagsRequest: QuestionKind(ev.TagsReady, {}, once=True),
    OrderRequest: QuestionKind(ev.OrderReady, {}, once=True),
    # A list that cannot be made: each of its rows says itself what is wrong with it.
    SummariesRequest: QuestionKind(ev.SummariesReady),
    SearchRequest: QuestionKind(ev.SearchFound, {"finished": True}, once=True, any_recipe=True),
    WriteRequest: QuestionKind(ev.RepairsWritten, {}, once=True, any_recipe=True),
    SplitRequest: QuestionKind(None, once=True),
    CountRequest: QuestionKind(ev.CountReady, {}),
    RepairsRequest: QuestionKind(ev.RepairsCounted, {"done": True}),
    FilterRequest: QuestionKind(ev.RowsMatched, {"done": True}),
    FacetsRequest: QuestionKind(ev.FacetsCounted, {"done": True}, once=True),
    AuditRequest: QuestionKind(ev.AuditReady, {}),
    WasteRequest: QuestionKind(ev.WasteReady, {}),
    HitsRequest: QuestionKind(ev.HitsCounted, {"done": True}),
}
"""Every question, the most urgent first; jobs in slices keep the same order."""


def answering(question: Question, version: int, problem: Problem | None = None) -> partial[Any]:
    """What makes the events that answer a question of the rest of what they hold."""
    kind = QUESTIONS[type(question)]
    said = {name: getattr(question, name) for name in SHARED if name in kind.answer.__match_args__}
    return partial(kind.answer, question.ticket, None if kind.any_recipe else version, problem, **said)


def refusal(item: Any, version: int, problem: Problem) -> ev.Answer | None:
    """What answers a question that cannot be answered, so that nobody waits for ever; None for what a `WorkerFailed`
    answers."""
    kind = QUESTIONS.get(type(item))
    if kind is None or kind.answer is None or kind.unanswered is None:
        return None
    answer: ev.Answer = answering(item, version, problem)(**kind.unanswered)
    return answer
