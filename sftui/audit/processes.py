"""The rows of an audit shared among worker processes, their parts joined in order.

Each process works under a bound of its own (`sftui.bound`): one that a row has ended is started again and goes on
without that row. Each ends with its parent, however the parent ends: its pipe closes, and Linux tells it besides.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sftui import bound
from sftui.audit.audit import Audit
from sftui.audit.found import Filter
from sftui.audit.run import AuditProgress
from sftui.errors import SftuiError
from sftui.findings.hashes import Hashes

if TYPE_CHECKING:
    from sftui.findings import Context
    from sftui.model import Inspection, Row

CHUNK_ROWS = 256
CHUNK_BYTES = 1 << 20
AHEAD = 3
"""Chunks waiting for each process: enough that none is idle, few enough that memory stays small."""
LOOK = 0.2
"""Seconds between two looks at what the processes take."""
PATIENCE = 2.0
"""Seconds that a process has to end by itself once nothing more is wanted of it."""
NICE = 10
HOME = Path(__file__).resolve().parents[2]


class Inspecting(Protocol):
    """A session that inspects rows (see `sftui.session.ready`)."""

    @property
    def told(self) -> str | None: ...

    def checks(self) -> Context: ...

    def inspect_many(self, rows: Iterable[Row]) -> Iterator[Inspection]: ...


class Sent(Protocol):
    """One on its way to another process, which opens it there (see `sftui.session.sent`)."""

    def open(self) -> Inspecting: ...


@dataclass(frozen=True, slots=True)
class Task:
    """What every process needs: the session, which findings are wanted, and the prompts of the evaluation set."""

    session: Sent
    wanted: Filter
    evaluation: Hashes | None


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some rows in order, and where they stand among the chunks."""

    number: int
    rows: list[Row]


class _Hand:
    """One worker process with its end of the pipe, and the chunks it has."""

    def __init__(self, task: Task, folder: str, overran: tuple[bound.Overrun, ...]) -> None:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        self.connection = ours
        self.chunks: deque[_Chunk] = deque()
        shared = context.RawArray(ctypes.c_char, bound.PAGE)
        page = bound.Page(memoryview(shared).cast("B"))
        self._process = context.Process(
            target=_work, args=(theirs, shared, task, folder, overran, os.getpid()), daemon=True
        )
        with _at_home():
            self._process.start()
        theirs.close()
        self._watch = bound.Watch(page, self._process.pid or 0)

    def give(self, chunk: _Chunk) -> None:
        """Hand a chunk over; where the process is gone, reading tells."""
        self.chunks.append(chunk)
        with suppress(OSError):
            self.connection.send(chunk)

    def look(self) -> None:
        """End the process where its row takes too much."""
        if self._watch.look():
            self._process.kill()

    def overrun(self) -> bound.Overrun | None:
        """What the process was at when it ended; None where it was no row that ended it."""
        self._process.join(PATIENCE)
        code = self._process.exitcode
        return self._watch.overrun(-code) if code is not None and code < 0 else None

    def dismiss(self) -> None:
        """Nothing more is wanted: the process ends when its pipe closes."""
        self.connection.close()

    def end(self) -> None:
        self._process.join(PATIENCE)
        if self._process.exitcode is None:
            self._process.kill()


