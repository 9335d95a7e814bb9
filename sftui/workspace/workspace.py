"""What is open now: the source, the recipe and its history, and the worker that does the work.

Lives in the UI process and loads nothing heavy: rows are read, rendered and tokenized in a worker
process (`sftui.workspace.worker`), because loading a tokenizer or encoding a long text holds the
interpreter lock for up to a second. Every question has a ticket; answers come as events
(`sftui.workspace.events`) on a thread of the workspace. Answers to older questions, or made with
an older recipe, never arrive (style-anchors trap T3).
"""

from __future__ import annotations

import itertools
import pickle
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec

from sftui.bound import Overrun
from sftui.model import Inspection, Problem, RecipeChange, Row
from sftui.recipe import Recipe, changed, diff
from sftui.session.options import OpenOptions
from sftui.starting import COMMAND, IdleWorker
from sftui.values import value_class
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.link import Connect, Link

if TYPE_CHECKING:
    from sftui.exports.plan import ExportPlan

P = ParamSpec("P")
Callback = Callable[[ev.Event], None]
PATIENCE = 120.0
"""Seconds without an answer to a row or a batch after which the worker is given up."""
WRITE_PATIENCE = 1.0
LIMIT = 500
"""Changes that can be undone."""
BYTES_PER_TOKEN = 320
"""A token costs its share of nine tuples, a string and a bytes object; measured on CPython 3.11."""
ONCE: Mapping[type, type] = {
    kind.answer: question
    for question, kind in rq.QUESTIONS.items()
    if kind.answer is not None and kind.once and question is not rq.WriteRequest
}
"""Events that answer a question once and for all; other questions are answered again under every recipe. (That a write
has ended is seen by several.)"""
MOST_OVERRUN = 40
"""Pieces of work that may end the worker before it is given up as one that crashes."""


class RecipeChoice(NamedTuple):
    """The recipe, and the data repairs by their names as in `repairs.make_plan`: nothing of them is in the file yet."""

    recipe: Recipe
    repairs: tuple[str, ...] = ()


@dataclass(slots=True)
class History:
    """`now` is what is in force; `past` and `future` are what undo and redo return to."""

    now: RecipeChoice
    past: list[RecipeChoice] = field(default_factory=list)
    future: list[RecipeChoice] = field(default_factory=list)

    def put(self, chosen: RecipeChoice) -> bool:
        """Put `chosen` in force; False where nothing changes."""
        if chosen == self.now:
            return False
        self.past.append(self.now)
        del self.past[:-LIMIT]
        self.future.clear()
        self.now = chosen
        return True

    def replace(self, chosen: RecipeChoice) -> None:
        """Put `chosen` in the place of what is in force, to which undo does not return then."""
        self.now = chosen
        if self.past[-1:] == [chosen]:
            self.past.pop()

    def undo(self) -> bool:
        return self._step(self.past, self.future)

    def redo(self) -> bool:
        return self._step(self.future, self.past)

    def _step(self, there: list[RecipeChoice], back: list[RecipeChoice]) -> bool:
        """To the newest of what is `there`; False where there is nothing."""
        if there:
            back.append(self.now)
            self.now = there.pop()
            return True
        return False


@value_class
class UnsavedWork:
    """What quitting would lose; false where that is nothing."""

    changes: tuple[RecipeChange, ...] = ()
    repairs: tuple[str, ...] = ()
    waivers: tuple[dict[str, Any], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.repairs or self.waivers)

    def words(self) -> str:
        """`2 unsaved recipe changes, 1 repair`; empty where there is nothing."""
        counted = ((len(self.changes), "recipe change"), (len(self.repairs), "repair"), (len(self.waivers), "waiver"))
        parts = [f"{count:,} {word}{'s' if count > 1 else ''}" for count, word in counted if count]
        return ", ".join(parts).replace(" ", " unsaved ", 1)


