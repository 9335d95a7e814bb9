"""What the inspector has open, kept, searched and pending: one frozen value, and how one follows from another.

Pure, no Textual: a command puts a new part in place of an old one, and the main screen draws what differs. What depends
on the size of a pane (where it is scrolled, the cursor among its lines) is the pane's.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar, get_type_hints

from sftui.model import Inspection, PairFigures
from sftui.recipe import Recipe
from sftui.session.marks import GLYPHS, NOTE_GLYPH, Mark, RowMarks
from sftui.text import clip
from sftui.tui.contexts import BATCH, CYCLE, DOCUMENT, HOLDERS, LIST, PACKS, RECIPE, TOKENS
from sftui.views.cells import Line, Role
from sftui.workspace import SearchQuery
from sftui.workspace import events as ev

if TYPE_CHECKING:
    from sftui.findings import Finding, Fix

T = TypeVar("T")


class StatusMessage(NamedTuple):
    """An answer in the line under the panes, until the next key."""

    text: str = ""
    role: Role = Role.PLAIN


def unless(done: object, why: str, role: Role = Role.DIM) -> StatusMessage | None:
    """Why a command comes to nothing, unless it does something."""
    return None if done else StatusMessage(why, role)


class Sizes(NamedTuple):
    """What was made larger or smaller by hand: cells more than usual of the list, the recipe and what stands next to
    the tokens; lines more of the view below them, and of the findings below the conversation."""

    list: int = 0
    recipe: int = 0
    side: int = 0
    view: int = 0
    findings: int = 0


class FocusState(NamedTuple):
    """Who holds the keys (`context`), what stands next to the tokens (`view`), and whether the recipe and the list of
    rows are wanted. `alone`: only the pane that holds the keys. `side` of the row's `sides` has the cursor."""

    context: str = TOKENS
    view: str | None = None
    recipe: bool = False
    rows: bool = True
    alone: bool = False
    sizes: Sizes = Sizes()
    side: int = 0
    sides: int = 1

    def opened(self, name: str) -> FocusState:
        """A view next to the tokens, which takes the keys."""
        return self._replace(view=name, context=HOLDERS.get(name, DOCUMENT), alone=False)

    def closed(self) -> FocusState:
        """The tokens alone."""
        return self._replace(view=None, context=TOKENS, alone=False)

    def following(self) -> str | None:
        """The view that comes after this one: conversation, rendered text, raw row, and none again."""
        at = CYCLE.index(self.view) if self.view in CYCLE else len(CYCLE) - 1
        return CYCLE[(at + 1) % len(CYCLE)]

    def recipe_toggled(self) -> FocusState:
        """The recipe is opened and gets the keys; it is closed where it has them."""
        if self.recipe and self.context != RECIPE:
            return self._replace(context=RECIPE, alone=False)
        return self._replace(recipe=not self.recipe, context=TOKENS if self.recipe else RECIPE, alone=False)


class Status(NamedTuple):
    """What the two lines at the top say; `state` is loading, provisional, proven, corrected or failed, `version` whose
    ids are shown where they are not those of the transformers that runs sftui, `verdict` what the row's findings come
    to, `found` how many errors and warnings they are (None: not known yet), `ends` and `pair` those of `RowSummary`,
    `notes` how many there are to read, `marks` how many rows have which mark."""

    source: str = ""
    row: int = 0
    rows: int = 0
    exact: bool = False
    indexing: float = 1.0
    rule: str = ""
    trained: int | None = None
    total: int | None = None
    stopped: str = ""
    state: str = "loading"
    pending: str = ""
    order: str = ""
    repaired: str = ""
    mark: str = ""
    marks: tuple[tuple[str, int], ...] = ()
    data: str = ""
    side: str = ""
    version: str = ""
    evaluates: bool = False
    verdict: tuple[str, str] | None = None
    found: tuple[int, int] | None = None
    ends: tuple[int, int] | None = None
    pair: PairFigures | None = None
    notes: int = 0

    @property
    def last(self) -> int:
        """The last row that is known."""
        return max(0, self.rows - 1)

    def at(self, row: int) -> Status:
        """Another row, of which nothing is known yet."""
        if row == self.row:
            return self
        known = self._replace(row=row, trained=None, total=None, stopped="", verdict=None, found=None)
        return known._replace(ends=None, pair=None)


