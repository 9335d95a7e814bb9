"""What jobs over many rows have in common: how often they report, what cannot be answered, and data that breaks off or
changes on disk meanwhile, which is reported as it is and never taken for data in which nothing is found."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

from sftui.errors import SftuiError
from sftui.model import Problem
from sftui.session.opened import OpenData
from sftui.sources import Source
from sftui.workspace.events import SourceChanged

T = TypeVar("T")
AGAIN = "D reloads it"
WAIT = 0.005
"""Seconds a slice waits for a thread: a row that is requested meanwhile waits no longer."""


class Pace:
    """When it is time to report again: every so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._reported = time.monotonic()

    def due(self) -> bool:
        """Whether it is, in which case it is reported now."""
        due = time.monotonic() - self._reported > self._seconds
        if due:
            self._reported = time.monotonic()
        return due


def in_thread(work: Callable[[], T], name: str = "sftui-work") -> Generator[None, None, T]:
    """Do in a thread what takes longer than a slice, or may wait for another process."""
    from concurrent.futures import ThreadPoolExecutor, wait  # with `logging`, which no worker needs to begin

    working = ThreadPoolExecutor(1, name).submit(work)
    while not wait([working], WAIT).done:
        yield None
    return working.result()


def change_of(source: Source) -> SourceChanged:
    """What has become of the file since it was opened."""
    change = source.change()
    if change is None:
        return SourceChanged(None)
    stand = "the rows are shown as they were" if change.readable else "its rows can no longer be read"
    # what to do stands first: one line of the screen may not hold all of it
    return SourceChanged(
        Problem(f"{source.title} changed on disk: {AGAIN}", fix=f"{change.why}, and {stand}"), not change.readable
    )


def damage_of(source: Source) -> str:
    """What of the data cannot be read, in one sentence; empty where it is whole as far as one knows."""
    damage = source.damage
    if not damage:
        return ""
    more = f" (and {len(damage) - 1:,} more files)" if len(damage) > 1 else ""
    return damage[0].sentence() + more


def lost(session: OpenData) -> Problem | None:
    """Why no row can be read any more, or None."""
    event = change_of(session.source)
    return event.problem if event.lost else None


def unless_lost(session: OpenData, events: Iterator[Any], instead: Callable[[Problem], Any]) -> Iterator[Any]:
    """The events of a job over many rows; `instead` of what it makes of rows that cannot be read any more, the
    reason."""
    gone = lost(session)
    if gone is None:
        for event in events:
            gone = lost(session) if event is not None else None
            if gone is not None:
                break
            yield event
    if gone is not None:
        yield instead(gone)


def answered(events: Iterator[Any], instead: Callable[[Problem], Any]) -> Iterator[Any]:
    """The events of a job; `instead` of what cannot be answered, the reason."""
    try:
        yield from events
    except SftuiError as error:
        yield instead(Problem(error.what, error.why, error.fix))
