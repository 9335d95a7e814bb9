"""`&`: the list shows only the rows for which an expression is true, as they are found, and Esc shows all again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tui_driver import SIZES, check_golden, running

from sftui.recipe import changed
from sftui.trainers import preset
from sftui.tui.commands import figures
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

CODE = ("&", *'"def f" in text', "enter")
ROWS = [4, 9, 14, 19, 24, 29, 34, 39]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_filter_screens(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        await driven.press("&", *'"def f" in text')
        text = await driven.press("enter")
        assert all(len(line) <= size[0] for line in text.splitlines())
        check_golden(f"{size[0]}x{size[1]}-filter", text)


async def test_only_matching_rows_are_listed_and_walked_and_escape_lists_all() -> None:
    async with running() as driven:
        await driven.press(*CODE)
        assert driven.said == "8 of 41 rows match · ] [ next and previous, Esc all rows"
        assert list(driven.main.panes.rows.order or ()) == ROWS and driven.main.state.row == 4
        assert "(8 match)" in driven.lines[0] or "(8 match)" in driven.lines[1]
        await driven.press("]", "]")
        assert driven.main.state.row == 14
        await driven.press("[")
        assert driven.main.state.row == 9
        await driven.press("escape")
        assert driven.main.panes.rows.order is None and driven.main.state.row == 9
        assert driven.said == "every row, in file order" and "match" not in "".join(driven.lines[:2])
        assert isinstance(driven.worker.sent[-1], rq.Cancel)


async def test_escape_closes_what_is_open_before_the_filter() -> None:
    async with running() as driven:
        await driven.press(*CODE, "o", "escape")
        assert driven.main.state.open.view is None and driven.main.panes.rows.order is not None
        await driven.press("escape")
        assert driven.main.panes.rows.order is None


async def test_the_count_is_live() -> None:
    async with running() as driven:
        held: list[ev.RowsMatched] = []
        send = driven.worker.emit
        driven.worker.emit = lambda event: (  # type: ignore[method-assign]
            held.append(event) if isinstance(event, ev.RowsMatched) else send(event)
        )
        await driven.press(*CODE)
        assert driven.said == "filtering … Esc cancels"
        [whole] = held
        first = replace(whole, searched=20, rows=whole.rows[:4], done=False, sentence="")
        send(replace(first, searched=3, rows=whole.rows[:0]))
        await driven.settle()
        assert driven.said == "filtering … 3 rows, 0 match, Esc cancels" and driven.main.panes.rows.order is None
        send(replace(first, first=0))
        await driven.settle()
        assert driven.said == "filtering … 20 rows, 4 match, Esc cancels" and driven.main.state.row == 4
        assert "(4 match …)" in "".join(driven.lines[:2])
        await driven.press("]", "]")
        send(replace(whole, first=20, rows=whole.rows[4:]))
        await driven.settle()
        assert list(driven.main.panes.rows.order or ()) == ROWS and driven.main.state.row == 14
        assert "(8 match)" in "".join(driven.lines[:2])


async def test_tokens_and_findings_are_answered_again_under_another_recipe() -> None:
    async with running() as driven:
        await driven.press("&", *'trained > 0.99 and finding("EOS012")', "enter")
        assert driven.said.startswith("0 of 41 rows match"), driven.said
        await driven.press("&", *"trained < 0.99", "enter")
        assert driven.said.startswith("41 of 41 rows match"), driven.said
        await driven.press("]")
        driven.workspace.change("mask.rule", "all")
        await driven.settle()
        assert driven.main.panes.rows.order is None and driven.main.state.row == 1
        assert "match" not in "".join(driven.lines[:2])


async def test_what_is_no_expression_keeps_the_prompt_open() -> None:
    async with running() as driven:
        await driven.press("&", *"9**9", "enter")
        assert "may not contain `**`" in driven.said and driven.main.prompt.open
        await driven.press("escape", "&", *"len(mesages) > 2", "enter")
        assert "did you mean `messages`?" in driven.said and driven.main.panes.rows.order is None


async def test_another_list_takes_the_place_of_the_filter() -> None:
    async with running() as driven:
        await driven.press("r", "k", *CODE, "F", "j", "enter")
        assert driven.main.state.filtering.text == "" and list(driven.main.panes.rows.order or ()) == [0]


async def test_the_expression_is_offered_again_and_an_empty_one_lists_all() -> None:
    async with running() as driven:
        await driven.press(*CODE, "&")
        assert driven.main.prompt.text == '"def f" in text'
        await driven.press("ctrl+u", "enter")
        assert driven.main.panes.rows.order is None


async def test_what_is_opened_filtered_lists_the_rows_that_match() -> None:
    async with running(where='"def f" in text and tokens > 1') as driven:
        assert list(driven.main.panes.rows.order or ()) == ROWS and driven.main.state.row == 4
        assert driven.said == "8 of 41 rows match · ] [ next and previous, Esc all rows"
        await driven.press("&", "ctrl+u", *"no_such > 2", "enter")
        assert "there is no `no_such`" in driven.said


async def test_rows_are_filtered_by_how_they_are_marked_now(own_data: Path) -> None:
    async with running() as driven:
        await driven.press("+", "_", "+", "&", *'marked == "keep" or marked == "none" and row < 5', "enter")
        assert list(driven.main.panes.rows.order or ()) == [0, 2, 3, 4]
        await driven.press("g", "g", "_")
        assert list(driven.main.panes.rows.order or ()) == [0, 2, 3, 4], "the list stays as it was asked for"
        await driven.press("&", "enter")
        assert list(driven.main.panes.rows.order or ()) == [2, 3, 4]


async def test_the_first_and_the_last_row_are_those_of_the_list() -> None:
    async with running() as driven:
        for keys in (CODE, ("A", "escape", "F", "/", *"longest", "enter")):
            await driven.press(*keys)
            listed = list(driven.main.panes.rows.order or ())
            assert listed[0] != 0 and listed[-1] != 40
            for last, first in ((("G",), ("g", "g")), (("g", "$"), ("g", "g"))):
                await driven.press(*last)
                assert driven.main.state.row == listed[-1]
                await driven.press(*first)
                assert driven.main.state.row == listed[0]
            await driven.press("g", *"+2", "enter")
            assert driven.main.state.row == listed[2]
            await driven.press("1", "2", "G")
            assert driven.main.state.row == 12, "a number is that of the row"
        await driven.press("escape", "G")
        assert driven.main.state.row == 40


async def test_escape_leaves_every_list() -> None:
    async with running() as driven:
        await driven.press("A", "escape", "r", "k")
        for what in ("error", "longest", "marked keep"):
            await driven.press("F", "/", *what.replace(" keep", ""), "enter")
            assert driven.main.panes.rows.order is not None and "Esc all rows" in driven.said
            await driven.press("escape")
            assert driven.main.panes.rows.order is None and driven.said == "every row, in file order"
            assert not driven.main.state.audited.listed and not driven.main.state.status.order


async def test_a_list_sorted_by_length_has_the_rows_that_are_dropped() -> None:
    recipe = changed(changed(preset("hf-trainer"), "length.max", 60), "length.over", "drop")
    async with running(recipe=recipe) as driven:
        await driven.press("A", "escape")
        for name in ("longest", "shortest", "most trained"):
            figures.order(driven.main, name)
            await driven.settle()
            listed = list(driven.main.panes.rows.order or ())
            assert sorted(listed) == list(range(41))
            if name == "longest":
                assert driven.main.panes.tokens.inspection is not None
                assert driven.main.panes.tokens.inspection.dropped and driven.main.state.row % 5 == 3
