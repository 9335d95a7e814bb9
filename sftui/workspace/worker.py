"""The worker process: owns the source, the tokenizer and the pipeline; answers the workspace.

    stdin: pickled requests · stdout: pickled events · stderr: a log, never the terminal

The main thread works (templates stop themselves by signals, which only it receives). Besides it: a
reader of requests, which ends the process when the pipe closes, an indexer of the source, and a
loader of the tokenizer, which may wait for the network. Long jobs run in slices of `SLICE`
seconds, so that a row never waits for them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Generator, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from sftui import bound
from sftui.errors import SftuiError, without_secrets
from sftui.model import Inspection, Problem, Row, Stage
from sftui.recipe import Recipe
from sftui.session.opened import AT_ONCE, OpenData, StoredData, held_out_by, read_anew, settling
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, TokenizedData, UntokenizedData, open_data, row_texts, under, with_tokenizer
from sftui.session.versions import tokenizer_key
from sftui.starting import PAGE
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.comparing import Comparison
from sftui.workspace.inbox import URGENCY, Inbox
from sftui.workspace.indexing import Indexer, LookRequest
from sftui.workspace.loader import Loader, LoaderReport
from sftui.workspace.search import count_hits, search
from sftui.workspace.summaries import TOO_HEAVY, leads_of, summaries, summary
from sftui.workspace.watching import answered, unless_lost

if TYPE_CHECKING:
    from sftui.workspace.auditing import AuditRun
    from sftui.workspace.wasting import WasteRun

SLICE = 0.01
LOOK = 0.02
"""Seconds in which small data is looked through whole, before anything of it is shown."""
PROVISIONAL = (
    "how rows are read is provisional: sftui is still scanning the rest of the data for other columns and keys"
)
ANSWERED_AGAIN = (rq.SearchRequest, rq.OrderRequest, rq.TagsRequest)
"""Questions that nothing asks again by itself, and that data which is read again may answer otherwise."""
SWITCH = 0.001
"""Seconds a thread may keep the interpreter lock while another wants it: the indexer must not hold up a row."""


class Worker:
    """The loop that serves one workspace."""

    def __init__(self, inbox: Inbox, out: IO[bytes]) -> None:
        self._inbox = inbox
        self._out = out
        self._sending = threading.Lock()
        self._session: OpenData | None = None
        self._told: OpenData | None = None
        self._loader = Loader(inbox.post)
        self._indexer = Indexer(inbox, self.send, self._loader.settled)
        self._version = 0
        self._refused: Problem | None = None
        self._row: rq.RowRequest | None = None
        self._shown: Inspection | None = None
        self._lasting: dict[type, Any] = {}
        self._comparison = Comparison()
        self._auditing: AuditRun | None = None
        self._wasting: WasteRun | None = None
        self._jobs: dict[type, tuple[Any, Iterator[Any]]] = {}
        self._stepped: type | None = None

    def send(self, event: Any) -> None:
        """Hand an event over; from any thread."""
        payload = pickle.dumps(event, pickle.HIGHEST_PROTOCOL)
        with self._sending:
            self._out.write(payload)
            self._out.flush()

    def run(self) -> None:
        """Serve for ever; the process ends with its stdin."""
        while True:
            item = self._inbox.take(block=not self._jobs)
            try:
                if item is not None:
                    self._serve(item)
                elif self._jobs:
                    self._step()
            except MemoryError:
                self._give_up(item, Problem("there was not enough memory for this", fix="try a smaller row or batch"))
            except Exception as error:
                what = f"sftui failed here ({type(error).__name__}: {error})"
                self._give_up(item, Problem(what, fix="this is a bug; --debug shows the traceback"))

    def _give_up(self, item: Any, problem: Problem) -> None:
        """Answer what could not be done; every other job goes on."""
        traceback.print_exc()  # for --debug, which shows what the worker writes
        if item is None and self._stepped is not None:
            item, job = self._jobs.pop(self._stepped, (None, None))
            if isinstance(job, Generator):
                with contextlib.suppress(Exception):
                    job.close()
        self._refuse(item, problem)
        self.send(ev.WorkerFailed(problem))

    def _refuse(self, item: Any, problem: Problem | None) -> None:
        """There is no answer, and perhaps it is known why."""
        answer = rq.refusal(item, self._version, problem) if problem is not None else None
        if answer is not None:
            self.send(answer)

    def _serve(self, item: Any) -> None:
        if isinstance(item, rq.OpenRequest):
            self._open(item)
        elif isinstance(item, rq.SetRecipe):
            self._set_recipe(item)
        elif isinstance(item, LoaderReport):
            self._loaded(item)
        elif isinstance(item, StoredData):
            self._looked_through(item)
        elif isinstance(item, LookRequest):
            if self._indexer.look(item):  # what is on screen cannot be read any more, or can be again
                self._answer_row()
                self._again(rq.SummariesRequest)
            told, self._told = self._told, self._session
            if self._session is not None and self._session is not told and self._session.load_stop(AT_ONCE):
                self._send_source(self._session)
        elif isinstance(item, rq.RowRequest):
            self._row = item
            if item.held != self._version:
                self._answer_row()
        else:
            if not rq.QUESTIONS[type(item)].once:
                self._lasting[type(item)] = item
            if self._session is None:
                self._refuse(item, self._refused)
            else:
                self._start(item, self._session)

    # --- opening ----------------------------------------------------------------------------

    def _open(self, request: rq.OpenRequest) -> None:
        self._opening, self._refused = request, None
        self._try_again(request.overran)
        self._version = request.version
        opened = threading.Event()
        self._loader.load(request.recipe, request.options, after=opened)
        try:
            session = self._read(request.options, request.recipe, request.repairs)
        except SftuiError as error:
            from sftui.pipeline import as_problem

            self._refused = as_problem(error)
            self.send(ev.CountChanged(0, True, 1.0))
            title = without_secrets(" ".join(request.options.paths))
            self.send(ev.SourceOpened(title, refused=self._refused))
            self._row = rq.RowRequest(request.ticket, request.row or 0)
            self._answer_row()
            opened.set()
            return
        self._session = session
        self._send_source(session)
        if request.row is not None:
            self._row = rq.RowRequest(request.ticket, request.row)
            self._answer_row()
        opened.set()
        self._indexer.begin(session.stored)

    def _read(self, options: OpenOptions, recipe: Recipe, repairs: tuple[str, ...]) -> OpenData:
        """Open the data; what comes from the Hub is reported every second."""
        from sftui.sources.opening import hub_name

        repo = hub_name(options.paths)
        if repo is None:
            return open_data(options, recipe, repairs, LOOK)
        from sftui.waiting import loading_words, watched

        words = partial(loading_words, repo, "datasets")
        with watched(repo, "datasets", lambda seconds, came: self.send(ev.DataLoading(words(seconds, came)))):
            return open_data(options, recipe, repairs, LOOK)

    def _try_again(self, but: tuple[bound.Overrun, ...]) -> None:
        """Do every piece of work but these."""
        if (found := bound.guard()) is not None:
            found.refuse(but)

    def _send_source(self, session: OpenData, anew: str = "") -> None:
        source, found, stop = session.source, session.detected, session.load_stop(0)  # what is known of it
        notes = [*(() if session.stored.whole else (PROVISIONAL,)), *session.options.notes, *source.notes, *found.notes]
        notes += [stop.sentence()] if stop is not None else []
        self.send(ev.SourceOpened(source.title, found.format, tuple(notes), found.refused, session.unread, anew))
        self._prepare_export(session)

    def _prepare_export(self, session: OpenData) -> None:
        self.send(ev.ExportPrepared(pickle.dumps(session.prepared(), pickle.HIGHEST_PROTOCOL)))

    def _looked_through(self, found: StoredData) -> None:
        """All rows are known, and with them how each is read."""
        before = self._session
        if before is None or before.stored.source is not found.source:
            return
        session = self._session = under(before, before.requested, stored=found)
        changed = session.detected != before.detected
        self._send_source(session, read_anew(before.stored, found) if changed else "")
        if changed:
            self._comparison = Comparison()
            self._answer_again(session)

    # --- recipe and tokenizer ---------------------------------------------------------------

    def _set_recipe(self, request: rq.SetRecipe) -> None:
        self._version = request.version
        if request.opened != self._opening.opened:
            self._opening = self._opening._replace(opened=request.opened)
            self._try_again(())  # what overran may be another row now, or another template
            if self._reopen(request):
                return
        before = self._session
        if before is None:
            self._answer_row()
            return
        session = self._session = under(before, request.recipe, request.repairs)
        if tokenizer_key(session.recipe) != tokenizer_key(before.recipe):
            self._loader.load(request.recipe, session.options)
        if session.recipe.data != before.recipe.data or session.repairs != before.repairs:
            self._send_source(session)
        self._answer_again(session)

    def _reopen(self, request: rq.SetRecipe) -> bool:
        """Open the data again; where it cannot be, what was open stays open. False where the recipe is still to be put
        in force."""
        old = self._session
        if old is None:
            again = self._opening._replace(recipe=request.recipe, version=request.version, repairs=request.repairs)
            self._open(again._replace(ticket=self._row.ticket if self._row is not None else again.ticket))
            return True
        try:
            session = self._read(old.options, old.requested, old.repairs)
        except SftuiError as error:
            words = f"the data cannot be reopened: {error}"
            self._indexer.refused(Problem(words, fix="the data opened before stays open"))
            return False
        unanswered = self._end_jobs()
        if isinstance(old, UntokenizedData):
            self._loader.load(request.recipe, session.options)  # the network may be back
        elif isinstance(old, TokenizedData):
            session = with_tokenizer(session, old.tokenizer)
        self._session, self._comparison, self._auditing = session, Comparison(), None
        self._send_source(session)
        self._indexer.begin(session.stored)
        old.close()
        self._indexer.send_change(ev.SourceChanged(None))
        for item in unanswered:
            if not self._inbox.cancelled(item.ticket):
                self._serve(item)
        self._prove_rows(session)
        return False

    def _end_jobs(self) -> list[Any]:
        """Give up all that reads the data; a write takes its files away. What is to be read of the data again."""
        unanswered = [item for kind, (item, _) in self._jobs.items() if kind in ANSWERED_AGAIN]
        for kind in list(self._jobs):
            self._end(kind)
        return unanswered

    def _end(self, kind: type) -> None:
        """Give up a job, where there is such a one; a write takes its files away, and says that it has ended."""
        item, job = self._jobs.pop(kind, (None, None))
        if isinstance(job, Generator):
            job.close()
        if isinstance(item, rq.WriteRequest):
            self.send(ev.RepairsWritten(item.ticket, None, None))

    def _loaded(self, loaded: LoaderReport) -> None:
        """A tokenizer has come, was proven or corrected, or could not be loaded."""
        from sftui.tokens.release import settle

        if not self._loader.wanted(loaded):
            return
        if self._session is None or loaded.fresh is None:
            self.send(loaded.event)
            return
        session = self._session = with_tokenizer(self._session, loaded.fresh)
        shown = session.inspect(self._row.index) if self._row is not None and loaded.whole else None
        if not loaded.whole or self._shown != shown:
            self.send(loaded.event)
            self._answer_again(session)
        self._loader.shown.set()
        if loaded.part:
            return
        if not loaded.by_rows:
            self._prove_rows(session)
        settle()

    def _prove_rows(self, session: OpenData) -> None:
        """Have the tokenizer compared on what the first rows give it, after they are on screen."""
        if not isinstance(session, TokenizedData) or not session.tokenizer.facts.backend:
            return
        texts = row_texts(session)
        if texts:
            self._loader.prove(session.recipe, session.options, session.tokenizer, texts)

    def _answer_again(self, session: OpenData) -> None:
        """What is on screen, under the recipe and tokenizer now in force."""
        self._prepare_export(session)
        self._answer_row()
        if self._auditing is not None:
            self._auditing.forget()
        self._start_split(session)
        for kind in self._lasting:
            self._again(kind)

    # --- answers ----------------------------------------------------------------------------

    def _answer_row(self) -> None:
        if self._refused is not None and self._row is not None:
            missing = Inspection(Row(self._row.index, None, "", ""), stopped_at=Stage.ROW, problem=self._refused)
            self.send(rq.answering(self._row, self._version)(missing))
        if self._session is not None and self._row is not None:
            inspection = self._shown = self._session.inspect(self._row.index)
            self.send(rq.answering(self._row, self._version)(inspection))
            listed = self._lasting.get(rq.SummariesRequest)
            if listed is not None and inspection.row.size > TOO_HEAVY:
                line = summary(inspection, leads_of(self._session))
                self.send(rq.answering(listed, self._version)((line,)))

    def _start_split(self, session: OpenData) -> None:
        """Find out which rows evaluate, and mark them on screen."""
        self._jobs.pop(rq.SplitRequest, None)
        if isinstance(session, Ready) and held_out_by(session.recipe) is not None:
            self._jobs[rq.SplitRequest] = (rq.SplitRequest(-1), self._splitting(session))

    def _splitting(self, session: OpenData) -> Iterator[None]:
        yield from unless_lost(session, settling(session), lambda problem: None)
        if session.split.evaluation:
            self._answer_row()
            self._again(rq.SummariesRequest)
            self._again(rq.CompareRequest)

    def _start(self, item: Any, session: OpenData) -> None:
        """Begin to answer a question in slices; what is lasting is so again under every new recipe or
        tokenizer."""
        self._jobs[type(item)] = (item, self._job(item, session))

    def _job(self, item: Any, session: OpenData) -> Iterator[Any]:
        from sftui.workspace.answers import batch, findings, packs, tags, why
        from sftui.workspace.filtering import count_values, filter_rows
        from sftui.workspace.repairing import count_repairs, write_whole

        version, auditing = self._version, self._audits()
        answer, instead = rq.answering(item, version), partial(rq.refusal, item, version)
        while_there = partial(unless_lost, session)

        def no_audit(problem: Problem) -> ev.Event | None:
            auditing.forget()
            return instead(problem)

        settled = partial(self._again, rq.CompareRequest)
        jobs: dict[type, Callable[[], Iterator[Any]]] = {
            rq.BatchRequest: lambda: batch(session, item, answer),
            rq.FindingsRequest: lambda: findings(session, item, answer),
            rq.WhyRequest: lambda: why(session, item, answer),
            rq.CompareRequest: lambda: self._comparison.compare(session, item, answer),
            rq.PacksRequest: lambda: while_there(packs(session, item, answer), instead),
            rq.TagsRequest: lambda: tags(session, answer),
            rq.SummariesRequest: lambda: summaries(session, item, answer),
            rq.OrderRequest: lambda: auditing.order(session, item, answer),
            rq.SearchRequest: lambda: while_there(search(lambda: self._session or session, item, answer), instead),
            rq.WriteRequest: lambda: write_whole(session, item, answer),
            rq.CountRequest: lambda: while_there(self._comparison.count(session, item, answer, settled), instead),
            rq.RepairsRequest: lambda: while_there(count_repairs(session, answer), lambda problem: None),
            rq.FilterRequest: lambda: while_there(filter_rows(session, item, answer), instead),
            rq.FacetsRequest: lambda: while_there(count_values(session, item, answer), instead),
            rq.AuditRequest: lambda: while_there(auditing.run(session, answer), no_audit),
            rq.WasteRequest: lambda: while_there(self._wastes().run(session, answer), instead),
            rq.HitsRequest: lambda: while_there(count_hits(session, item, answer), instead),
        }
        job = jobs[type(item)]()
        if rq.QUESTIONS[type(item)].unanswered is None:
            return job  # a WorkerFailed says why
        return answered(job, no_audit if isinstance(item, rq.AuditRequest) else instead)

    def _audits(self) -> AuditRun:
        if self._auditing is None:
            from sftui.workspace.auditing import AuditRun

            self._auditing = AuditRun()
        return self._auditing

    def _wastes(self) -> WasteRun:
        if self._wasting is None:
            from sftui.workspace.wasting import WasteRun

            self._wasting = WasteRun()
        return self._wasting

    def _doubles_known(self) -> None:
        """Which rows stood in an earlier one is known only now: what is on screen may be among them."""
        self._answer_row()
        for kind in (rq.SummariesRequest, rq.FindingsRequest, rq.CompareRequest):
            self._again(kind)

    def _again(self, kind: type) -> None:
        """Answer once more what was requested last and is still wanted."""
        item = self._lasting.get(kind)
        if item is not None and self._session is not None and not self._inbox.cancelled(item.ticket):
            self._start(item, self._session)

    def _step(self) -> None:
        """Run the most urgent job for a slice, or until something is requested."""
        kind = next_job(self._jobs, self._stepped)
        self._stepped = kind
        item, job = self._jobs[kind]
        until = time.monotonic() + SLICE
        while time.monotonic() < until and not self._inbox.busy():
            if self._inbox.cancelled(item.ticket):
                self._end(kind)
                return
            try:
                event = next(job)
            except StopIteration:
                del self._jobs[kind]
                return
            if event is not None:
                self.send(event)
            if isinstance(event, ev.RepairsCounted) and event.doubles:
                self._doubles_known()


SEEN = URGENCY[: URGENCY.index(rq.SummariesRequest) + 1]
"""Jobs of what is on screen."""


def next_job(jobs: Collection[type], last: type | None) -> type:
    """The most urgent job; those of what is on screen take turns after the `last` one, so that none keeps another
    waiting for what it itself waits for, e.g. a comparison the row list for the tokenizer of its second recipe."""
    seen = [kind for kind in SEEN if kind in jobs]
    if not seen:
        return next(kind for kind in URGENCY if kind in jobs)
    later = seen[seen.index(last) + 1 :] if last in seen else []
    return (later or seen)[0]


def read_requests(inbox: Inbox, requests: IO[bytes]) -> None:
    """Post every request; when the pipe closes, the workspace is gone and so are we, at once."""
    with contextlib.suppress(Exception):
        while True:
            inbox.post(pickle.load(requests))
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)  # the proof of a tokenizer may be running below us
    os._exit(0)


AHEAD = (
    "sftui.sources.json_layout",
    "sftui.conversations",
    "sftui.session.versions",
    "sftui.tokens",
    "tokenizers",
    "sftui.templates.rendering.sandbox",
    "sftui.labels",
    "sftui.pipeline",
    "sftui.exports.prepared",
    "huggingface_hub.constants",
    "platformdirs",
)
"""What any first row with its tokens needs."""


def load_ahead(inbox: Inbox) -> None:
    """Import what will be needed for as long as nothing is requested: a worker is started before its command line is
    read."""
    for name in AHEAD:
        if inbox.busy():
            return
        importlib.import_module(name)


def main() -> None:
    """Take stdin and stdout for the protocol, and leave libraries nothing to read from or to write on."""
    requests = os.fdopen(os.dup(0), "rb")
    events = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    shared = os.environ.pop(PAGE, None)
    page = bound.page_of(int(shared)) if shared is not None else None
    sys.setswitchinterval(SWITCH)
    # Arrow's own allocator keeps what it freed; the system's gives it back (see `memory.trim`).
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    inbox = Inbox()
    threading.Thread(target=read_requests, args=(inbox, requests), name="sftui-requests", daemon=True).start()
    if page is not None:
        bound.enter(page)
    load_ahead(inbox)
    Worker(inbox, events).run()
