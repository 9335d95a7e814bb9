"""`V`: the values of a column with how many rows have each; Enter lists these rows."""

from __future__ import annotations

import json
from pathlib import Path

from tui_driver import check_golden, running

from sftui.tui.commands import figures
from sftui.tui.commands.sessions import in_force
from sftui.tui.filter_dialog import OptionsDialog
from sftui.workspace import OpenOptions
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


async def test_values_are_those_of_the_rows_that_f_lists() -> None:
    async with running((120, 30)) as driven:
        await driven.press("A", "escape")
        figures.order(driven.main, "EOS012")
        await driven.settle()
        listed = list(driven.main.panes.rows.order or ())
        assert 0 < len(listed) < 41
        text = await driven.press("V", "/", *"another", "enter", *"row < 20", "enter")
        assert f"2 values of row < 20 in {len(listed)} rows" in text
        await driven.press("/", *"True", "enter")
        assert list(driven.main.panes.rows.order or ()) == [row for row in listed if row < 20]
        assert in_force(driven.main).where == 'finding("EOS012") and ((row < 20) is True)'
        text = await driven.press("V", "/", *"another", "enter", *"row < 10", "enter")
        below = [row for row in listed if row < 20]
        assert f"2 values of row < 10 in {len(below)} rows" in text
        await driven.press("/", *"False", "enter")
        assert list(driven.main.panes.rows.order or ()) == [row for row in below if row >= 10]


async def test_columns_whose_values_come_again_are_offered_first(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    chat = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]
    rows = [{"id": f"r{n}", "messages": chat, "lang": "de" if n % 2 else "en"} for n in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with running((120, 30), options=OpenOptions((str(path),))) as driven:
        await driven.press("V")
        dialog = driven.app.screen
        assert isinstance(dialog, OptionsDialog)
        names = [text.split()[0] for text in dialog.texts]
        assert names[0] == "lang" and names[1] == "roles" and names[-3:] == ["id", "messages", "…"]
