"""What the worker tells the workspace: frozen messages, each small enough to travel often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sftui.model import Batch, Inspection, Problem
from sftui.recipe import Recipe


@dataclass(frozen=True, slots=True)
class SourceOpened:
    """The data is open: `format` and `reason` say how rows are read and why."""

    title: str
    kind: str
    columns: tuple[str, ...]
    format: str
    reason: str
    notes: tuple[str, ...] = ()
    refused: Problem | None = None


@dataclass(frozen=True, slots=True)
class CountChanged:
    """How many rows are known; `exact` once the index is complete, `fraction` of it is done."""

    rows: int
    exact: bool
    fraction: float


@dataclass(frozen=True, slots=True)
class TokenizerChanged:
    """state: `loading`, `provisional`, `proven`, `corrected` (the provisional one was wrong), `failed`.

    `facts` is a `sftui.tokens.TokenizerFacts` or None; `message` is one sentence for the status line.
    `templates` names the chat templates that may be offered where the tokenizer has none.
    """

    state: str
    facts: Any = None
    message: str = ""
    problem: Problem | None = None
    templates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecipeChanged:
    """The recipe now in force in the worker, with every preset-dependent field filled."""

    recipe: Recipe
    version: int


@dataclass(frozen=True, slots=True)
class RowReady:
    """One inspected row; `version` is the recipe version it was made with."""

    ticket: int
    version: int
    inspection: Inspection


@dataclass(frozen=True, slots=True)
class RowSummary:
    """One line of the row list; token figures are None while not known."""

    index: int
    preview: str
    tokens: int | None = None
    trained: int | None = None
    cut: int = 0
    dropped: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SummariesReady:
    ticket: int
    version: int
    rows: tuple[RowSummary, ...]


@dataclass(frozen=True, slots=True)
class BatchReady:
    ticket: int
    version: int
    batch: Batch | None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class SearchFound:
    """A hit: the row and, where the query was for tokens, the token positions in it."""

    ticket: int
    row: int | None
    positions: tuple[int, ...] = ()
    searched: int = 0
    finished: bool = False
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """The worker died or a request raised; the sentence is for the screen, `trace` for --debug."""

    problem: Problem
    trace: str = ""


Event = (
    SourceOpened | CountChanged | TokenizerChanged | RecipeChanged | RowReady | SummariesReady
    | BatchReady | SearchFound | WorkerFailed
)
