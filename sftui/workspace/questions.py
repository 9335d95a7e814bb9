"""What may be asked of a workspace: one method a question, each with the event that answers."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from sftui.recipe import Recipe
from sftui.session.options import SearchQuery
from sftui.workspace import events as ev
from sftui.workspace import requests as rq


class Questions(ABC):
    """Every method returns the ticket of its question at once; the newest question of a kind is the one that counts."""

    _lock: threading.RLock

    @abstractmethod
    def _ticket(self, kind: type) -> int: ...

    @abstractmethod
    def _send(self, request: rq.Request) -> None: ...

    def request_summaries(self, start: int, stop: int, rows: tuple[int, ...] = ()) -> int:
        """Ask for the row list from `start` to `stop`, or for `rows`; several `SummariesReady` may answer, in parts."""
        with self._lock:
            ticket = self._ticket(ev.SummariesReady)
            self._send(rq.SummariesRequest(ticket, start, stop, rows))
            return ticket

    def request_batch(self, start: int, rows: int) -> int:
        """Ask for the padded batch of the next `rows` rows from `start`; `BatchReady` answers."""
        with self._lock:
            ticket = self._ticket(ev.BatchReady)
            self._send(rq.BatchRequest(ticket, start, rows))
            return ticket

    def request_search(self, query: SearchQuery, start: int, forward: bool = True) -> int:
        """Look for the first hit at or after (before) `start`; `SearchFound` tells progress and the end."""
        with self._lock:
            ticket = self._ticket(ev.SearchFound)
            self._send(rq.SearchRequest(ticket, query, start, forward))
            return ticket

    def request_hits(self, query: SearchQuery) -> int:
        """Count the hits over all rows, behind everything else; several `HitsCounted` answer, anew under every new
        recipe."""
        with self._lock:
            ticket = self._ticket(ev.HitsCounted)
            self._send(rq.HitsRequest(ticket, query))
            return ticket

    def request_findings(self, index: int) -> int:
        """Ask what is wrong with a row and with the set-up; `FindingsReady` answers, again under every new recipe."""
        with self._lock:
            ticket = self._ticket(ev.FindingsReady)
            self._send(rq.FindingsRequest(ticket, index))
            return ticket

    def request_comparison(self, index: int, recipe: Recipe, repairs: tuple[str, ...] | None = None) -> int:
        """Ask for a row under the recipe in force and under `recipe` (with other repairs); `ComparisonReady`
        answers."""
        with self._lock:
            ticket = self._ticket(ev.ComparisonReady)
            self._send(rq.CompareRequest(ticket, index, recipe, repairs))
            return ticket

    def request_count(self, recipe: Recipe, repairs: tuple[str, ...] | None = None) -> int:
        """Ask how often the two differ over the dataset; several `CountReady` answer."""
        with self._lock:
            ticket = self._ticket(ev.CountReady)
            self._send(rq.CountRequest(ticket, recipe, repairs))
            return ticket

    def request_repairs(self) -> int:
        """Ask how many rows the repairs in force change; several `RepairsCounted` answer, anew under every new
        choice."""
        with self._lock:
            ticket = self._ticket(ev.RepairsCounted)
            self._send(rq.RepairsRequest(ticket))
            return ticket
