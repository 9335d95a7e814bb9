"""`V`: the values of a column with how many rows have each; Enter lists these rows."""

from __future__ import annotations

from pathlib import Path

from tui_driver import check_golden, running

from sftui.tui.filter_dialog import OptionsDialog
from sftui.workspace import requests as rq


async def test_a_value_is_picked_and_its_rows_are_listed() -> None:
    async with running((100, 30)) as driven:
        columns = await driven.press("V")
        assert "messages" in columns and "roles" in columns and "outcome" in columns
        text = await driven.press("/", *"outcome", "enter")
        check_golden("facets-100x30", text)
        dialog = driven.app.screen
        assert isinstance(dialog, OptionsDialog)
        await driven.press("enter")
        assert driven.main.state.filtering.text == "outcome == 'trained'" and driven.main.panes.rows.order is not None
        assert driven.said.startswith(f"{len(driven.main.panes.rows.order):,} of 41 rows match")


async def test_values_are_those_of_the_listed_rows() -> None:
    async with running((120, 30)) as driven:
        await driven.press("&", *"row < 10", "enter", "V", "/", *"another", "enter")
        assert "count the values of" in driven.said
        text = await driven.press(*"row % 2 == 0", "enter")
        assert "2 values of row % 2 == 0 in 10 rows" in text
        await driven.press("enter")
        assert driven.main.state.filtering.text == "(row < 10) and (row % 2 == 0) is True"
        assert list(driven.main.panes.rows.order or ()) == [0, 2, 4, 6, 8]


async def test_what_is_no_expression_and_what_no_row_has_is_said(own_data: Path) -> None:
    async with running((120, 30)) as driven:
        await driven.press("V", "end", "enter", *"9**9", "enter")
        assert "may not contain `**`" in driven.said and driven.main.prompt.open
        await driven.press("ctrl+u", *"mesages", "enter")
        assert "did you mean `messages`?" in driven.said
        await driven.press("r", "k", "V", "/", *"marked", "enter")
        assert "none" in driven.text and "keep" in driven.text


async def test_escape_gives_the_count_up() -> None:
    async with running((120, 30)) as driven:
        driven.worker.emit = lambda event: None  # type: ignore[method-assign]
        await driven.press("V", "/", *"roles", "enter")
        assert driven.said == "counting … Esc cancels"
        await driven.press("escape")
        assert driven.said == "counting cancelled" and isinstance(driven.worker.sent[-1], rq.Cancel)
