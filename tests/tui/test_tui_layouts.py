"""What stands where at five sizes, which pane has the keys, and that a wide screen follows the row."""

from __future__ import annotations

import re

import pytest
from tui_driver import Driven, check_golden, running

from sftui.tui.contexts import CONVERSATION, CONVERSATION_PANE, DOCUMENT, FINDINGS, LIST, RECIPE, TOKENS
from sftui.views.cells import plain

SIZES = ((60, 20), (80, 24), (120, 36), (200, 50), (300, 80))
STEPS = (
    ("opened", ()),
    ("list", ("tab", "tab", "tab", "tab")),
    ("findings", ("escape", "f")),
    ("compared", ("escape", "C", "enter")),
    ("audit", ("escape", "A")),
    ("recipe", ("escape", "c")),
    ("alone", ("escape", "m")),
)


def held(driven: Driven) -> str:
    return driven.main.state.open.context


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_screens_at_five_sizes(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        for name, keys in STEPS:
            if name == "list":
                while held(driven) != LIST:
                    await driven.press("tab")
                text = driven.text
            else:
                text = await driven.press(*keys)
            assert all(len(line) <= size[0] for line in text.splitlines())
            check_golden(f"layout-{size[0]}x{size[1]}-{name}", text)


@pytest.mark.parametrize("theme", ["light", "contrast", "ansi", "mono"])
async def test_themes_show_the_same_text(theme: str) -> None:
    async with running((200, 50), theme=theme) as driven:
        check_golden("layout-200x50-opened", driven.text)


@pytest.mark.parametrize("size", [(160, 45), (200, 50), (300, 80)])
@pytest.mark.parametrize("opening", ["", "C enter", "A", "B", "o o", "c"], ids=str)
async def test_a_wide_screen_follows_the_row_whatever_is_open(size: tuple[int, int], opening: str) -> None:
    async with running(size) as driven:
        await driven.press(*opening.split())
        await driven.press("]", "]")
        panes = driven.main.panes
        talk, table = plain(panes.conversation.lines), panes.tokens.table
        assert "你好，世界" in talk and table is not None and table.cells[4] == "你好"
        assert panes.findings.row == 2 and panes.findings.answer is not None
        assert all(pane.display and pane.size for pane in (panes.tokens, panes.conversation, panes.findings))


async def test_keys_go_to_what_stands_there_and_back() -> None:
    async with running((200, 50)) as driven:
        for key, pane in (("f", FINDINGS), ("o", CONVERSATION_PANE), ("O c", CONVERSATION_PANE)):
            await driven.press(*key.split())
            assert held(driven) == pane and driven.main.state.open.view is None
            await driven.press(*key.split()) if key != "o" else await driven.press("escape")
            assert held(driven) == TOKENS
        await driven.press("C", "enter")
        assert held(driven) == DOCUMENT
        await driven.press("f")
        assert held(driven) == FINDINGS and driven.main.panes.document.display, "the comparison stays"
    async with running((300, 80)) as driven:
        assert not driven.main.panes.recipe.display
        await driven.press("c")
        assert held(driven) == RECIPE and "recipe" in driven.text


async def test_the_pane_that_has_the_keys_shows_without_colour() -> None:
    async with running((200, 50), theme="mono") as driven:
        seen = []
        for _ in range(4):
            titles = re.findall(r"╭▸(\d \w+)", driven.text)
            assert len(titles) == 1, driven.text
            seen.append(titles[0])
            await driven.press("tab")
        assert seen == ["2 text", "3 conversation", "4 findings", "1 rows"]


async def test_a_count_before_tab_goes_to_the_pane_of_that_number() -> None:
    async with running((200, 50)) as driven:
        for number, pane in (("4", FINDINGS), ("1", LIST), ("2", TOKENS)):
            await driven.press(number, "tab")
            assert held(driven) == pane
        await driven.press("9", "tab")
        assert held(driven) == TOKENS and driven.said == "there is no pane 9"


async def test_one_key_gives_a_pane_the_screen_and_brings_the_others_back() -> None:
    for size in ((80, 24), (200, 50)):
        async with running(size) as driven:
            before = driven.text
            await driven.press("m")
            assert driven.main.panes.tokens.size.width == size[0] - 2 and not driven.main.panes.rows.display
            assert await driven.press("m") == before
            await driven.press("m")
            await driven.press("escape")
            assert driven.text.splitlines()[:-2] == before.splitlines()[:-2]
            await driven.press("m", "f")
            assert held(driven) == FINDINGS and driven.main.panes.findings.display
    async with running((200, 50)) as driven:
        await driven.press("m", "tab")
        assert held(driven) == CONVERSATION_PANE and driven.main.panes.conversation.size.width == 198


async def test_panes_are_made_wider_and_higher_by_keys_and_stay_so() -> None:
    async with running((200, 50)) as driven:
        tokens, talk = driven.main.panes.tokens, driven.main.panes.conversation
        width = tokens.size.width
        await driven.press("O", ">")
        assert tokens.size.width == width + 6
        await driven.press("2", "O", "<")
        assert tokens.size.width == width - 6
        await driven.press("o")
        height = talk.size.height
        await driven.press("O", "+")
        assert talk.size.height == height + 2
        await driven.press("escape", "A", "escape", "]")
        assert tokens.size.width == width - 6 and talk.size.height == height + 2, "for the session"
        await driven.press("9", "9", "O", ">")
        most = tokens.size.width
        await driven.press("O", ">")
        assert "no room" in driven.said and tokens.size.width == most
        assert driven.main.panes.conversation.size.width >= 24
    async with running((80, 24)) as driven:
        await driven.press("O", ">")
        assert driven.main.panes.tokens.size.width == 54
        await driven.press("O", "+")
        assert driven.said


async def test_resizing_the_terminal_moves_what_stands_there() -> None:
    async with running((200, 50)) as driven:
        await driven.press("o")
        await driven.pilot.resize_terminal(80, 24)
        await driven.settle()
        assert held(driven) == TOKENS and not driven.main.panes.conversation.display
        await driven.press("o", "]")
        assert driven.main.panes.document.name_of_view == CONVERSATION
        await driven.pilot.resize_terminal(200, 50)
        await driven.settle()
        assert held(driven) == CONVERSATION_PANE and "Say [/INST]" in plain(driven.main.panes.conversation.lines)
        await driven.press("f")
        await driven.pilot.resize_terminal(120, 36)
        await driven.settle()
        assert driven.app.is_running and driven.main.panes.document.display


async def test_notes_are_counted_once_for_a_row() -> None:
    async with running() as driven:
        counted = []
        from sftui.tui.commands import notes

        kept = notes._notes
        notes._notes = lambda here: counted.append(here.state.row) or kept(here)  # type: ignore[func-returns-value]
        try:
            await driven.press("l", "l", "j", "k")
            assert counted == [] and notes.count(driven.main, driven.main.notes) == driven.main.state.status.notes
            await driven.press("]")
            assert 1 <= len(counted) <= 3
        finally:
            notes._notes = kept


async def test_the_list_says_its_current_row_in_words_where_it_has_no_room_for_previews() -> None:
    async with running((80, 24)) as driven:
        await driven.press("tab", "j")
        assert held(driven) == LIST
        assert driven.lines[-2].startswith(" row 1: ") and " % trained · " in driven.lines[-2]
        await driven.press("k")
        assert driven.lines[-2] == " row 0: 25 tokens · 36 % trained · What is the capital of France?"


async def test_what_a_cursor_came_to_stays_told_when_the_keys_go_to_the_other_pane() -> None:
    """Neither the sentence nor the footer is written anew by Tab alone."""
    async with running((80, 24)) as driven:
        token = driven.lines[-2:]
        await driven.press("tab")
        assert held(driven) == LIST and driven.lines[-2:] == token
        await driven.press("j")
        row = driven.lines[-2]
        await driven.press("tab")
        assert held(driven) == TOKENS and driven.lines[-2] == row
        await driven.press("l")
        assert " content · " in driven.lines[-2]


async def test_the_list_tells_its_row_where_the_tokens_are_not_on_screen() -> None:
    async with running((80, 24)) as driven:
        await driven.press("l", "o", "tab")
        assert held(driven) == LIST and TOKENS not in driven.main.arranged.panes
        assert driven.lines[-2].startswith(" row 0: 25 tokens")


async def test_the_list_tells_a_row_that_has_no_tokens_to_tell_of() -> None:
    async with running((80, 24)) as driven:
        driven.main.panes.tokens.table = None
        await driven.press("tab")
        assert held(driven) == LIST and driven.lines[-2].startswith(" row 0: 25 tokens")