def unexported(now: RecipeChoice, kept: RecipeChoice) -> UnsavedWork:
    """What is in force and not in the recipe opened or exported last, nor in the data written last: those are
    `kept`."""
    had = [dict(waiver) for waiver in kept.recipe.waivers]
    return UnsavedWork(
        diff(kept.recipe, now.recipe),
        tuple(repair for repair in now.repairs if repair not in kept.repairs),
        tuple(dict(waiver) for waiver in now.recipe.waivers if dict(waiver) not in had),
    )


def weight(inspection: Inspection) -> int:
    """About how many bytes an inspection holds."""
    tokens = len(inspection.tokens) if inspection.tokens is not None else 0
    text = len(inspection.rendered.text) if inspection.rendered is not None else 0
    return 2_000 + 2 * len(inspection.row.raw) + 2 * text + BYTES_PER_TOKEN * tokens


class InspectionCache:
    """Least recently used inspections by (row, version), at most `limit` bytes in all.

    They are of one day: templates may write it.
    """

    def __init__(self, limit: int = 16 << 20, today: Callable[[], date] = date.today) -> None:
        self._limit = limit
        self._today = today
        self._day = today()
        self._held: dict[tuple[int, int], tuple[Inspection, int]] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, row: int, version: int) -> Inspection | None:
        self._keep_day()
        found = self._held.pop((row, version), None)
        if found is None:
            return None
        self._held[row, version] = found  # the newest
        return found[0]

    def put(self, inspection: Inspection, version: int) -> None:
        """Keep it, and let the oldest go; one that is larger than the whole cache is not kept."""
        self._keep_day()
        key, size = (inspection.row.index, version), weight(inspection)
        self.bytes -= self._held.pop(key, (None, 0))[1]
        if size <= self._limit:
            self._held[key] = (inspection, size)
            self.bytes += size
        while self.bytes > self._limit:
            self.bytes -= self._held.pop(next(iter(self._held)))[1]

    def _keep_day(self) -> None:
        if (day := self._today()) != self._day:
            self.clear()
            self._day = day

    def clear(self) -> None:
        self._held.clear()
        self.bytes = 0


