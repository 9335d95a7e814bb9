"""The pure parts: history, cache, inbox."""

from __future__ import annotations

from datetime import date

from sftui.model import Inspection, Row
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.workspace import OpenOptions, Workspace
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.inbox import Inbox
from sftui.workspace.workspace import LIMIT, History, InspectionCache, RecipeChoice, weight


def inspection(index: int, size: int = 10) -> Inspection:
    return Inspection(Row(index, {}, "x" * size, ""))


def test_history_forgets_the_future_after_a_new_change() -> None:
    first = RecipeChoice(preset())
    later = [
        *(RecipeChoice(changed(preset(), "length.max", n)) for n in range(1, 3)),
        RecipeChoice(preset(), ("trim",)),
    ]
    history = History(first)
    assert not history.put(first)
    assert all(history.put(chosen) for chosen in later)
    assert history.undo() and history.undo() and history.now == later[0]
    assert history.redo() and history.now == later[1]
    assert history.put(first) and not history.redo()
    assert [history.undo() for _ in range(4)] == [True, True, True, False]


def test_history_is_bounded() -> None:
    history = History(RecipeChoice(preset()))
    for n in range(LIMIT + 50):
        history.put(RecipeChoice(changed(preset(), "length.max", n + 1)))
    assert len(history.past) == LIMIT


def test_cache_is_bounded_in_bytes_and_keeps_what_was_used_last() -> None:
    cache = InspectionCache(limit=3 * weight(inspection(0, 1000)))
    for index in range(3):
        cache.put(inspection(index, 1000), 1)
    assert cache.get(0, 1) is not None
    cache.put(inspection(3, 1000), 1)
    assert cache.get(1, 1) is None and cache.get(0, 1) is not None
    assert cache.get(0, 2) is None
    cache.put(inspection(9, 100_000), 1)
    assert cache.get(9, 1) is None, "what is larger than the cache is not kept"
    cache.put(inspection(0, 10), 1)
    assert cache.bytes <= 3 * weight(inspection(0, 1000)) and len(cache) == 3
    cache.clear()
    assert (len(cache), cache.bytes) == (0, 0)


def test_rows_of_yesterday_are_made_anew() -> None:
    days = iter([date(2026, 11, 22), date(2026, 11, 22), date(2026, 11, 22), date(2026, 11, 23)])
    cache = InspectionCache(today=lambda: next(days))
    cache.put(inspection(0, 10), 1)
    assert cache.get(0, 1) is not None
    assert cache.get(0, 1) is None and cache.bytes == 0


def test_inbox_gives_the_most_urgent_and_only_the_newest_of_a_kind() -> None:
    inbox = Inbox()
    inbox.post(rq.SummariesRequest(1, 0, 10))
    inbox.post(rq.BatchRequest(2, 0, 4))
    inbox.post(rq.RowRequest(3, 7))
    inbox.post(rq.RowRequest(4, 8))
    inbox.post("a note")
    inbox.post(rq.SetRecipe(preset(), 2))
    taken = []
    while (item := inbox.take(block=False)) is not None:
        taken.append(item if isinstance(item, str) else getattr(item, "ticket", "recipe"))
    assert taken == ["recipe", "a note", 4, 2, 1]
    assert not inbox.busy()


def test_inbox_cancels_what_waits_and_remembers_it_for_what_runs() -> None:
    inbox = Inbox()
    inbox.post(rq.BatchRequest(5, 0, 4))
    inbox.post(rq.Cancel(5))
    assert inbox.take(block=False) is None
    assert inbox.cancelled(5) and not inbox.cancelled(6)
    assert inbox.take(timeout=0.01) is None


def test_events_from_before_the_first_listener_come_before_newer_ones() -> None:
    """A row inspected before its tokenizer came must not arrive after the tokenized one."""
    workspace = Workspace(OpenOptions(paths=("x",)))
    workspace._backlog = [ev.TokenizerChanged("loading"), ev.CountChanged(1, False, 0.1)]
    workspace._events.put(ev.TokenizerChanged("proven"))
    workspace._events.put(ev.CountChanged(9, True, 1.0))
    workspace._events.put(None)
    heard: list[object] = []
    workspace.listen(heard.append)
    workspace._dispatch()
    assert [getattr(event, "state", None) or getattr(event, "rows", None) for event in heard] == [
        "loading",
        1,
        "proven",
        9,
    ]
    assert workspace.tokenizer is not None and workspace.tokenizer.state == "proven"
