"""The help filters as one types: keys, signs and concepts, at every size."""

from __future__ import annotations

import pytest
from tui_driver import check_golden, running

from sftui.text import cell_width

SIZES = ((60, 20), (80, 24), (120, 36), (200, 50))


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_help_looks_as_before(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        text = await driven.press("f", "?", *"shift")
        assert all(cell_width(row) <= size[0] for row in text.splitlines())
        check_golden(f"help-shift-{size[0]}x{size[1]}", text)


async def test_letters_filter_and_are_no_keys() -> None:
    async with running(theme="mono") as driven:
        opened = await driven.press("?")
        assert "IN THE TOKENS" in opened and "Show why the token" in opened.splitlines()[5]
        text = await driven.press("q", "u", "i", "t")
        assert "Quit; asks once" in text and "Show the next row" not in text
        assert driven.app.screen is not driven.main, "q was typed"
        text = await driven.press("ctrl+u")
        assert text == opened, "nothing typed: all of it"
        await driven.press(*"no such thing")
        assert "no help for" in driven.text
        assert await driven.press("escape") == opened, "Esc lists all, and closes then"
        await driven.press("escape")
        assert driven.app.screen is driven.main


async def test_pages_scroll_and_enter_goes_on_to_the_pages_of_help() -> None:
    async with running() as driven:
        opened = await driven.press("?")
        assert await driven.press("pagedown") != opened
        assert await driven.press("pageup") == opened
        assert "Getting started" in await driven.press("enter")


@pytest.mark.parametrize(
    ("word", "told"), [("whole character", "‹E2 9C›"), ("bos", "BOS begins a row"), ("theme", "in the palette: theme")]
)
async def test_signs_concepts_and_what_has_no_key_are_found(word: str, told: str) -> None:
    async with running((120, 36)) as driven:
        assert told in await driven.press("?", *("space" if one == " " else one for one in word))