class Workspace:
    """One open dataset; safe to call from any thread, never blocks.

    State that follows the events, for reading at any time: `source` (the last `SourceOpened`),
    `count`, `tokenizer` (the last `TokenizerChanged`), `version` (grows with every recipe),
    `row` (the row requested last), `failed`, `written` (the repairs that were written last, and where). `started` is a
    worker to begin with; `connect` starts one, or is one that works in this process.
    """

    def __init__(
        self,
        options: OpenOptions,
        command: tuple[str, ...] = COMMAND,
        patience: float = PATIENCE,
        started: IdleWorker | None = None,
        connect: Connect = Link,
    ) -> None:
        self.options = options
        self.base_recipe = options.base or options.recipe
        self.source: ev.SourceOpened | None = None
        self.count: ev.CountChanged | None = None
        self.tokenizer: ev.TokenizerChanged | None = None
        self.failed: ev.WorkerFailed | None = None
        self.row = options.row
        self.version = 1
        self.written: tuple[tuple[str, ...], ev.RepairsWritten] | None = None
        self._history = History(RecipeChoice(options.recipe, options.repairs))
        self._prepared = b""
        self._command = command
        self._started = started
        self._start_worker = connect
        self._patience = patience
        self._tickets = itertools.count(1)
        self._latest: dict[type, int] = {}
        self._cache = InspectionCache()
        self._lock = threading.RLock()
        self._listeners: list[Callback] = []
        self._events: queue.Queue[Any] = queue.Queue()
        self._backlog: list[ev.Event] = []
        self._writing: tuple[str, ...] | None = None
        self._opened = 0
        self._overran: tuple[Overrun, ...] = ()
        self._requests: dict[type, rq.Question] = {}
        self._link: Link | None = None
        self._watch: threading.Timer | None = None
        self._answered = True
        self._list_again = False
        self._row_due = False
        self._tried_again = False
        self._write_ended = threading.Event()
        self._write_ended.set()
        self._closed = False

    # --- life -------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the worker, which opens the data, sends the first row, then loads the tokenizer."""
        threading.Thread(target=self._dispatch, name="sftui-events", daemon=True).start()
        with self._lock:
            self._connect(self.options.row)

    def listen(self, callback: Callback) -> None:
        """Call `callback` with every event, on a thread of the workspace.

        Events so far come first and at once, on the caller's thread: sent through the queue they
        would arrive behind newer ones, and an old row would take the place of the tokenized one.
        """
        with self._lock:
            backlog, self._backlog = self._backlog, []
            for event in backlog:
                if self.is_current(event):
                    callback(event)
            self._listeners.append(callback)

    def close(self) -> None:
        """End at once: the worker is killed, nothing is waited for but a write to stop, no event comes any more."""
        if not self._write_ended.is_set():
            self.cancel(self._latest[ev.RepairsWritten])
            self._write_ended.wait(WRITE_PATIENCE)  # so that it can take its unfinished file away
        with self._lock:
            self._closed = True
            self._listeners.clear()
            self._unwatch()
            link, self._link = self._link, None
        self._events.put(None)
        if link is not None:
            link.kill()

    def log_tail(self) -> str:
        """What the worker wrote to stderr, for --debug."""
        return self._link.log_tail() if self._link is not None else ""

    # --- questions --------------------------------------------------------------------------

    def ask(self, question: Callable[Concatenate[int, P], rq.Question], *given: P.args, **named: P.kwargs) -> int:
        """Ask a question, e.g. `ask(PacksRequest, 3)`, and get its ticket at once; what `requests.QUESTIONS` says
        answers. The newest question of a kind is the one that counts."""
        with self._lock:
            ticket = next(self._tickets)
            request = question(ticket, *given, **named)
            answer = rq.QUESTIONS[type(request)].answer
            if answer is not None:
                self._latest[answer] = ticket
            self._send(request)
            return ticket

    def request_row(self, index: int) -> int:
        """Ask for a row; `RowReady` answers, at once where it is at hand, and again whenever the recipe or the
        tokenizer changes."""
        with self._lock:
            self.row = index
            held = self._cache.get(index, self.version)
            self._row_due, self._tried_again = held is None, False
            ticket = self.ask(rq.RowRequest, index, self.version if held is not None else 0)
            if held is not None:
                self._events.put(ev.RowReady(ticket, self.version, None, held))
            return ticket

    def cached(self, index: int) -> Inspection | None:
        """The row under the present recipe and tokenizer, if it is at hand."""
        with self._lock:
            return self._cache.get(index, self.version)

    def request_write(
        self, target: str, log: str, marked: tuple[int, ...] = (), only: tuple[int, ...] | None = None
    ) -> int:
        """Ask for the repaired data in a new file, as a `WriteRequest` says; several `RepairsWritten` answer."""
        with self._lock:
            self._write_ended.clear()
            self._writing = self.repairs if only is None else None  # some of the rows are not the data
            return self.ask(rq.WriteRequest, target, log, marked, only)

    def cancel(self, ticket: int | None) -> None:
        """No answer to `ticket` is wanted any more; None where nothing was asked."""
        if ticket is None:
            return
        with self._lock:
            for kind, latest in list(self._latest.items()):
                if latest == ticket and kind is not ev.RepairsWritten:  # the worker tells when a write has ended
                    self._latest[kind] = 0
            self._requests = {kind: asked for kind, asked in self._requests.items() if asked.ticket != ticket}
            self._send(rq.Cancel(ticket))

    def is_current(self, event: ev.Event) -> bool:
        """Whether an event still answers the newest question of its kind under the present recipe."""
        ticket, version = getattr(event, "ticket", None), getattr(event, "version", None)
        if version is not None and version != self.version:
            return False
        return ticket is None or self._latest.get(type(event)) == ticket

    # --- the recipe -------------------------------------------------------------------------

    @property
    def recipe(self) -> Recipe:
        """The recipe in force."""
        return self._history.now.recipe

    @property
    def repairs(self) -> tuple[str, ...]:
        """The data repairs in force, which are in no file before they are exported."""
        return self._history.now.repairs

    @property
    def written_to(self) -> str | None:
        """The file that has the repairs in force; None where none has."""
        return self.written[1].target if self.written is not None and self.written[0] == self.repairs else None

    def change(self, path: str, value: Any) -> bool:
        """Set one knob; False where it has that value already. The value must be valid (`recipe_io`)."""
        return self.set_recipe(changed(self.recipe, path, value))

    def set_recipe(self, recipe: Recipe) -> bool:
        """Put another recipe in force; the row, batch and summaries on screen answer again by themselves."""
        return self.choose(RecipeChoice(recipe, self.repairs))

    def set_repairs(self, repairs: tuple[str, ...]) -> bool:
        """Put other data repairs in force, in the same history as recipes."""
        return self.choose(RecipeChoice(self.recipe, repairs))

    def withdraw(self, repair: str) -> None:
        """Take a repair out of force as if it had never been put there."""
        with self._lock:
            repairs = tuple(name for name in self.repairs if name != repair)
            self._history.replace(RecipeChoice(self.recipe, repairs))
            self._announce()

    def choose(self, chosen: RecipeChoice) -> bool:
        """Put a recipe and repairs in force, as one change."""
        with self._lock:
            return self._history.put(chosen) and self._announce()

    def undo(self) -> bool:
        """Back to what was in force before the last change; False where there is nothing."""
        with self._lock:
            return self._history.undo() and self._announce()

    def redo(self) -> bool:
        """Take an undo back; False where there is nothing to take back."""
        with self._lock:
            return self._history.redo() and self._announce()

    def reopen(self) -> None:
        """Read the data anew, under the same recipe and repairs; all that is requested is answered again."""
        with self._lock:
            self._opened += 1
            self._overran = ()
            self.written = None
            self._announce()

    def changes(self) -> tuple[RecipeChange, ...]:
        """What differs from the recipe as opened."""
        return diff(self.base_recipe, self.recipe)

    # --- exports ----------------------------------------------------------------------------

    @property
    def sample(self) -> tuple[Row, ...]:
        """The first rows, once they are known."""
        return pickle.loads(self._prepared).sample if self._prepared else ()

    def plan_export(self, to: str, folder: str) -> ExportPlan:
        """What exporting would write into `folder`; `to` is recipe, preprocess or a trainer's name.

        Nothing is written before `ExportPlan.write`. ExportError where it cannot be done, also
        while the data or the tokenizer it needs is not loaded yet.
        """
        from sftui.exports.plan import plan_export
        from sftui.exports.prepared import ExportInput

        with self._lock:
            known = pickle.loads(self._prepared) if self._prepared else ExportInput(paths=self.options.paths)
            prepared: ExportInput = replace(known, repairs=self.repairs, repaired=self.written_to)
            return plan_export(to, folder, self.recipe, self.base_recipe, prepared)

    # --- inside -----------------------------------------------------------------------------

    def _announce(self) -> bool:
        self.version += 1
        self._cache.clear()
        self._events.put(ev.RecipeChanged(self.recipe, self.version, self.repairs))  # before any answer under it
        self._send(rq.SetRecipe(self.recipe, self.version, self.repairs, self._opened))
        return True

    def _send(self, request: rq.Request) -> None:
        if isinstance(request, rq.BatchRequest) or (isinstance(request, rq.RowRequest) and not request.held):
            self._rewatch()
        if not isinstance(request, (rq.RowRequest, rq.OpenRequest, rq.SetRecipe, rq.WriteRequest, rq.Cancel)):
            self._requests[type(request)] = request
        if self._link is not None:
            self._link.send(request)

    def _connect(self, row: int | None) -> None:
        if self._closed:
            return
        started, self._started = self._started, None
        self._link = self._start_worker(self._events.put, self._events.put, self._command, started)
        ticket = self._latest[ev.RowReady] = self._latest.get(ev.RowReady) or next(self._tickets)
        again = (self.repairs, self._opened, self._overran)
        self._link.send(rq.OpenRequest(self.options, self.recipe, self.version, ticket, row, *again))

    def _dispatch(self) -> None:
        while (event := self._events.get()) is not None:
            if isinstance(event, Link):  # it has ended
                self._restart(event)
            else:
                self._hand_on(event)
            self._events.task_done()

    def _hand_on(self, event: Any) -> None:
        with self._lock:
            listeners = tuple(self._listeners)
            wanted = self._note(event)
            if wanted and not listeners and not self._closed:
                self._backlog.append(event)
        for listener in listeners if wanted else ():
            listener(event)

    def _note(self, event: Any) -> bool:
        """Keep what the event says; whether listeners should hear it."""
        if self._closed:
            return False
        if isinstance(event, ev.ExportPrepared):
            self._prepared = event.pickled
            return False
        anew = isinstance(event, ev.TokenizerChanged)
        if isinstance(event, ev.SourceOpened):
            self.source, anew = event, bool(event.anew)
        elif isinstance(event, ev.CountChanged):
            self.count = event
        elif isinstance(event, ev.SourceChanged):
            anew = event.lost
        elif isinstance(event, ev.TokenizerChanged):
            self.tokenizer = event
        elif isinstance(event, ev.WorkerFailed):
            self.failed = event
            self._write_ended.set()
        elif isinstance(event, ev.RepairsCounted):
            anew = event.doubles
        elif isinstance(event, ev.RepairsWritten) and (event.done or event.problem is not None or not event.target):
            if event.done and self._writing is not None:
                self.written = (self._writing, event)
            self._write_ended.set()
        elif isinstance(event, tuple(ONCE)):
            if getattr(event, "finished", True):
                self._requests.pop(ONCE[type(event)], None)
        elif isinstance(event, ev.RowReady):
            self._answered = True
            self._row_due = False
            if self._list_again and rq.SummariesRequest in self._requests:
                self._send(self._requests[rq.SummariesRequest])
            self._list_again = False
            if event.version == self.version and not event.inspection.provisional:
                self._cache.put(event.inspection, event.version)
        if anew:
            self._cache.clear()
        if isinstance(event, ev.RowReady | ev.BatchReady):
            self._unwatch()
        elif isinstance(event, ev.DataLoading) and self._watch is not None:
            self._rewatch()
        return self.is_current(event)

    def _restart(self, link: Link) -> None:
        """The worker is gone: say so, and start another unless it never answered a row.

        Where a piece of work went over its bound, the next one has to leave that, and all that was requested is
        requested again. A write is given up all the same: its file would lack rows. Where nobody knows what ended it,
        the row that is open is requested once more if it was answered before, so that it cannot be the cause.
        """
        with self._lock:
            if self._closed or link is not self._link:
                return
            self._unwatch()
            overrun = link.overrun()
            self._link = None
            if overrun is not None and self._write_ended.is_set() and len(self._overran) < MOST_OVERRUN:
                self._overran = (*self._overran, overrun)
                left = Problem(overrun.why, fix="sftui skips that row and continues with the others")
                self._events.put(ev.WorkLeft(left))
                self._connect(self.row)
                for request in self._requests.values():
                    self._send(request)
                return
            again = self._answered
            self._answered, self._list_again = False, True  # the list waits for a row that shows that it works again
            problem = Problem(
                f"the worker process ended while row {self.row} was open",
                _cause(link.exit_code()),
                "it was restarted" if again else "restart sftui with --debug to see more",
            )
            self._events.put(ev.WorkerFailed(problem))
            if again:
                harmless = not self._row_due and not self._tried_again
                self._tried_again = True
                self._connect(self.row if harmless else None)

    def _rewatch(self) -> None:
        self._unwatch()
        self._watch = threading.Timer(self._patience, self._overdue, (self._link,))
        self._watch.daemon = True
        self._watch.start()

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _overdue(self, link: Link | None) -> None:
        with self._lock:
            if link is None or link is not self._link or self._closed:
                return
        link.kill()


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        names = {
            -9: "it was killed (out of memory, or no answer for too long)",
            -11: "a library crashed (segmentation fault)",
        }
        return names.get(code, f"signal {-code} ended it")
    return f"it stopped with exit code {code}" if code is not None else "its pipe closed"
