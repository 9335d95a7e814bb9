"""The worker's queue: what is requested, most urgent first, with only the newest of each kind kept."""

from __future__ import annotations

import threading
from typing import Any

from sftui.workspace.requests import QUESTIONS, Cancel, OpenRequest, SetRecipe

URGENCY: tuple[type, ...] = (OpenRequest, SetRecipe, *QUESTIONS)
"""What is requested, in the order in which it is answered."""


class Inbox:
    """Thread-safe; `post` from any thread, `take` from the one that works.

    A request of a kind replaces the waiting one of that kind: whoever asks again no longer wants
    the older answer. Notes (anything else, e.g. a tokenizer that has loaded) keep their order and
    come right after a new recipe.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._waiting: dict[type, Any] = {}
        self._notes: list[Any] = []
        self._cancelled: set[int] = set()

    def post(self, item: Any) -> None:
        with self._condition:
            if isinstance(item, Cancel):
                self._cancelled.add(item.ticket)
                for kind, held in list(self._waiting.items()):
                    if getattr(held, "ticket", None) == item.ticket:
                        del self._waiting[kind]
            elif type(item) in URGENCY:
                self._waiting[type(item)] = item
            else:
                self._notes.append(item)
            self._condition.notify_all()

    def take(self, block: bool = True, timeout: float | None = None) -> Any | None:
        """The most urgent item; None where there is none (after `timeout`, if given, in seconds)."""
        with self._condition:
            if block and not self._waiting and not self._notes:
                self._condition.wait(timeout)
            kinds = [kind for kind in URGENCY if kind in self._waiting]
            if self._notes and not (kinds and kinds[0] in (OpenRequest, SetRecipe)):
                return self._notes.pop(0)
            return self._waiting.pop(kinds[0]) if kinds else None

    def busy(self) -> bool:
        """Whether something waits."""
        with self._condition:
            return bool(self._waiting or self._notes)

    def cancelled(self, ticket: int) -> bool:
        with self._condition:
            return ticket in self._cancelled
