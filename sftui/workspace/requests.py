"""What the workspace asks of the worker: one frozen message per request.

Requests and events travel as pickles, one after the other, over the worker's stdin and stdout;
a pickle ends where it says it ends, so no framing is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from sftui.recipe import Recipe
from sftui.workspace.options import OpenOptions, SearchQuery


@dataclass(frozen=True, slots=True)
class Open:
    """The first request. `row` None: inspect nothing until asked (after a restart)."""

    options: OpenOptions
    recipe: Recipe
    version: int
    ticket: int
    row: int | None = 0


@dataclass(frozen=True, slots=True)
class SetRecipe:
    """A new recipe; the last row, batch and summaries are then answered again by themselves."""

    recipe: Recipe
    version: int


@dataclass(frozen=True, slots=True)
class RowRequest:
    """`held`: the recipe version for which the workspace has the answer, 0 for none; it need not be
    answered again unless the worker's recipe is another one by now."""

    ticket: int
    index: int
    held: int = 0


@dataclass(frozen=True, slots=True)
class BatchRequest:
    ticket: int
    start: int
    rows: int


@dataclass(frozen=True, slots=True)
class SummariesRequest:
    """Rows `start` to `stop` (half open) for the row list, or the `rows` named where it is filtered or sorted."""

    ticket: int
    start: int
    stop: int
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchRequest:
    ticket: int
    query: SearchQuery
    start: int
    forward: bool = True


@dataclass(frozen=True, slots=True)
class FindingsRequest:
    """What is wrong with a row, and with the set-up."""

    ticket: int
    index: int


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """A row under the recipe in force and under `recipe`."""

    ticket: int
    index: int
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class CountRequest:
    """How often the recipe in force and `recipe` differ over the dataset."""

    ticket: int
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class PacksRequest:
    """The packed sequences that rows from `start` on fill."""

    ticket: int
    start: int


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """The figures and findings of the whole dataset."""

    ticket: int


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """Rows by what the audit knows of them: a severity, a code, `longest`, `shortest`, `most trained`, …"""

    ticket: int
    by: str


@dataclass(frozen=True, slots=True)
class Cancel:
    ticket: int


Request = (
    Open | SetRecipe | RowRequest | BatchRequest | SummariesRequest | SearchRequest | FindingsRequest | CompareRequest
    | CountRequest | PacksRequest | AuditRequest | OrderRequest | Cancel
)
