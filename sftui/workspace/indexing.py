"""The worker's thread that finds the rest of the rows, and then watches what becomes of the file."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sftui.model import Problem
from sftui.workspace import events as ev
from sftui.workspace.inbox import Inbox
from sftui.workspace.watching import change_told, damage_told

if TYPE_CHECKING:
    from sftui.session.opened import Session
    from sftui.sources import Source

INDEX_SLICE = 0.02
REPORT_EVERY = 0.25
LOOK_EVERY = 2.0


@dataclass(frozen=True, slots=True)
class Look:
    """A note to the worker's loop to look what has become of the data of a session."""

    session: Session


class Indexer:
    """Indexes the session it was given last; an older one's thread ends by itself."""

    def __init__(self, inbox: Inbox, send: Callable[[Any], None], settled: threading.Event) -> None:
        self._inbox = inbox
        self._send = send
        self._settled = settled
        self._session: Session | None = None
        self._count: ev.CountChanged | None = None
        self._changed = ev.SourceChanged(None)

    def begin(self, session: Session) -> None:
        """Count what is known at once, the rest in a thread."""
        assert session.source is not None
        self._session, self._count = session, None
        session.source.index_more(INDEX_SLICE)  # a small file is known at once
        self._tell_count(session)
        threading.Thread(target=self._index, args=(session,), name="sftui-index", daemon=True).start()

    def look(self, look: Look) -> bool:
        """Tell where the file has changed on disk or turned out to be damaged; True where rows are lost, or there
        again."""
        session = look.session
        if session is not self._session or session.source is None:
            return False
        self._tell_count(session)
        return self.tell_change(change_told(session.source))

    def tell_change(self, told: ev.SourceChanged) -> bool:
        """Send what has become of the file, where that is new; True where rows are lost, or there again."""
        before, self._changed = self._changed, told
        if told != before:
            self._send(told)
        return told != before and (told.lost or before.lost)

    def refused(self, problem: Problem) -> None:
        """The data cannot be opened again."""
        self._changed = self._changed._replace(problem=problem)
        self._send(self._changed)

    def _tell_count(self, session: Session) -> None:
        assert session.source is not None
        count = session.source.count()
        event = ev.CountChanged(count.rows, count.exact, count.fraction, damage_told(session.source))
        if event != self._count and session is self._session:
            self._count = event
            self._send(event)

    def _index(self, session: Session) -> None:
        """Index the rest of the source in slices, giving way to what is asked meanwhile; then watch it grow or
        change."""
        assert session.stored is not None
        self._settled.wait(5.0)
        try:
            self._index_rest(session, session.stored)
            while self._session is session:
                time.sleep(LOOK_EVERY)
                if session.stored.refresh():  # a file that is still being written shows its new rows
                    self._index_rest(session, session.stored)
                self._inbox.post(Look(session))
        except Exception as error:
            if self._session is session:  # else it was closed under us, and the data is open again
                self._send(
                    ev.WorkerFailed(
                        Problem("the rest of the data cannot be indexed", str(error)), traceback.format_exc()
                    )
                )

    def _index_rest(self, session: Session, source: Source) -> None:
        told = time.monotonic()
        while not source.index_more(INDEX_SLICE):
            if time.monotonic() - told > REPORT_EVERY:
                told = time.monotonic()
                self._tell_count(session)
            time.sleep(0.005 if self._inbox.busy() else 0)
        self._tell_count(session)
