"""Search in the inspector says which hit it is on, of how many, and whether all rows were counted."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

import pytest
from tui_driver import SIZES, check_golden, running

from sftui.workspace import events as ev
from sftui.workspace import requests as rq


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_search_screens(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        check_golden(f"{size[0]}x{size[1]}-search-found", await driven.press("/", *"capital", "enter"))
        text = await driven.press("n")
        assert all(len(line) <= size[0] for line in text.splitlines())
        check_golden(f"{size[0]}x{size[1]}-search-next", text)


async def test_each_hit_says_its_place_among_all() -> None:
    """Rows 0, 5, … 40 have `capital` twice."""
    async with running() as driven:
        await driven.press("/", *"capital", "enter")
        assert driven.said == "hit 1 of 18 · row 0 · n N"
        await driven.press("n")
        assert driven.lines[-2].startswith(" hit 2 of 18 · ")
        await driven.press("n")
        assert driven.said == "hit 3 of 18 · row 5 · n N"
        await driven.press("N")
        assert driven.said == "hit 2 of 18 · row 0 · n N", "backwards a row is entered at its last hit"
        await driven.press("h")
        assert "hit" not in driven.lines[-2], "beside a hit there is no place"
        await driven.press("N", "N")
        assert driven.said == "hit 18 of 18 · row 40, search wrapped around · n N"
        assert len(driven.worker.asked(rq.HitsRequest)) == 1, "counted once"


async def test_backwards_a_row_is_entered_where_its_last_hit_begins() -> None:
    async with running() as driven:
        await driven.press("/", *"capital of", "enter", "n", "n")
        assert len(driven.main.panes.tokens.state.hits) > 2, "a hit is of several tokens"
        await driven.press("N")
        assert driven.said == "hit 2 of 18 · row 0 · n N"
        await driven.press("N")
        assert driven.lines[-2].startswith(" hit 1 of 18 · ")


def in_two(counted: list[ev.HitsCounted]) -> tuple[ev.HitsCounted, ev.HitsCounted]:
    """What was counted of all rows as if rows 0 to 19 had been a part of their own."""
    (whole,) = counted
    before = bisect_left(whole.rows, 20)
    first = replace(whole, searched=20, rows=whole.rows[:before], hits=whole.hits[:before], done=False)
    return first, replace(whole, first=20, rows=whole.rows[before:], hits=whole.hits[before:])


async def test_while_rows_are_still_counted_it_says_so_far() -> None:
    async with running() as driven:
        held: list[ev.HitsCounted] = []
        send = driven.worker.emit
        driven.worker.emit = lambda event: (  # type: ignore[method-assign]
            held.append(event) if isinstance(event, ev.HitsCounted) else send(event)
        )
        await driven.press("/", *"capital", "enter")
        assert driven.said == "2 hits in row 0 · n N"
        first, rest = in_two(held)
        send(first)
        await driven.settle()
        assert driven.said == "hit 1 of 8 so far · row 0 · n N"
        await driven.press("3", "0", "G", "n")
        assert driven.said == "2 hits in row 35 · n N", "which of all it is, is not known before row 35 is counted"
        send(rest)
        await driven.settle()
        assert driven.said == "hit 15 of 18 · row 35 · n N"


async def test_neighbouring_tokens_are_one_hit() -> None:
    async with running() as driven:
        await driven.press("/", *"the capital of", "enter")
        assert len(driven.main.panes.tokens.state.hits) == 6 and driven.said == "hit 1 of 18 · row 0 · n N"


async def test_another_query_and_another_recipe_are_counted_anew() -> None:
    async with running() as driven:
        await driven.press("/", *"capital", "enter")
        await driven.press("/", *"story", "enter")
        assert driven.said == "hit 1 of 8 · row 3 · n N"
        asked = [request.query.text for request in driven.worker.asked(rq.HitsRequest)]
        assert asked == ["capital", "story"] and driven.worker.cancelled
        driven.worker.hold = True
        driven.workspace.change("mask.rule", "all")
        await driven.press("h", "l")
        assert "hit" not in driven.lines[-2], "what was counted under another recipe is forgotten"
        driven.worker.release()
        await driven.settle()
        await driven.press("h", "l")
        assert driven.lines[-2].startswith(" hit 1 of 8 · "), "and counted anew"


async def test_escape_stops_the_counting_and_closes_what_it_closes_otherwise() -> None:
    async with running() as driven:
        await driven.press("/", *"capital", "enter", "o")
        assert driven.main.state.open.view is not None
        await driven.press("escape")
        assert driven.main.state.open.view is None and isinstance(driven.worker.sent[-1], rq.Cancel)


async def test_rows_with_findings_are_counted_as_rows() -> None:
    async with running() as driven:
        await driven.press("/", *"finding:EOS012", "enter")
        assert driven.said == "row 1 has findings: f shows them · 1 of 14 rows · n N"
