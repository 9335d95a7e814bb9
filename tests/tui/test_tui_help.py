"""The pages of help in the app: listed, opened, read and left by keyboard; loaded only when asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from textual.app import App
from tui_driver import running

from sftui.docs import topics
from sftui.text import cell_width, visible
from sftui.tui.help_pages import page


async def test_from_the_keys_to_the_list_to_a_page_and_back() -> None:
    async with running(size=(80, 36)) as driven:  # the whole list fits
        await driven.press("?")
        assert "Enter pages · Esc closes" in driven.text
        listed = await driven.press("enter")
        assert all(one.title in listed for one in topics()) and "Enter selects" in listed
        opened = await driven.press(*"jjjj", "enter")
        assert "help: labels" in opened and "Labels and masks" in opened and "Esc goes back" in opened
        assert "A label is what the model is graded on" in opened
        later = await driven.press("pagedown")
        assert "A label is what the model is graded on" not in later
        assert "see findings." in await driven.press("end")
        assert await driven.press("home") == opened and "see findings." in await driven.press("G")
        back = await driven.press("escape")
        assert back == await driven.press("escape", "?", "enter", *"jjjj"), "the page that was read is marked"
        await driven.press("escape")
        assert driven.app.screen is driven.main


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((60, 20), "dark"),
        pytest.param((80, 24), "dark", marks=pytest.mark.long),
        pytest.param((120, 36), "dark", marks=pytest.mark.long),
        pytest.param((60, 20), "mono", marks=pytest.mark.long),
        pytest.param((80, 24), "mono", marks=pytest.mark.long),
        pytest.param((120, 36), "mono", marks=pytest.mark.long),
    ],
)
async def test_every_page_opens_at_every_size(size: tuple[int, int], theme: str) -> None:
    async with running(size=size, theme=theme) as driven:
        await driven.press("?", "enter")
        for number, one in enumerate(topics()):
            opened = await driven.press(*["j"] * min(number, 1), "enter")
            assert f"help: {one.name}" in opened and one.title in opened, one.name
            assert all(cell_width(line) <= size[0] for line in opened.splitlines())
            await driven.press("escape")


@pytest.mark.one_of(2)
@pytest.mark.parametrize("width", [58, 98])
@pytest.mark.parametrize("name", [one.name for one in topics()])
def test_lines_of_a_page_fit_and_show_nothing_raw(name: str, width: int) -> None:
    for cells in page(name, width):
        text = "".join(run.text for run in cells)
        assert cell_width(text) <= width and text == visible(text)


async def test_nothing_in_a_page_is_opened_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(App, "open_url", lambda self, url, **how: opened.append(url))
    async with running(size=(120, 36)) as driven:
        await driven.press("?", "enter", "enter")
        before = driven.text
        for y in range(2, 34, 3):
            await driven.pilot.click(offset=(30, y))
        await driven.settle()
        assert driven.text == before and opened == []


def test_the_app_starts_without_the_pages() -> None:
    code = "import sys, sftui.tui.app; print(*{'sftui.docs', 'rich.markdown', 'markdown_it'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
