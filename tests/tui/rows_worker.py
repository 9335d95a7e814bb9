"""The real worker in the test's process: what is requested is answered at once, or when the test says so."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from sftui import pipeline
from sftui.bound import Overrun
from sftui.conversations import Detection
from sftui.model import Inspection, Row, TokenText
from sftui.recipe import Recipe, changed
from sftui.session import ready, versions
from sftui.session.opened import OpenData, StoredData
from sftui.session.options import OpenOptions
from sftui.starting import IdleWorker
from sftui.tokens import LoadedTokenizer
from sftui.trainers import Toolbox, preset
from sftui.workspace import Workspace, worker
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.inbox import Inbox
from sftui.workspace.indexing import Indexer, LookRequest
from sftui.workspace.link import Link
from sftui.workspace.loader import Loader
from sftui.workspace.worker import Worker

R = TypeVar("R")
Chat = tuple[str, str]
CHATS: Sequence[Chat] = (
    ("What is the capital of France?", "Paris is the capital of France."),
    ("Say [/INST] and [b]bold[/b]", "[@click=app.quit]no[/] \x1b[2mowned\x07 \x1b[31mred"),
    ("你好，世界 ❤️ नमस्ते 👩‍👩‍👧", "שלום עולם \u202eabc\u202c zero\u200bwidth"),
    ("Tell me a long story", " ".join(f"word{i}" for i in range(130))),
    ("Code?", "def f(x):\n\treturn x + 1\n\nprint(f(2))"),
)
FOREIGN = "<|im_end|>"
"""No stop of the tokenizer: EOS012 is an error of each third row, whose answer ends with it."""


def chats(rows: int = 41) -> list[Chat]:
    """So many different rows: the chats again and again, only the first of which have characters that CON008 finds."""
    made = []
    for row in range(rows):
        question, answer = CHATS[row % len(CHATS)]
        if row >= len(CHATS):
            question, answer = (
                f"{question} ({row})",
                answer.translate(dict.fromkeys(map(ord, "\x1b\x07\u202e\u202c\u200b"))),
            )
        if row >= 2 * len(CHATS):
            answer = answer[:59]  # two long rows will do
        made.append((question, answer + FOREIGN if row % 3 == 1 else answer))
    return made


def write_chats(path: Path, rows: Sequence[Chat], **answering: object) -> str:
    """A file of chats, with other keys of their answers; its name."""
    told = [
        [{"role": "user", "content": asked}, {"role": "assistant", "content": said, **answering}]
        for asked, said in rows
    ]
    path.write_text("".join(json.dumps({"messages": one}) + "\n" for one in told))
    return str(path)


class Nothing(BaseException):
    """Is left to do."""


class HereInbox(Inbox):
    """Once all that was requested is answered it does what threads do besides, then it ends the worker's loop."""

    def __init__(self) -> None:
        super().__init__()
        self.besides: list[Callable[[], None]] = []

    def take(self, block: bool = True, timeout: float | None = None) -> Any | None:
        while block and not self.busy():
            if not self.besides:
                raise Nothing
            self.besides.pop(0)()
        return super().take(False)


class HereLoader(Loader):
    """Loads and proves a tokenizer when the worker has answered."""

    def __init__(self, inbox: HereInbox) -> None:
        super().__init__(inbox.post)
        self._besides = inbox.besides

    def load(self, recipe: Recipe, options: OpenOptions, after: Event | None = None) -> None:
        self._number += 1
        self.shown.set()
        self._besides.append(partial(self._run, self._number, recipe, options, None))

    def prove(self, recipe: Recipe, options: OpenOptions, tokenizer: LoadedTokenizer, texts: Sequence[str]) -> None:
        self._besides.append(partial(self._prove, self._number, recipe, options, tokenizer, texts))


class HereIndexer(Indexer):
    """Knows small files at once; what becomes of them it does not watch."""

    def _index(self, stored: StoredData) -> None:
        pass


OPENED: dict[str, OpenData] = {}
"""Data that a test began with, by what was opened under which recipe."""


