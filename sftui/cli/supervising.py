"""A command in a process of its own: ended when a row costs too much, and started again to go on without that row.

The command itself knows nothing of it. What it had said already is not said twice: of stdout the bytes that are out
are passed over, of stderr the lines. What libraries write to stderr by themselves (Rust tells where it panicked) goes
to a file, never to the terminal.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import select
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import IO, Any, NoReturn

from sftui import bound
from sftui.cli.ending import exit_code
from sftui.cli.terminal import narrate
from sftui.signals import handled_by

LOOK = 0.1
"""Seconds between two looks at the process."""
PATIENCE = 2.0
"""Seconds that a command has to take its unfinished files away, once whoever watches over it is gone."""
HEARS = 0.5
"""Seconds within which a Ctrl-C reaches the child, where it is the terminal's."""
LOG_TAIL = 4000
_OUT = struct.Struct("<q")
_OUT_AT = bound.PAGE - _OUT.size


class _Files:
    """What outlives a process that is ended: its library output, the lines it said, the files it had begun."""

    def __init__(self, within: contextlib.ExitStack) -> None:
        self.log, self.said, self.begun = (
            within.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - ends with the stack
            for _ in range(3)
        )

    def sweep(self) -> None:
        """Take away what an ended process had begun to write."""
        self.begun.seek(0)
        for name in self.begun.read().split(b"\0"):
            with contextlib.suppress(OSError):
                if name and os.path.isdir(name):
                    shutil.rmtree(name, ignore_errors=True)
                elif name:
                    os.unlink(name)
        self.begun.seek(0)
        self.begun.truncate()


def supervised(work: Callable[[], object], debug: bool) -> int:
    """Do the work of a command in a child process under the bound of `sftui.bound`; its exit code.

    In the child this does not return.
    """
    overran: tuple[bound.Overrun, ...] = ()
    written = 0
    with contextlib.ExitStack() as within:
        files = _Files(within)
        while True:
            page = bound.anonymous_page()
            _OUT.pack_into(page.memory, _OUT_AT, written)
            child = _Child(page, files)
            if child.fork():
                child.settle(overran)
                _leave(exit_code(work, debug))
            ended = child.wait()
            if ended != 0 and debug:  # what libraries wrote by themselves
                narrate(*_end_of(files.log).splitlines())
            if isinstance(ended, int):
                return ended
            files.sweep()
            written = _OUT.unpack_from(page.memory, _OUT_AT)[0]
            overran = (*overran, ended)
            if len(overran) > bound.MOST_DEATHS:
                narrate(f"{ended.why}, like {bound.MOST_DEATHS} tasks before it, so sftui is giving up")
                return 2


class _Child:
    """One try at a command: what both sides of the fork hold."""

    def __init__(self, page: bound.Page, files: _Files) -> None:
        self._page, self._files = page, files
        self._alive, self._life = os.pipe()  # ends for the child when we are gone, however that came
        self._done, self._end = os.pipe()  # ends for us when the child is gone
        self._heard, self._hears = os.pipe()  # the signals that have come to the child
        self._pid = 0

    def fork(self) -> bool:
        """True in the child."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        return self._pid == 0

    # --- in the child -----------------------------------------------------------------------

    def settle(self, overran: tuple[bound.Overrun, ...]) -> None:
        """Become the process that works: bounded, ending with its parent, and saying nothing twice."""
        for ours in (self._life, self._done, self._heard):
            os.close(ours)
        os.set_blocking(self._hears, False)
        signal.set_wakeup_fd(self._hears, warn_on_full_buffer=False)
        threading.Thread(target=self._end_with_parent, name="sftui-parent", daemon=True).start()
        terminal = os.dup(2)
        os.dup2(self._files.log.fileno(), 2)
        self._files.said.seek(0)
        said = _StderrOnce(terminal, self._files.said)
        out = _StdoutRest(os.dup(1), self._page, again=bool(overran))
        for name, raw, lines in (("stderr", said, True), ("stdout", out, os.isatty(1))):
            old = getattr(sys, name)
            buffered = io.BufferedWriter(raw)
            text = io.TextIOWrapper(buffered, encoding=old.encoding, errors=old.errors, line_buffering=lines)
            setattr(sys, name, text)
        bound.enter(self._page, overran, self._files.begun.fileno())

    def _end_with_parent(self) -> None:
        with contextlib.suppress(OSError):
            os.read(self._alive, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(PATIENCE)
        os.kill(os.getpid(), signal.SIGKILL)

    # --- in the parent ----------------------------------------------------------------------

    def wait(self) -> int | bound.Overrun:
        """How the child ended: its exit code, or the piece of work that ended it."""
        for its in (self._alive, self._end, self._hears):
            os.close(its)
        watch = bound.Watch(self._page, self._pid)
        try:
            with handled_by(self._hand_on, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                while not select.select([self._done], [], [], LOOK)[0]:
                    if watch.look():
                        os.kill(self._pid, signal.SIGKILL)
                status = os.waitpid(self._pid, 0)[1]
        finally:
            for ours in (self._life, self._done, self._heard):
                os.close(ours)
        if os.WIFEXITED(status):
            return os.WEXITSTATUS(status)
        number = os.WTERMSIG(status)
        found = watch.overrun(number, _end_of(self._files.log))
        if found is not None:
            return found
        self._files.sweep()
        if number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            return 128 + number
        reason = " (perhaps the machine ran out of memory)" if number == signal.SIGKILL else ""
        narrate(f"the worker process was killed by {bound.signal_name(number)}{reason}")
        return 2

    def _hand_on(self, number: int, frame: FrameType | None) -> None:
        """Hand a signal on to the child, but for a Ctrl-C that the terminal gave to it, too; we end when it has
        ended."""
        if number == signal.SIGINT and select.select([self._heard], [], [], HEARS)[0]:
            os.read(self._heard, 64)
            return
        with contextlib.suppress(OSError):
            os.kill(self._pid, number)


def _leave(code: int) -> NoReturn:
    """End the child without taking the interpreter apart: to free each word of a vocabulary takes as long as 100 rows,
    and the system takes it all at once."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _put(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


class _StdoutRest(io.FileIO):
    """stdout that passes over what an earlier process of the same command has written."""

    def __init__(self, descriptor: int, page: bound.Page, again: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._memory = page.memory
        self._written: int = _OUT.unpack_from(page.memory, _OUT_AT)[0]
        self._over = self._written if again else 0

    def write(self, data: Any) -> int:
        whole = bytes(data)
        rest = whole[self._over :]
        self._over -= len(whole) - len(rest)
        _put(self.fileno(), rest)
        self._written += len(rest)
        _OUT.pack_into(self._memory, _OUT_AT, self._written)
        return len(whole)


class _StderrOnce(io.FileIO):
    """stderr that does not repeat a line of an earlier process of the same command."""

    def __init__(self, descriptor: int, said: IO[bytes]) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._before = frozenset(said.read().splitlines(keepends=True))
        self._said = said.fileno()

    def write(self, data: Any) -> int:
        whole = bytes(data)
        if b"\r" in whole or not whole.endswith(b"\n"):  # a line of progress, or a question
            _put(self.fileno(), whole)
            return len(whole)
        for line in whole.splitlines(keepends=True):
            if line not in self._before:
                _put(self.fileno(), line)
                os.write(self._said, line)
        return len(whole)


def _end_of(log: IO[bytes]) -> str:
    log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL))
    return log.read().decode("utf-8", "replace")
