"""What the workspace asks of the worker: one frozen message per request.

Requests and events travel as pickles, one after the other, over the worker's stdin and stdout;
a pickle ends where it says it ends, so no framing is needed. Named tuples and dataclasses are
divided as in `events`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sftui.bound import Overrun
from sftui.recipe import Recipe
from sftui.session.options import OpenOptions, SearchQuery


class Open(NamedTuple):
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
class CompareRequest:
    """A row under the recipe in force and under `recipe`, with other `repairs` where they are given."""

    ticket: int
    index: int
    recipe: Recipe
    repairs: tuple[str, ...] | None = None


class CountRequest(NamedTuple):
    """How often the recipe in force and `recipe` differ over the dataset, with other `repairs` where they are given."""

    ticket: int
    recipe: Recipe
    repairs: tuple[str, ...] | None = None


class PacksRequest(NamedTuple):
    """The packed sequences that rows from `start` on fill."""

    ticket: int
    start: int


class AuditRequest(NamedTuple):
    """The figures and findings of the whole dataset."""

    ticket: int


GROUPS = {"roles": "signatures", "template": "branches", "findings": "finding_sets"}
"""What rows are grouped by, and the field of the figures (and of the audit) that has the groups."""


def by_group(kind: str, name: str) -> str:
    """How the rows of one group are asked for; `kind` is one of `GROUPS`, `name` the group's in the figures."""
    return f"{kind}: {name}"


REPAIRED = {"repaired": "changed", "left out": "dropped"}
"""Orders by what the repairs in force do to rows, and where their overlay keeps those rows."""


class OrderRequest(NamedTuple):
    """Rows by what the audit knows of them: a severity, a code, `longest`, …, or a group as `by_group` names it.

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


Request = (
    Open
    | SetRecipe
    | RowRequest
    | BatchRequest
    | SummariesRequest
    | SearchRequest
    | HitsRequest
    | FindingsRequest
    | CompareRequest
    | CountRequest
    | PacksRequest
    | AuditRequest
    | OrderRequest
    | TagsRequest
    | RepairsRequest
    | WriteRequest
    | Cancel
)