class HereWorker(Worker):
    """Begins with the data as another test opened it, which is frozen."""

    def _read(self, options: OpenOptions, recipe: Recipe, repairs: tuple[str, ...]) -> OpenData:
        if self._session is not None:
            OPENED.clear()  # what is open will be closed
        if self._session is not None or not all(map(os.path.isfile, options.paths)):
            return super()._read(options, recipe, repairs)
        written = [(os.path.abspath(path), os.stat(path).st_mtime_ns) for path in options.paths]
        key = repr((written, options, recipe, repairs))
        if key not in OPENED:
            OPENED[key] = super()._read(options, recipe, repairs)
        return OPENED[key]


def once(make: Callable[..., Any], key: Callable[..., object]) -> Callable[..., Any]:
    """A function that makes what has a key once, and as often as it is asked what has none. Objects in a key are known
    by their ids, so they are kept."""
    made: dict[object, tuple[Any, object]] = {}

    def make_once(*given: Any, **named: Any) -> Any:
        known = key(*given, **named)
        if known is None:
            return make(*given, **named)
        if known not in made:
            if len(made) == MOST:
                made.clear()
            made[known] = make(*given, **named), given
        return made[known][0]

    return make_once


MOST = 4000


def _loaded(recipe: Recipe, options: OpenOptions, mode: str = "proven") -> object:
    bundled = str(recipe.tokenizer.name).startswith("builtin:") and options.env is None
    return (versions.tokenizer_key(recipe), mode) if bundled else None


def _under(
    opened: OpenData, recipe: Recipe, repairs: tuple[str, ...] | None = None, stored: StoredData | None = None
) -> object:
    return opened, repr(recipe), repairs, id(stored)


def _inspected(row: Row, detected: Detection, recipe: Recipe, tools: Toolbox, *, spans: bool, text: bool) -> object:
    return id(tools), id(detected), row.index, row.raw, row.repairs, spans, text


def inspect_all_once(
    rows: Iterable[Row], detected: Detection, recipe: Recipe, tools: Toolbox, *given: Any, spans: bool, text: bool
) -> Iterator[Inspection]:
    """Rows in order, prepared together where one of them was not yet."""
    listed = [*rows]
    keys = [_inspected(row, detected, recipe, tools, spans=spans, text=text) for row in listed]
    if not TOGETHER.keys() >= {*keys}:
        if len(TOGETHER) > MOST:
            TOGETHER.clear()
        made = pipeline.inspect_all(listed, detected, recipe, tools, *given, spans=spans, text=text)
        TOGETHER.update(zip(keys, ((found, tools, detected) for found in made)))
    return iter([TOGETHER[key][0] for key in keys])


TOGETHER: dict[object, tuple[Inspection, Toolbox, Detection]] = {}


ONCE: Sequence[tuple[object, str, Callable[..., Any]]] = (
    (versions, "load", once(versions.load, _loaded)),
    (worker, "with_tokenizer", once(ready.with_tokenizer, lambda opened, tokenizer: (opened, id(tokenizer)))),
    (worker, "under", once(ready.under, _under)),
    (ready, "inspect", once(pipeline.inspect, _inspected)),
    (ready, "inspect_all", inspect_all_once),
    (ready.Ready, "sifted", once(ready.Ready.sifted, lambda session, found: (session, id(found)))),
)
"""What is made once in tests, where it is looked up."""


