"""The pipe to the worker process: start it, send requests, hear events, kill it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import threading
from collections.abc import Callable
from typing import IO, Any, cast

from sftui import bound
from sftui.starting import COMMAND, IdleWorker
from sftui.workspace.requests import Request

LOG_TAIL = 20_000
LOOK = 0.2
"""Seconds between two looks at what the worker takes."""


class Link:
    """One worker process; `on_event` and `on_end` are called from a daemon thread of its own.

    The worker gets its own session, so that ctrl+c and a hang-up of the terminal do not reach
    it, and its stderr goes to an unlinked temporary file, never to the terminal. It ends by
    itself when our end of its stdin closes, however we die. It works under the bound of
    `sftui.bound`: `overrun` says which piece of work ended it. `started` is one that may be taken (`sftui.starting`).
    """

    def __init__(
        self,
        on_event: Callable[[Any], None],
        on_end: Callable[[Link], None],
        command: tuple[str, ...] = COMMAND,
        started: IdleWorker | None = None,
    ) -> None:
        self._on_event = on_event
        self._on_end = on_end
        self._lock = threading.Lock()
        taken = (started.take(command) if started is not None else None) or IdleWorker(command)
        self._process, self._log = taken.process, taken.log
        with taken.page as shared:
            page = bound.page_of(shared.fileno())
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._events = cast("IO[bytes]", self._process.stdout)
        self._watch = bound.Watch(page, self._process.pid)
        self._ended = threading.Event()
        threading.Thread(target=self._read, name="sftui-worker-reader", daemon=True).start()
        threading.Thread(target=self._look, name="sftui-worker-watch", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, request: Request) -> bool:
        """Hand a request over; False where the worker is gone (`on_end` is called)."""
        payload = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
        try:
            with self._lock:
                self._requests.write(payload)
                self._requests.flush()
        except (OSError, ValueError):
            return False
        return True

    def kill(self) -> None:
        """End the worker and its children now; returns at once, whatever they are doing."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)

    def exit_code(self) -> int | None:
        """How the worker ended; negative is the signal that killed it. None: still there."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(1.0)
        return None

    def overrun(self) -> bound.Overrun | None:
        """The piece of work that ended the worker, once it has ended; None where none did."""
        code = self.exit_code()
        return self._watch.overrun(-code, self.log_tail()) if code is not None and code < 0 else None

    def log_tail(self) -> str:
        """The end of what the worker and its libraries wrote to stderr."""
        with contextlib.suppress(OSError, ValueError):
            size = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, size - LOG_TAIL))
            return self._log.read().decode("utf-8", "replace")
        return ""

    def _read(self) -> None:
        while True:
            try:
                event = pickle.load(self._events)
            except Exception:
                # EOF, half a pickle of a killed worker, or one that is not ours: all are the end.
                break
            self._on_event(event)
        self._ended.set()
        self._on_end(self)

    def _look(self) -> None:
        while not self._ended.wait(LOOK):
            if self._watch.look():
                self.kill()
                return


Connect = Callable[[Callable[[Any], None], Callable[[Link], None], tuple[str, ...], IdleWorker | None], Link]
"""Starts a worker: who hears its events, who hears that it ended, its command, and one that was started already."""
