"""Processes under a bound of their own, each of which opens what it was sent and does one piece of work after another.

One that a row has ended (`sftui.bound`) is started again and goes on without that row. Each ends with its parent,
however the parent ends: its pipe closes, and Linux tells it besides.
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
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from sftui import bound
from sftui.errors import SftuiError

AHEAD = 3
"""Pieces waiting for each process: enough that none is idle, few enough that memory stays small."""
LOOK = 0.2
"""Seconds between two looks at what the processes take."""
PATIENCE = 2.0
"""Seconds that a process has to end by itself once nothing more is wanted of it."""
NICE = 10
HOME = Path(__file__).resolve().parents[1]

P = TypeVar("P")
R = TypeVar("R")
P_contra = TypeVar("P_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


Received = tuple[int | None, Any]
"""A piece of work behind its number among all; behind None what other processes have found to overrun."""


class OpenTask(Protocol[P_contra, R_co]):
    """What a process has opened. `engine_note` is what is to be known of the engine that encodes its rows."""

    @property
    def engine_note(self) -> str | None: ...

    def do(self, piece: P_contra, /) -> R_co: ...


class CrewTask(Protocol[P_contra, R_co]):
    """What every process is sent; it pickles."""

    def open(self) -> OpenTask[P_contra, R_co]: ...


def may_fork() -> bool:
    """Whether processes may go on from this one, with all that it has loaded: on Linux, in one that `cli.supervising`
    started, with no thread besides that which waits for its parent, so that nobody could be in the middle of anything.
    """
    return sys.platform == "linux" and bound.guard() is not None and threading.active_count() <= 2


class _CrewProcess(Generic[P, R]):
    """One process with its end of the pipe, and the pieces it has."""

    def __init__(self, task: CrewTask[P, R], folder: str, overran: tuple[bound.Overrun, ...], fork: bool) -> None:
        context: Any = get_context("fork" if fork else "spawn")
        ours, theirs = context.Pipe()
        self.connection = ours
        self.pieces: deque[tuple[int, P]] = deque()
        shared = context.RawArray(ctypes.c_char, bound.PAGE)
        page = bound.Page(memoryview(shared).cast("B"))
        self._process = context.Process(
            target=_work, args=(theirs, shared, task, folder, overran, os.getpid()), daemon=True
        )
        with nullcontext() if fork else _starting():
            self._process.start()
        theirs.close()
        self._watch = bound.Watch(page, self._process.pid or 0)

    def give(self, piece: tuple[int, P]) -> None:
        """Hand a piece over; where the process is gone, reading tells."""
        self.pieces.append(piece)
        self.send(piece)

    def send(self, message: Received) -> None:
        """Send a piece, or what is to be left out of all pieces from now on."""
        with suppress(OSError):
            self.connection.send(message)

    def look(self) -> None:
        """End the process where its row takes too much."""
        if self._watch.look():
            self._process.kill()

    def overrun(self) -> bound.Overrun | None:
        """What the process was at when it ended; None where it was no row that ended it."""
        self._process.join(PATIENCE)
        code = self._process.exitcode
        return self._watch.overrun(-code) if code is not None and code < 0 else None

    def end(self) -> None:
        self._process.join(PATIENCE)
        if self._process.exitcode is None:
            self._process.kill()


class Crew(Generic[P, R]):
    """The processes of one task, and what overran in any of them; `note` is the first `engine_note` of any of them.

    SftuiError, from `done`, where a process dies for another reason than its row, or rows overrun too often; what went
    wrong within a process is raised as it is. `fork`: see `may_fork`; the task is then not sent, but there.
    """

    def __init__(self, task: CrewTask[P, R], jobs: int, fork: bool = False) -> None:
        self._task, self._folder, self._fork = task, os.getcwd(), fork
        self.overran: tuple[bound.Overrun, ...] = ()
        self.note: str | None = None
        self._hands: list[_CrewProcess[P, R]] = [_CrewProcess(task, self._folder, (), fork) for _ in range(jobs)]

    def refuse(self, overran: tuple[bound.Overrun, ...]) -> None:
        """Leave out what has overrun elsewhere, too."""
        more = tuple(overrun for overrun in overran if overrun not in self.overran)
        if more:
            self.overran = (*self.overran, *more)
            for hand in self._hands:
                hand.send((None, self.overran))

    def done(self, pieces: Iterator[P]) -> Iterator[R]:
        """What is made of each piece, in order."""
        coming = enumerate(pieces)
        made: dict[int, R] = {}
        following = 0
        while True:
            self._share(coming, len(made))
            busy = [hand for hand in self._hands if hand.pieces]
            if not busy:
                return
            for number, result, note in self._ready(busy):
                made[number] = result
                self.note = self.note or note
            while following in made:
                yield made.pop(following)
                following += 1

    def _share(self, coming: Iterator[tuple[int, P]], held: int) -> None:
        """Give each process pieces to do, first to those that have fewest; no more than are worth the memory."""
        while True:
            hand = min(self._hands, key=lambda one: len(one.pieces))
            waiting = sum(len(one.pieces) for one in self._hands)
            if len(hand.pieces) >= AHEAD or waiting + held >= 2 * AHEAD * len(self._hands):
                return
            piece = next(coming, None)
            if piece is None:
                return
            hand.give(piece)

    def _ready(self, busy: list[_CrewProcess[P, R]]) -> Iterator[tuple[int, R, str | None]]:
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
            hand.pieces.popleft()
            yield done

    def _replace(self, gone: _CrewProcess[P, R]) -> None:
        overrun = gone.overrun()
        if overrun is None:
            raise SftuiError(
                "a process that prepares rows ended", why="it was killed or ran out of memory", fix="try --jobs 1"
            )
        self.overran = (*self.overran, overrun)
        if len(self.overran) > bound.MOST_DEATHS:
            raise SftuiError(f"{overrun.why}, like {bound.MOST_DEATHS} tasks before it, so sftui is giving up")
        hand = _CrewProcess(self._task, self._folder, self.overran, self._fork)
        self._hands[self._hands.index(gone)] = hand
        for piece in gone.pieces:
            hand.give(piece)

    def end(self) -> None:
        """Let every process go."""
        for hand in self._hands:
            hand.connection.close()  # by which the process ends
        for hand in self._hands:
            hand.end()


@contextmanager
def at_home() -> Iterator[None]:
    """The package's folder as the current one while processes start: `spawn` runs `python -c`, which imports from the
    current folder first, and a data folder may hold a file called json.py."""
    here = os.getcwd()
    os.chdir(HOME)
    try:
        yield
    finally:
        os.chdir(here)


@contextmanager
def _starting() -> Iterator[None]:
    """Processes start without the script that runs, which `spawn` imports anew: what was sent needs nothing of it, and
    another's may do anything. Ctrl-C is held back: it is their parent's, and would end them while they import."""
    main = sys.modules["__main__"]
    file = main.__dict__.pop("__file__", None)
    resource_tracker.ensure_running()  # else it starts with the first of them, and lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        with at_home():
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if file is not None:
            main.__file__ = file


def _work(
    connection: Connection,
    shared: Any,
    task: CrewTask[Any, Any],
    folder: str,
    overran: tuple[bound.Overrun, ...],
    parent: int,
) -> None:
    """Do piece after piece; the process gives way to others, leaves Ctrl-C to its parent, and ends with it."""
    os.chdir(folder)  # names of files are relative to it
    signal.set_wakeup_fd(-1)  # a fork has its parent's, which hears of signals by it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _end_with(parent)
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    pieces: queue.SimpleQueue[Received] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, pieces), name="sftui-pieces", daemon=True).start()
    guard = bound.enter(bound.Page(memoryview(shared).cast("B")), overran)
    try:
        doing = task.open()
        while True:
            number, piece = pieces.get()
            if number is None:
                guard.refuse(piece)
            else:
                connection.send((number, doing.do(piece), doing.engine_note))
    except OSError:
        os._exit(1)  # nobody is there to hear
    except Exception as error:
        with suppress(Exception):
            connection.send(error)
            time.sleep(PATIENCE)
        os._exit(1)


def _receive(connection: Connection, pieces: queue.SimpleQueue[Received]) -> None:
    """Take pieces in as they come, so that the parent never waits; the pipe closes with the parent."""
    try:
        while True:
            pieces.put(connection.recv())
    except BaseException:
        os._exit(0)


def _end_with(parent: int) -> None:
    """Have Linux end this process with its parent, also where a loop in C lets no thread run."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(0)