class RowsWorker(Link):
    """The real worker at the other end of a real workspace's link, requests and events pickled as on a pipe.

    `hold` keeps events until `release`, for tests of staleness.
    """

    pid = 0

    def __init__(self) -> None:
        self._inbox = HereInbox()
        self._here = HereWorker(self._inbox, self)  # type: ignore[arg-type]  # as far as it writes
        self._here._loader = HereLoader(self._inbox)
        self._here._indexer = HereIndexer(self._inbox, self._here.send, self._here._loader.settled)
        self.killed = False
        self.hold = False
        self.held: list[ev.Event] = []
        self.sent: list[rq.Request] = []
        """What was requested."""
        self.lost: tuple[type, ...] = ()
        """What never reaches the worker."""

    # — a connection —

    def connect(
        self,
        on_event: Callable[[Any], None],
        on_end: Callable[[Link], None],
        command: tuple[str, ...],
        started: IdleWorker | None,
    ) -> Link:
        """In place of starting a process; it never ends."""
        self._on_event = on_event
        return self

    def send(self, request: rq.Request) -> bool:
        self.sent.append(request)
        if isinstance(request, self.lost):
            return True
        self._inbox.post(pickle.loads(pickle.dumps(request)))
        self._serve()
        return True

    def _serve(self) -> None:
        with suppress(Nothing):
            self._here.run()

    def write(self, payload: bytes) -> None:
        self.emit(pickle.loads(payload))

    def flush(self) -> None:
        pass

    def kill(self) -> None:
        self.killed = True

    def exit_code(self) -> int | None:
        return None

    def overrun(self) -> Overrun | None:
        return None

    def log_tail(self) -> str:
        return ""

    def look(self) -> None:
        """See what has become of the data."""
        session = self._here._session
        assert session is not None
        self._inbox.post(LookRequest(session.source))
        self._serve()

    def grow(self) -> None:
        """See the rows that were written since."""
        session = self._here._session
        assert session is not None and session.source.refresh()
        session.source.index_more(60)
        self.look()

    # — what it tells —

    def altered(self, event: Any) -> Any:
        """An event as a test would have it."""
        return event

    def emit(self, event: ev.Event) -> None:
        """An event, now or when it is released."""
        event = self.altered(event)
        if self.hold:
            self.held.append(event)
        else:
            self._on_event(event)

    def emit_now(self, event: ev.Event) -> None:
        """An event, whatever is held."""
        self._on_event(event)

    def release(self, *order: int) -> None:
        held, self.held, self.hold = self.held, [], False
        for event in [held[i] for i in order] if order else held:
            self.emit(event)

    # — what it was asked —

    def asked(self, kind: type[R]) -> list[R]:
        """The requests of a kind."""
        return [request for request in self.sent if isinstance(request, kind)]

    @property
    def cancelled(self) -> set[int]:
        """The tickets that nobody waits for any more."""
        return {request.ticket for request in self.sent if isinstance(request, rq.Cancel)}

    def make(self, index: int) -> Inspection:
        """A row as it is under the recipe in force."""
        session = self._here._session
        assert session is not None
        return session.inspect(index)

    def show(self, inspection: Inspection) -> None:
        """The row on screen is answered again, so."""
        row = self._here._row
        assert row is not None
        self.emit(ev.RowReady(row.ticket, self._here._version, None, inspection))


class Spelling(RowsWorker):
    """Tokens are written as words that no bundled vocabulary has, one after the other."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__()
        self.words = words

    def altered(self, event: Any) -> Any:
        if not isinstance(event, ev.RowReady) or event.inspection.token_text is None:
            return event
        text, words = event.inspection.token_text, cycle(self.words)
        pieces = tuple(piece if special else next(words) for piece, special in zip(text.pieces, text.special))
        surfaces = tuple(piece.encode() for piece in pieces)
        inspection = replace(event.inspection, token_text=TokenText(pieces, surfaces, text.special))
        return replace(event, inspection=inspection)


def usual(recipe: Recipe | None = None) -> Recipe:
    """A recipe, under a bundled tokenizer where it names none."""
    recipe = recipe or preset()
    return recipe if recipe.tokenizer.name is not None else changed(recipe, "tokenizer.name", "builtin:gemma")


def over(
    link: RowsWorker | None = None,
    recipe: Recipe | None = None,
    options: OpenOptions | None = None,
    kind: type[Workspace] = Workspace,
) -> Workspace:
    """A workspace over the real worker; `kind` is one that says itself what an export would write."""
    options = options or OpenOptions(("train.jsonl",), recipe=recipe or preset())
    return kind(replace(options, recipe=usual(options.recipe)), connect=(link or RowsWorker()).connect)


def inspected(index: int) -> Inspection:
    """A row of `train.jsonl`."""
    return ready.tokenized(ready.open_data(OpenOptions(("train.jsonl",), recipe=usual()))).inspect(index)
