"""What the inspector has, to take along: the command for a shell, a session file, and where one was."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from tui_driver import Driven, check_golden, running

from sftui.recipe import changed
from sftui.session.session_file import read_session
from sftui.trainers import preset
from sftui.tui.commands import own, sessions
from sftui.views.cells import Role
from sftui.workspace import OpenOptions


def value(command: str, option: str) -> str:
    words = shlex.split(command)
    return words[words.index(option) + 1]


async def test_yc_copies_the_command_of_what_is_done_and_shows_it_whole(clipboard: list[str]) -> None:
    async with running() as driven:
        await driven.press("7", "g")
        listed = await driven.press("y", "c")
        check_golden("80x24-copy-command", listed)
        shown = await driven.press("enter")
        check_golden("80x24-copied-command", shown)
        assert clipboard == ["sftui show train.jsonl -t builtin:gemma --trainer hf-trainer --row 7"]
        await driven.press("escape")
        assert driven.said == "sent it" and not driven.main.state.kept.to_print


async def test_a_prints_the_command_when_sftui_quits(clipboard: list[str]) -> None:
    async with running() as driven:
        await driven.press("y", "c", "enter", "a")
        assert driven.main.state.kept.to_print == tuple(clipboard)


async def filtered(driven: Driven, text: str) -> None:
    await driven.press("&", *("space" if char == " " else char for char in text), "enter")


async def test_the_filter_and_the_repairs_are_in_it(clipboard: list[str]) -> None:
    async with running() as driven:
        driven.workspace.set_repairs(("trim",))
        await filtered(driven, "row > 30")
        await driven.press("y", "c", "enter", "escape")
        assert clipboard[-1].startswith("sftui repair ")
        assert value(clipboard[-1], "--apply") == "trim" and value(clipboard[-1], "--where") == "row > 30"


async def test_what_no_option_says_stands_under_the_command(clipboard: list[str]) -> None:
    async with running((100, 30)) as driven:
        await filtered(driven, "row > 30")
        await driven.press("f", "y", "c")
        shown = await driven.press("end", "enter")
        assert clipboard[-1].startswith("sftui train.jsonl ")
        assert value(clipboard[-1], "--where") == "row > 30" and "not in it: the open view (findings)" in shown


async def test_rows_listed_for_a_finding_are_an_expression_and_an_order_is_none(clipboard: list[str]) -> None:
    async with running((100, 30)) as driven:
        driven.main.put(driven.main.state.audited._replace(listed="EOS012"))
        await driven.press("y", "c", "enter", "escape")
        assert value(clipboard[-1], "--where") == 'finding("EOS012")'
        driven.main.put(driven.main.state.audited._replace(listed="longest"))
        shown = await driven.press("y", "c", "enter")
        assert "--where" not in clipboard[-1] and "not in it: what F lists (longest)" in shown


# — session files, and where one was —


async def test_ws_writes_a_session_that_opens_what_was_seen(own_data: Path) -> None:
    async with running() as driven:
        driven.workspace.set_repairs(("trim",))
        await filtered(driven, "row > 6")
        text = await driven.press("f", "w", "s")
        assert "file for the session" in text and "train-session.yml" in text
        await driven.press("enter")
        assert "wrote train-session.yml · sftui train-session.yml opens it again" in driven.said
        await driven.press("w", "s", "enter")
        assert "already exists" in driven.said
    saved = read_session("train-session.yml")
    options = replace(saved.arguments.options(saved.row)[0], where=None, view=saved.view)
    async with running(options=options, where=saved.arguments.where or "") as driven:
        state = driven.main.state
        assert (state.row, list(state.filtering.rows), state.open.view) == (7, list(range(7, 41)), "findings")
        assert driven.workspace.repairs == ("trim",) and "34 of 41 rows match" in driven.said
        assert not own.lost(driven.main), "what was opened so is in a file"


async def left_at(row: int, *keys: str) -> None:
    async with running() as driven:
        await driven.press(*str(row), "g", *keys)
        sessions.leave(driven.main)


async def test_the_row_that_was_left_is_one_key_away_and_back(own_data: Path) -> None:
    async with running() as driven:
        assert driven.said == "" and "no row to go back to" in await driven.press("'")
    await left_at(12)
    async with running() as driven:
        assert driven.main.state.row == 0 and driven.said == "' goes to row 12, where you left"
        await driven.press("'")
        assert driven.main.state.row == 12
        await driven.press("]", "'")
        assert driven.main.state.row == 0
        await driven.press("'")
        assert driven.main.state.row == 13
    await left_at(0)
    async with running() as driven:
        assert driven.said == "' goes to row 12, where you left", "who looked at the first row alone has not gone on"


async def test_data_that_changed_is_said_with_the_offer(own_data: Path) -> None:
    await left_at(3, "r", "k")
    with open("train.jsonl", "a") as file:
        file.write("{}\n")
    async with running() as driven:
        assert driven.said.startswith("the data changed after its rows were marked")
        assert driven.said.endswith("· ' goes to row 3, where you left")
        await driven.press("r", "k")
    await left_at(4)
    with open("train.jsonl", "a") as file:
        file.write("{}\n")
    async with running(options=OpenOptions(("train.jsonl",), row=2)) as driven:
        assert driven.said == "" or "goes to row" not in driven.said, "a row that was named is the row"


async def test_what_is_kept_and_damaged_offers_nothing(own_data: Path) -> None:
    await left_at(5)
    async with running() as driven:
        file = sessions._file(driven.main)
        assert file is not None
        for text in ("{", "[]", '{"row": "x"}', '{"row": 5}'):
            file.write_text(text)
            assert sessions._left(driven.main) == (0, False)


async def test_an_error_of_the_first_row_leaves_the_offer_in_sight(own_data: Path) -> None:
    recipe = changed(changed(preset("hf-trainer"), "length.max", 4), "length.over", "cut_right")
    await left_at(7)
    async with running((200, 30), recipe=recipe) as driven:
        assert driven.main.state.row == 0 and driven.main.state.said.role is Role.ERROR, driven.said
        assert driven.said.startswith("✗ ") and driven.said.endswith("· ' goes to row 7, where you left")