class ReadingState(NamedTuple):
    """What the requested row is shown with, and what was said of the data: `hits` are to be marked in the row
    that comes, entered at the last one where `backwards`; `provisional` is what a correction is held against;
    `reported` are the verdicts that were said with their next step, which is once each. A finding is `waiting` for the
    row that shows it, a fix is `tagging`: it waits for the template with its tags. `follows`: the file is being
    written, and its newest row and the figures are shown as they come."""

    hits: tuple[int, ...] | None = None
    backwards: bool = False
    provisional: Inspection | None = None
    notes: tuple[str, ...] = ()
    whose: str = ""
    damage: str = ""
    changed: bool = False
    reported: tuple[str, ...] = ()
    waiting: Finding | None = None
    tagging: Fix | None = None
    follows: bool = False

    @property
    def data(self) -> str:
        """What is wrong with the file itself, for as long as it is."""
        return "✗ changed on disk" if self.changed else "✗ damaged" if self.damage else ""


class Search(NamedTuple):
    """What is looked for, from which row on; `wrapped`: it began behind the last one again."""

    query: SearchQuery
    start: int
    forward: bool
    wrapped: bool = False

    def within(self, status: Status) -> Search:
        """From the other end where it would begin beyond the last row."""
        if not self.wrapped and status.rows and status.exact and not 0 <= self.start < status.rows:
            return self._replace(start=0 if self.forward else status.rows - 1, wrapped=True)
        return self._replace(start=max(0, self.start))

    def again(self, status: Status) -> Search | None:
        """From the other end, once; None where all was searched."""
        far = self.start > 0 if self.forward else self.start < status.rows - 1
        if self.wrapped or not far:
            return None
        return self._replace(start=0 if self.forward else status.rows - 1, wrapped=True)


class Hit(NamedTuple):
    """A row that has some hits, and where: the tokens that they touch."""

    search: Search
    row: int
    positions: tuple[int, ...]


class Hits(NamedTuple):
    """The hits of one query in the rows from the first up to `searched`; several a row, or one."""

    query: SearchQuery | None = None
    searched: int = 0
    done: bool = False
    rows: array[int] = array("L")
    up_to: array[int] = array("Q")

    def plus(self, event: ev.HitsCounted) -> Hits:
        """With those of further rows; anew where they are the first."""
        held = self if event.first else Hits(self.query)
        before = held.up_to[-1] if held.up_to else 0
        up_to = held.up_to + array("Q", (before + count for count in accumulate(event.hits)))
        return Hits(self.query, event.searched, event.done, held.rows + array("L", event.rows), up_to)

    def place(self, row: int, nth: int) -> str:
        """`3 of 57` for the `nth` hit of a row, from 0; empty where its row was not counted yet."""
        at = bisect_left(self.rows, row)
        if at == len(self.rows) or self.rows[at] != row:
            return ""
        before = self.up_to[at - 1] if at else 0
        return f"{before + nth + 1:,} of {self.up_to[-1]:,}{'' if self.done else ' so far'}"


class SearchState(NamedTuple):
    """What `n` and `N` go on with; `ticket` and `counting` are questions that are open, `reported` what was said of the
    hit found last."""

    query: SearchQuery | None = None
    ticket: int | None = None
    running: Search | None = None
    found: Hit | None = None
    reported: str = ""
    hits: Hits = Hits()
    counting: int | None = None

    def began(self, search: Search, ticket: int) -> SearchState:
        return self._replace(query=search.query, running=search, ticket=ticket)

    def ended(self, found: Hit | None = None) -> SearchState:
        """Nothing is looked for any more; what was found before stays where nothing was."""
        return self._replace(ticket=None, found=found or self.found)

    def under_another_recipe(self) -> SearchState:
        """Other tokens may be hit; what is being counted begins anew by itself."""
        return self._replace(hits=Hits(self.hits.query if self.counting is not None else None))


class FilterState(NamedTuple):
    """The expression that the listed rows match ("" where all are listed), its question, and the rows found so far;
    `opened`: the first of them was. `counting`: the question that counts the values of a column."""

    text: str = ""
    ticket: int | None = None
    rows: array[int] = array("L")
    opened: bool = False
    counting: int | None = None

    def with_rows(self, event: ev.RowsMatched) -> FilterState:
        """With further rows; with others where they are the first."""
        if not event.first:
            return self._replace(rows=array("L", event.rows))
        self.rows.extend(event.rows)  # of which there may be millions
        return self


