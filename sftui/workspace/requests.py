"""What the workspace asks of the worker: one frozen message per request, and `QUESTIONS`, which says of each question
what answers it, how urgent it is and how long it stands.

`Workspace.ask` sends one, `Worker._job` answers it.

Requests and events travel as pickles, one after the other, over the worker's stdin and stdout;
a pickle ends where it says it ends, so no framing is needed. Named tuples and dataclasses are
divided as in `events`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from sftui.bound import Overrun
from sftui.model import Problem
from sftui.recipe import Recipe
from sftui.session.options import OpenOptions, SearchQuery
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


@dataclass(frozen=True, slots=True)
class RowRequest:
    """`held`: the recipe version for which the workspace has the answer, 0 for none; it need not be
    answered again unless the worker's recipe is another one by now."""

    ticket: int
    index: int
    held: int = 0


class BatchRequest(NamedTuple):
    ticket: int
    start: int
    rows: int


class SummariesRequest(NamedTuple):
    """Rows `start` to `stop` (half open) for the row list, or the `rows` named where it is filtered or sorted."""

    ticket: int
    start: int
    stop: int
    rows: tuple[int, ...] = ()


class SearchRequest(NamedTuple):
    ticket: int
    query: SearchQuery
    start: int
    forward: bool = True


class HitsRequest(NamedTuple):
    """How often a query hits, over all rows from the first on."""

    ticket: int
    query: SearchQuery


@dataclass(frozen=True, slots=True)
class FindingsRequest:
    """What is wrong with a row, and with the set-up."""

    ticket: int
    index: int


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """What would turn the label of a token of a row over."""

    ticket: int
    index: int
    token: int


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """A row under the recipe in force and under `recipe`, with other `repairs` where they are given."""

    ticket: int
    index: int
    recipe: Recipe
    repairs: tuple[str, ...] | None = None


class CountRequest(NamedTuple):
    """How often the recipe in force and `recipe` differ over the dataset, with other `repairs` where they are given;
    `causes`: and why."""

    ticket: int
    recipe: Recipe
    repairs: tuple[str, ...] | None = None
    causes: bool = False


class PacksRequest(NamedTuple):
    """The packed sequences that rows from `start` on fill."""

    ticket: int
    start: int


class AuditRequest(NamedTuple):
    """The figures and findings of the whole dataset."""

    ticket: int


GROUPS = {"roles": "signatures", "template": "branches", "findings": "finding_sets"}
"""What rows are grouped by, and the field of the figures that has the groups."""

REPAIRED = {"repaired": "changed", "left out": "dropped"}
"""Orders by what the repairs in force do to rows, and where their overlay keeps those rows."""


class OrderRequest(NamedTuple):
    """Rows by what the audit knows of them: a severity, a code, `longest`, …, or behind a number of the figures, as
    `audit.tallies.listed_by` says it.

    Those of `REPAIRED` need no audit.
    """

    ticket: int
    by: str


class SplitWanted(NamedTuple):
    """Which rows evaluate: the worker asks itself, where the trainer sets some aside."""

    ticket: int = -1


class TagsRequest(NamedTuple):
    """The chat template in force with generation tags, proven on the first rows."""

    ticket: int


class RepairsRequest(NamedTuple):
    """How many rows the repairs in force change."""

    ticket: int


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """The data with the repairs in force, but for the rows `marked`, into a new file, and every change into a log."""

    ticket: int
    target: str
    log: str
    marked: tuple[int, ...] = ()


class Cancel(NamedTuple):
    ticket: int


Question: TypeAlias = (
    "RowRequest | BatchRequest | SummariesRequest | SearchRequest | HitsRequest | FindingsRequest | WhyRequest"
    " | CompareRequest | CountRequest | PacksRequest | AuditRequest | OrderRequest | TagsRequest | RepairsRequest"
    " | WriteRequest"
)
Request: TypeAlias = "OpenRequest | SetRecipe | Question | Cancel"

SHARED = ("ticket", "index", "token", "recipe", "repairs", "by", "target", "log")
"""What an answer says of its question."""


class QuestionKind(NamedTuple):
    """A kind of question: the event that answers it (several may), what that event holds, but for why and what it says
    of its question, where there is no answer (None: a `WorkerFailed` says that), and whether it stands until it is
    answered `once` or is answered again under every recipe."""

    answer: Any
    unanswered: Mapping[str, Any] | None = None
    once: bool = False


QUESTIONS: Mapping[type, QuestionKind] = {
    RowRequest: QuestionKind(ev.RowReady),
    BatchRequest: QuestionKind(ev.BatchReady, {"batch": None}),
    FindingsRequest: QuestionKind(ev.FindingsReady, {}),
    WhyRequest: QuestionKind(ev.WhyReady, {}),
    CompareRequest: QuestionKind(ev.ComparisonReady, {}),
    PacksRequest: QuestionKind(ev.PacksReady, {}),
    TagsRequest: QuestionKind(ev.TagsReady, {}, once=True),
    OrderRequest: QuestionKind(ev.OrderReady, {}, once=True),
    # A list that cannot be made: each of its rows says itself what is wrong with it.
    SummariesRequest: QuestionKind(ev.SummariesReady),
    SearchRequest: QuestionKind(ev.SearchFound, {"row": None, "finished": True}, once=True),
    WriteRequest: QuestionKind(ev.RepairsWritten, {}, once=True),
    SplitWanted: QuestionKind(None, once=True),
    CountRequest: QuestionKind(ev.CountReady, {}),
    RepairsRequest: QuestionKind(ev.RepairsCounted, {"counted": ev.RepairCount(), "done": True}),
    AuditRequest: QuestionKind(ev.AuditReady, {"rows": 0}),
    HitsRequest: QuestionKind(ev.HitsCounted, {"done": True}),
}
"""Every question, the most urgent first; jobs in slices keep the same order."""


def refusal(item: Any, version: int, problem: Problem) -> ev.Event | None:
    """What answers a question that cannot be answered, so that nobody waits for ever; None for what a `WorkerFailed`
    answers."""
    kind = QUESTIONS.get(type(item))
    if kind is None or kind.answer is None or kind.unanswered is None:
        return None
    said = {name: getattr(item, name) for name in SHARED if hasattr(item, name)}
    held = {**said, "version": version, "problem": problem, **kind.unanswered}
    answer: ev.Event = kind.answer(**{name: held[name] for name in kind.answer.__match_args__ if name in held})
    return answer