def audit_in_processes(
    audit: Audit,
    rows: Iterable[Row],
    task: Task,
    jobs: int,
    *,
    total: Callable[[], int | None] = lambda: None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[AuditProgress]:
    """Like `run_audit`, in `jobs` processes; the set-up must be checked already. SftuiError where a process dies for
    another reason than its row, or rows overrun too often.

    Chunks join in the order of the rows, so after each progress the audit holds the first `audit.rows` rows.
    """
    begun, before = clock(), audit.rows
    crew = _Crew(task, jobs)
    try:
        for part in crew.audits(_chunks(rows)):
            audit.merge(part)
            seconds = clock() - begun
            rate = (audit.rows - before) / seconds if seconds else 0.0
            whole = total()
            yield AuditProgress(
                audit.rows, whole, rate, max(0, whole - audit.rows) / rate if whole is not None and rate else None
            )
    finally:
        crew.end()
    audit.finish()
    yield AuditProgress(audit.rows, audit.rows, 0.0, 0.0, True, crew.note)


class _Crew:
    """The processes of one audit, and what overran in any of them."""

    def __init__(self, task: Task, jobs: int) -> None:
        self._task, self._folder = task, os.getcwd()
        self._overran: tuple[bound.Overrun, ...] = ()
        self.note: str | None = None
        self._hands = [_Hand(task, self._folder, ()) for _ in range(jobs)]

    def audits(self, chunks: Iterator[list[Row]]) -> Iterator[Audit]:
        """The audit of each chunk, in order."""
        coming = (_Chunk(number, some) for number, some in enumerate(chunks))
        parts: dict[int, Audit] = {}
        following = 0
        while True:
            self._share(coming, len(parts))
            busy = [hand for hand in self._hands if hand.chunks]
            if not busy:
                return
            for number, part, note in self._ready(busy):
                parts[number] = part
                self.note = self.note or note
            while following in parts:
                yield parts.pop(following)
                following += 1

    def _share(self, coming: Iterator[_Chunk], held: int) -> None:
        """Give each process chunks to do, first to those that have fewest; no more than are worth the memory."""
        while True:
            hand = min(self._hands, key=lambda one: len(one.chunks))
            waiting = sum(len(one.chunks) for one in self._hands)
            if len(hand.chunks) >= AHEAD or waiting + held >= 2 * AHEAD * len(self._hands):
                return
            chunk = next(coming, None)
            if chunk is None:
                return
            hand.give(chunk)

    def _ready(self, busy: list[_Hand]) -> Iterator[tuple[int, Audit, str | None]]:
        """What processes have done meanwhile; those that a row has ended are replaced."""
        ready = wait([hand.connection for hand in busy], LOOK)
        for hand in busy:
            if hand.connection not in ready:
                hand.look()
                continue
            try:
                done = hand.connection.recv()
            except (EOFError, OSError):
                self._replace(hand)
                continue
            if isinstance(done, BaseException):
                raise done
            hand.chunks.popleft()
            yield done

    def _replace(self, gone: _Hand) -> None:
        overrun = gone.overrun()
        if overrun is None:
            raise SftuiError(
                "a process of the audit ended", why="it was killed or had not enough memory", fix="try --jobs 1"
            )
        self._overran = (*self._overran, overrun)
        if len(self._overran) > bound.MOST_DEATHS:
            raise SftuiError(f"{overrun.why}, as {bound.MOST_DEATHS} pieces of work did before, so no more is tried")
        hand = _Hand(self._task, self._folder, self._overran)
        self._hands[self._hands.index(gone)] = hand
        for chunk in gone.chunks:
            hand.give(chunk)

    def end(self) -> None:
        for hand in self._hands:
            hand.dismiss()
        for hand in self._hands:
            hand.end()


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += row.size
        if len(chunk) >= CHUNK_ROWS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


@contextmanager
def _at_home() -> Iterator[None]:
    """The package's folder as the current one while processes start: `spawn` runs `python -c`, which imports from the
    current folder first, and a data folder may hold a file called json.py."""
    here = os.getcwd()
    os.chdir(HOME)
    try:
        yield
    finally:
        os.chdir(here)


class _Loaded:
    """What a worker process holds between chunks."""

    def __init__(self, task: Task) -> None:
        from sftui.tokens.release import settle

        self._task, self._session = task, task.session.open()
        self._context = self._session.checks()
        settle()

    @property
    def told(self) -> str | None:
        """What is to be known of the engine that encoded the rows, and of how they were rendered."""
        return self._session.told

    def audit(self, rows: list[Row]) -> Audit:
        audit = Audit(self._context, self._task.wanted, self._task.evaluation)
        inspected = list(self._session.inspect_many(rows))
        with bound.series():
            for found in inspected:
                audit.check(found, self._context)
        audit.lighten()
        return audit


def _work(
    connection: Connection, shared: Any, task: Task, folder: str, overran: tuple[bound.Overrun, ...], parent: int
) -> None:
    """Audit chunk after chunk; the process gives way to others, leaves Ctrl-C to its parent, and ends with it."""
    os.chdir(folder)  # names of files are relative to it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _end_with(parent)
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    chunks: queue.SimpleQueue[_Chunk] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, chunks), name="sftui-chunks", daemon=True).start()
    bound.enter(bound.Page(memoryview(shared).cast("B")), overran)
    try:
        loaded = _Loaded(task)
        while True:
            chunk = chunks.get()
            connection.send((chunk.number, loaded.audit(chunk.rows), loaded.told))
    except OSError:
        os._exit(1)  # nobody is there to hear
    except Exception as error:
        with suppress(Exception):
            connection.send(error)
            time.sleep(PATIENCE)
        os._exit(1)


def _receive(connection: Connection, chunks: queue.SimpleQueue[_Chunk]) -> None:
    """Take chunks in as they come, so that the parent never waits; the pipe closes with the parent."""
    try:
        while True:
            chunks.put(connection.recv())
    except BaseException:
        os._exit(0)


def _end_with(parent: int) -> None:
    """Have Linux end this process with its parent, also where a loop in C lets no thread run."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(0)