class Memo(Generic[T]):
    """What was made last, e.g. lines, with what it was made from."""

    def __init__(self, made: T) -> None:
        self._made: tuple[tuple[object, ...], T] = ((), made)

    def of(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        if self._made[0] != key:
            self._made = (key, make())
        return self._made[1]


class ComparisonState(NamedTuple):
    """The second recipe (B), or other repairs of the data, and what came of the comparison. It stays chosen until
    another is. `description` says what it is where the name is too short to, `file` is what it was read from, `on_b`:
    its tokens are shown, `of_finding`: it previews what a finding offers, and `before` is what was compared until then;
    `peeking`: the comparison makes way for the tokens under B."""

    other: Recipe | None = None
    name: str = ""
    description: str = ""
    file: str | None = None
    repairs: tuple[str, ...] | None = None
    answer: ev.ComparisonReady | None = None
    counted: ev.CountReady | None = None
    differing: bool = False
    on_b: bool = False
    counting: int | None = None
    of_finding: bool = False
    before: ComparisonState | None = None
    peeking: bool = False
    drawn: Memo[tuple[Line, ...]] = Memo(())

    def chosen(
        self, other: Recipe, name: str, repairs: tuple[str, ...] | None, description: str, of_finding: bool
    ) -> ComparisonState:
        """Another B, of which nothing is known yet."""
        before = None if not of_finding else self.before if self.of_finding else self
        description = description if (other, name) != (self.other, self.name) else description or self.description
        chosen = self._replace(other=other, name=name, repairs=repairs, description=description, before=before)
        return chosen._replace(answer=None, counted=None, of_finding=of_finding)

    def restored(self) -> ComparisonState:
        """What was compared before a preview."""
        before = self.before or ComparisonState()
        return before._replace(answer=None, counted=None, counting=None, on_b=False, drawn=self.drawn)

    def at(self, row: int) -> ComparisonState:
        """The answer of another row is none."""
        return self if self.answers(row) else self._replace(answer=None)

    def answers(self, row: int) -> bool:
        """Whether the row under B is at hand."""
        return self.answer is not None and self.answer.comparison is not None and self.answer.comparison.row == row


class WhyState(NamedTuple):
    """The card of a token: which one, what would turn its label over, and the count of what that changes. `tickets` are
    those of the two questions, `recipe` is the one that is counted."""

    row: int = -1
    token: int = -1
    ticket: int | None = None
    answer: ev.WhyReady | None = None
    recipe: Recipe | None = None
    counting: int | None = None
    counted: ev.CountReady | None = None


class AuditState(NamedTuple):
    """The audit: its last answer, its ticket while it runs, the line that was `chosen` (its code, or what lists the
    rows behind its number), and which rows are `listed`. `after` is the row behind which a finding's rows are gone on
    with, `unmarked` the row and the cursor for which the tokens of the listed finding are awaited."""

    answer: ev.AuditReady | None = None
    ticket: int | None = None
    chosen: str = ""
    listed: str = ""
    after: int | None = None
    unmarked: tuple[int, int] | None = None
    last_row: int = -1

    @property
    def running(self) -> bool:
        return self.ticket is not None

    def began(self, ticket: int) -> AuditState:
        return self._replace(answer=None, ticket=ticket)

    def answered(self, event: ev.AuditReady) -> AuditState:
        over = event.done or event.problem is not None
        return self._replace(answer=event, ticket=None if over else self.ticket)

    def has(self, code: str) -> bool:
        """Whether the audit found rows with a code."""
        return self.answer is not None and code in {count.code for count in self.answer.codes}


class RepairState(NamedTuple):
    """The repairs in force (`seen`) as counted, and the one whose count is to be reported."""

    counted: ev.RepairsCounted | None = None
    seen: tuple[str, ...] = ()
    ticket: int | None = None
    reporting: str = ""


class BatchState(NamedTuple):
    """The batch and the packs, and the `first` row of each; `rows` are wanted in the batch."""

    rows: int = 0
    batch: ev.BatchReady | None = None
    packs: ev.PacksReady | None = None
    first: Mapping[str, int] = {}

    def requested(self, name: str, row: int) -> BatchState:
        """Another one was requested."""
        without = self._replace(batch=None) if name == BATCH else self._replace(packs=None)
        return without._replace(first={**self.first, name: row})

    def begins_with(self, name: str, row: int) -> bool:
        """Whether what is at hand is that of a row."""
        return (self.batch if name == BATCH else self.packs) is not None and self.first.get(name) == row

    def answered(self, event: ev.BatchReady | ev.PacksReady) -> BatchState:
        return self._replace(batch=event) if isinstance(event, ev.BatchReady) else self._replace(packs=event)

    def under_another_recipe(self, view: str | None) -> BatchState:
        """What was made before is no longer true; what is on screen answers again by itself."""
        return self._replace(batch=self.batch if view == BATCH else None, packs=self.packs if view == PACKS else None)


class WasteState(NamedTuple):
    """The waste table, the ticket of its question, and the strategy and limit that are chosen in it."""

    answer: ev.WasteReady | None = None
    ticket: int | None = None
    strategy: str = ""
    limit: int = 0

    def answered(self, event: ev.WasteReady, own: int | None) -> WasteState:
        """More of the table, with something of it chosen: at first the strategy in force and its limit (`own`)."""
        table = event.table
        if table is None:
            return self._replace(answer=event)
        strategy = self.strategy if self.strategy in table.strategies else table.strategies[0]
        wanted = self.limit or own or 0
        limit = min(table.limits, key=lambda one: abs(one - wanted), default=0)
        return self._replace(answer=event, strategy=strategy, limit=limit)


class SessionState(NamedTuple):
    """What the session keeps: the recipe that was opened or exported last, the review marks, what is to be printed on
    exit. `writing` is the write that runs; `let_go`: the user knows what is lost;
    `draft` is a row with what was written for it and is no JSON, `left` the row to which one may go back."""

    recipe: Recipe
    marks: RowMarks = RowMarks()
    to_print: tuple[str, ...] = ()
    writing: int | None = None
    let_go: bool = False
    draft: tuple[int | None, str] = (None, "")
    left: int | None = None


class TourState(NamedTuple):
    """What tells that a step of the tour was done."""

    shown: Inspection
    cursor: int
    view: str | None
    recipe: Recipe


class Tour(NamedTuple):
    """Which step of the tour is shown, from 0 (None: none is), and what was seen when it began."""

    at: int | None = None
    since: TourState | None = None


class LastMove(NamedTuple):
    """Whose cursor moved last, the list's or that of the tokens, and where both are.

    What it came to stays told when the keys go from one to the other: over SSH that is a screen line less.
    """

    pane: str = TOKENS
    row: int = 0
    token: int = 0

    def to(self, row: int, token: int, context: str) -> LastMove:
        """With the cursors there, while `context` holds the keys."""
        if (row, token) == (self.row, self.token):
            return self
        return LastMove(LIST if context == LIST else TOKENS, row, token)


Part: TypeAlias = (
    "Tour | FocusState | Status | StatusMessage | ReadingState | SearchState | FilterState | ComparisonState | WhyState"
    " | AuditState | RepairState | BatchState | WasteState | SessionState | LastMove"
)


class State(NamedTuple):
    """All of it."""

    kept: SessionState
    open: FocusState = FocusState()
    status: Status = Status()
    said: StatusMessage = StatusMessage()
    reading: ReadingState = ReadingState()
    searching: SearchState = SearchState()
    filtering: FilterState = FilterState()
    compared: ComparisonState = ComparisonState()
    why: WhyState = WhyState()
    audited: AuditState = AuditState()
    repairing: RepairState = RepairState()
    batched: BatchState = BatchState()
    wasted: WasteState = WasteState()
    tour: Tour = Tour()
    moved: LastMove = LastMove()

    def put(self, *parts: Part) -> State:
        """With other parts."""
        return self._replace(**{FIELDS[type(part)]: part for part in parts})  # type: ignore[arg-type]

    def status_line(self, notes: int, pending: str) -> Status:
        """The status with what follows of it: the row's mark and what is wrong with the data."""
        of_row = self.status._replace(mark=mark_words(self.mark), data=self.reading.data)
        return of_row._replace(marks=tuple(self.kept.marks.counts.items()), notes=notes, pending=pending)

    @property
    def row(self) -> int:
        """The row on screen, or the one that is on its way to it."""
        return self.status.row

    @property
    def mark(self) -> Mark:
        """The review mark of the row."""
        return self.kept.marks.get(self.status.row)

    @property
    def total(self) -> int | None:
        """How many rows there are, once that is known."""
        return self.status.rows if self.status.exact else None


FIELDS = {kind: name for name, kind in get_type_hints(State).items()}
"""Which field of the state a part is."""


def mark_words(mark: Mark) -> str:
    """A mark in the status line: its letter and its name."""
    name = mark.kind or ("note" if mark.note else "")
    return clip(f"{GLYPHS.get(mark.kind, NOTE_GLYPH)} {name}", 8) if name else ""
