"""What the worker sends to the workspace: frozen messages, each small enough to travel often.

Named tuples and value classes, because Python makes the former in 0.06 ms, the latter in 0.04 ms and a frozen dataclass
in 0.4 ms, which the first paint waits for.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from sftui.model import Batch, Inspection, Pack, Problem, RowSummary
from sftui.recipe import Recipe
from sftui.values import value_class
from sftui.views.repairs import RepairCount as RepairCount

if TYPE_CHECKING:
    from sftui.audit.figures import Figures
    from sftui.audit.waste import WasteTable
    from sftui.comparison import Causes, ComparisonCount, RowComparison
    from sftui.findings import Finding
    from sftui.session.facets import Facet
    from sftui.views.knobs import LabelFlip

A = TypeVar("A")
Answering = Callable[..., A]
"""Makes the events that answer a question (`requests.answering`)."""
Answers = Iterator[A | None]
"""The events that answer a question; None where nothing is to be reported yet."""


class SourceOpened(NamedTuple):
    """The data is open: `format` says how rows are read; `anew`: what was found in a late row, so that all are read
    otherwise than before."""

    title: str
    format: str = ""
    notes: tuple[str, ...] = ()
    refused: Problem | None = None
    unread: bool = False
    anew: str = ""


class DataLoading(NamedTuple):
    """Data that is not here yet is still on its way: a sentence on how long, and how much of it came."""

    progress: str


class ExportPrepared(NamedTuple):
    """What an export would need to know, pickled: the modules it takes are loaded when there is one."""

    pickled: bytes


class CountChanged(NamedTuple):
    """How many rows are known; `exact` once the index is complete, `fraction` of it is done.

    `damage` is a sentence on what cannot be read, and so is in no count.
    """

    rows: int
    exact: bool
    fraction: float
    damage: str = ""


class SourceChanged(NamedTuple):
    """The file is another one than was opened (None: it is the same again); `lost`: its rows cannot be read any
    more."""

    problem: Problem | None
    lost: bool = False


class TokenizerChanged(NamedTuple):
    """state: `loading`, `provisional`, `proven`, `corrected` (the provisional one was wrong), `failed`.

    `facts` is a `sftui.tokens.TokenizerFacts` or None; `message` is one sentence for the status line.
    `templates` names the chat templates that may be offered where the tokenizer has none. `whose` says whose ids are
    shown, where they are not those of the transformers that runs sftui.
    """

    state: str
    facts: Any = None
    message: str = ""
    problem: Problem | None = None
    templates: tuple[str, ...] = ()
    whose: str = ""


class RecipeChanged(NamedTuple):
    """The recipe now in force in the worker, with every preset-dependent field filled."""

    recipe: Recipe
    version: int
    repairs: tuple[str, ...] = ()


@value_class
class Answer:
    """What answers a question, that of `ticket`, under the recipe of `version` (None: under whatever recipe); `problem`
    is why there is no answer. What it says of its question comes last (see `requests.answering`)."""

    ticket: int
    version: int | None
    problem: Problem | None


@value_class
class RowReady(Answer):
    """One inspected row."""

    inspection: Inspection


@value_class
class SummariesReady(Answer):
    rows: tuple[RowSummary, ...]


@value_class
class BatchReady(Answer):
    batch: Batch | None = None


@value_class
class SearchFound(Answer):
    """A hit: the row and, where the query was for tokens, the token positions in it; `unread` rows could not be
    read."""

    row: int | None = None
    positions: tuple[int, ...] = ()
    searched: int = 0
    finished: bool = False
    unread: int = 0


@value_class
class HitsCounted(Answer):
    """Hits of a query in rows `first` up to `searched`: the `rows` that have some, and how many each.

    Several answer a question, each for the rows after the one before; where `first` is 0 the counting begins anew.
    """

    first: int = 0
    searched: int = 0
    rows: array[int] = field(default_factory=lambda: array("L"))
    hits: array[int] = field(default_factory=lambda: array("L"))
    done: bool = False


@value_class
class RowsMatched(Answer):
    """Rows that match a filter, of those from the `first` up to `searched`; `sentence` says of all how many, once it is
    `done`.

    Several answer a question, each for the rows after the one before; where `first` is 0 it begins anew.
    """

    first: int = 0
    searched: int = 0
    rows: array[int] = field(default_factory=lambda: array("L"))
    done: bool = False
    sentence: str = ""


@value_class
class FacetsCounted(Answer):
    """How far the values were counted, in `searched` rows; once it is `done`, the most frequent of them, how many there
    are, and what there is to say of all."""

    searched: int = 0
    values: tuple[Facet, ...] = ()
    different: int = 0
    done: bool = False
    sentences: tuple[str, ...] = ()


@value_class
class FindingsReady(Answer):
    """Findings of row `index`, the worst first; `setup` is None until the set-up has been checked too.

    `waived` and `setup_waived` count those that the recipe's waivers cover, which are in neither. `tried`: their cures
    were tried, and only those are left that help.
    """

    findings: tuple[Finding, ...] = ()
    setup: tuple[Finding, ...] | None = None
    waived: int = 0
    setup_waived: int = 0
    tried: bool = True
    index: int = 0


@value_class
class WhyReady(Answer):
    """What would turn the label of a token of row `index` over, the smallest change first, and the mask rules under
    which the row cannot be prepared, each with why."""

    ways: tuple[LabelFlip, ...] = ()
    failing: tuple[tuple[str, str], ...] = ()
    index: int = 0
    token: int = 0


@value_class
class ComparisonReady(Answer):
    """A row under the recipe in force and under `recipe`; `other` is the row as that one makes it.

    Where other `repairs` were requested, `diff` is what they change in the row's data. Of a very long row `comparison`
    holds only columns from shortly before the first difference on; then `left_out` are the others, and `differing` the
    tokens that differ in all of them. Where it is not known which rows a side sets aside for evaluation, `unmarked`
    says why, a sentence a side (empty: it is known).
    """

    comparison: RowComparison | None = None
    other: Inspection | None = None
    left_out: int = 0
    differing: int = 0
    diff: str = ""
    unmarked: tuple[str, ...] = ()
    recipe: Recipe = Recipe("")
    repairs: tuple[str, ...] | None = None


@value_class
class CountReady(Answer):
    """The differences counted so far; `total` rows are to be counted, None while not known.

    `repaired` is what the repairs that were requested do to those rows. `causes` say why the two differ, once all rows
    are counted.
    """

    count: ComparisonCount | None = None
    total: int | None = None
    done: bool = False
    repaired: RepairCount | None = None
    causes: Causes | None = None


@value_class
class PacksReady(Answer):
    """Packed sequences, their documents named by row, and the rectangle the collator makes of them."""

    packs: tuple[Pack, ...] = ()
    batch: Batch | None = None
    rows: int = 0


@value_class
class CodeCount:
    """One code of the audit: how often it was found, and the first row that has it (None: no single row).

    `examples`: it is found over all rows, or a sample of them, and names some of those that have it. `share` says which
    part of the rows has it, where that says something.
    """

    code: str
    severity: str
    count: int
    first: int | None
    sentence: str
    examples: bool = False
    share: str = ""


class VerdictLine(NamedTuple):
    """One sentence of the verdict; `by` asks for the rows that it counts, "" where it is of all of them."""

    severity: str
    sentence: str
    by: str = ""


@value_class
class AuditReady(Answer):
    """The audit so far: rows taken in, of how many (None: not known), rows a second, seconds left, errors and
    warnings, its verdict, and how many rows were `known` when it came to the last one."""

    rows: int = 0
    total: int | None = None
    rate: float = 0.0
    left: float | None = None
    done: bool = False
    figures: Figures | None = None
    codes: tuple[CodeCount, ...] = ()
    found: tuple[int, int] = (0, 0)
    verdict: tuple[VerdictLine, ...] = ()
    known: int = 0


@value_class
class WasteReady(Answer):
    """The table as far as it is worked out; None while rows are gone through: so many of `total` (None: not known)."""

    table: WasteTable | None = None
    rows: int = 0
    total: int | None = None


@value_class
class OrderReady(Answer):
    """Row numbers in the order requested; `total` of them there are, perhaps more than travel."""

    rows: array[int] = field(default_factory=lambda: array("L"))
    total: int = 0
    by: str = ""


@value_class
class RepairsCounted(Answer):
    """What the repairs in force do to the first rows of `total`; `doubles`: duplicates are known only now."""

    counted: RepairCount = RepairCount()
    total: int | None = None
    done: bool = False
    doubles: bool = False


@value_class
class RepairsWritten(Answer):
    """How far the writing of the repaired data is; `lost` rows could not be carried over. No target: it was given
    up."""

    counted: RepairCount = RepairCount()
    lost: int = 0
    total: int | None = None
    done: bool = False
    target: str = ""
    log: str = ""


@value_class
class TagsReady(Answer):
    """The chat template `name` with generation tags: its source and diff, and for how many rows they are proven."""

    name: str = ""
    source: str = ""
    diff: str = ""
    proven: int = 0


class WorkerFailed(NamedTuple):
    """The worker died or a request raised; the sentence is for the screen, --debug shows what the worker writes."""

    problem: Problem


class WorkLeft(NamedTuple):
    """A piece of work went over its bound and ended the worker; another one is at work and leaves it."""

    problem: Problem


Event: TypeAlias = (
    "SourceOpened | DataLoading | ExportPrepared | CountChanged | SourceChanged | TokenizerChanged | RecipeChanged"
    " | Answer | WorkerFailed | WorkLeft"
)
