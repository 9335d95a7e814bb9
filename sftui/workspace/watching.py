"""Data that breaks off, or changes on disk while it is open: reported as it is, and never taken for data in which
nothing is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sftui.errors import SftuiError
from sftui.model import Problem
from sftui.workspace.events import RepairsWritten, SourceChanged
from sftui.workspace.requests import WriteRequest

if TYPE_CHECKING:
    from sftui.session.opened import OpenData
    from sftui.sources import Source

AGAIN = "D reads it again"


def change_of(source: Source) -> SourceChanged:
    """What has become of the file since it was opened."""
    change = source.change()
    if change is None:
        return SourceChanged(None)
    stand = "the rows are shown as they were" if change.readable else "its rows cannot be read any more"
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


def write_whole(session: OpenData, request: WriteRequest) -> Iterator[RepairsWritten | None]:
    """The repaired data, where all of the data is there and still what was opened; half a dataset looks like a smaller
    one."""
    from sftui.workspace.repairing import write_job

    for _ in session.source.look_through():
        yield None
    problem = change_of(session.source).problem
    if problem is not None:
        problem = replace(problem, what=f"nothing is written: {problem.what}")
    for one in session.source.damage:
        problem = problem or Problem(
            f"nothing is written: the data cannot be read to its end, {one.title}", one.why, one.fix
        )
    if problem is not None:
        yield RepairsWritten(request.ticket, request.target, request.log, problem=problem)
        return
    yield from write_job(session, request)
