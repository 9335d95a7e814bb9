"""The worker's thread that finds the rest of the rows, and then watches what becomes of the file."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from sftui.model import Problem
from sftui.session.opened import StoredData, late_rows, looked_through
from sftui.sources import Source
from sftui.values import value_class
from sftui.workspace import events as ev
from sftui.workspace.inbox import Inbox
from sftui.workspace.watching import Pace, change_of, damage_of

INDEX_SLICE = 0.02
REPORT_EVERY = 0.25
LOOK_EVERY = 2.0


@value_class
class LookRequest:
    """A note to the worker's loop to look what has become of the data."""

    source: Source


class Indexer:
    """Indexes the source it was given last; an older one's thread ends by itself."""

    def __init__(self, inbox: Inbox, send: Callable[[Any], None], settled: threading.Event) -> None:
        self._inbox = inbox
        self._send = send
        self._settled = settled
        self._source: Source | None = None
        self._count: ev.CountChanged | None = None
        self._changed = ev.SourceChanged(None)

    def begin(self, stored: StoredData) -> None:
        """Count what is known at once, the rest in a thread."""
        source = stored.source
        self._source, self._count = source, None
        source.index_more(INDEX_SLICE)  # a small file is known at once
        self._send_count(source)
        threading.Thread(target=self._index, args=(stored,), name="sftui-index", daemon=True).start()

    def look(self, look: LookRequest) -> bool:
        """Report where the file has changed on disk or turned out to be damaged; True where rows are lost, or there
        again."""
        if look.source is not self._source:
            return False
        self._send_count(look.source)
        return self.send_change(change_of(look.source))

    def send_change(self, event: ev.SourceChanged) -> bool:
        """Send what has become of the file, where that is new; True where rows are lost, or there again."""
        before, self._changed = self._changed, event
        if event != before:
            self._send(event)
        return event != before and (event.lost or before.lost)

    def refused(self, problem: Problem) -> None:
        """The data cannot be opened again."""
        self._changed = self._changed._replace(problem=problem)
        self._send(self._changed)

    def _send_count(self, source: Source) -> None:
        count = source.count()
        event = ev.CountChanged(count.rows, count.exact, count.fraction, damage_of(source))
        if event != self._count and source is self._source:
            self._count = event
            self._send(event)

    def _index(self, stored: StoredData) -> None:
        """Index the rest of the source in slices, giving way to what is requested meanwhile, and look through it for
        what decides how rows are read; then watch it grow or change."""
        source = stored.source
        self._settled.wait(5.0)
        try:
            self._index_rest(source)
            stored = stored if stored.whole else self._look_through(stored, stored.first)
            while self._source is source:
                time.sleep(LOOK_EVERY)
                rows = source.count().rows
                if source.refresh():  # a file that is still being written shows its new rows
                    self._index_rest(source)
                    stored = self._look_through(stored, rows)
                self._inbox.post(LookRequest(source))
        except Exception as error:
            if self._source is source:  # else it was closed under us, and the data is open again
                problem = Problem("the rest of the data cannot be indexed", str(error))
                traceback.print_exc()
                self._send(ev.WorkerFailed(problem))

    def _look_through(self, stored: StoredData, start: int) -> StoredData:
        """The same with what the rows from `start` on bring, handed to the worker's loop."""
        late = []
        for row in late_rows(stored, start):
            if row is not None:
                late.append(row)
            elif self._inbox.busy():
                time.sleep(0.005)
        stored = looked_through(stored, late)
        if self._source is stored.source:
            self._inbox.post(stored)
        return stored

    def _index_rest(self, source: Source) -> None:
        pace = Pace(REPORT_EVERY)
        while not source.index_more(INDEX_SLICE):
            if pace.due():
                self._send_count(source)
            time.sleep(0.005 if self._inbox.busy() else 0)
        self._send_count(source)
