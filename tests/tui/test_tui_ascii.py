"""Terminals without the glyphs get ASCII, cell by cell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.color import Color
from tui_driver import Driven, check_golden, running

from sftui.text import cell_width
from sftui.tui.ascii import STAND_INS, Ascii, ascii_only

PACKAGE = Path(__file__).resolve().parents[2] / "sftui"


@pytest.mark.parametrize(
    ("environment", "in_ascii"),
    [
        ({}, False),
        ({"LANG": "en_US.UTF-8"}, False),
        ({"LANG": "C.utf8"}, False),
        ({"LC_CTYPE": "UTF-8"}, False),
        ({"LC_CTYPE": "C.UTF-8"}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "POSIX", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, False),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, True),
        ({"LANG": "C", "LC_ALL": "C.UTF-8"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LANG": "de_DE.ISO-8859-1", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "de_DE@euro"}, True),
        ({"LANG": "en_US.UTF-8", "TERM": "linux"}, True),
        ({"TERM": "xterm-256color"}, False),
    ],
    ids=str,
)
def test_the_locale_and_the_terminal_decide(environment: dict[str, str], in_ascii: bool) -> None:
    assert ascii_only(None, environment) is in_ascii
    assert ascii_only("ascii", environment) and not ascii_only("unicode", environment)


def test_every_glyph_that_is_drawn_has_a_stand_in_of_its_width() -> None:
    """All that the views and the screen draw; what stands in tables of data characters is not."""
    drawn = [*(PACKAGE / "views").glob("*.py"), *(PACKAGE / "tui").rglob("*.py"), PACKAGE / "text.py"]
    glyphs = {char for file in drawn for char in file.read_text(encoding="utf-8") if not char.isascii()}
    assert len(glyphs) > 50 and not glyphs - set(STAND_INS), glyphs - set(STAND_INS)
    for glyph, shown in STAND_INS.items():
        assert shown.isascii() and shown.isprintable() and len(shown) == cell_width(glyph) == 1, glyph


def test_what_tells_trained_from_masked_is_told_apart() -> None:
    assert len({STAND_INS[glyph] for glyph in "█▓▒░✂"}) == 5 and STAND_INS["━"] != STAND_INS["─"]


@pytest.mark.parametrize("text", ["a█░▒…", "你好 x", "é ⟨ 2", "שלום", "e\u0301", "😀!", "plain"])
def test_no_cell_moves(text: str) -> None:
    (made,) = Ascii().apply([Segment(text)], Color(0, 0, 0))
    assert made.text.isascii() and len(made.text) == cell_width(text)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_screens(size: tuple[int, int]) -> None:
    async with running(size, in_ascii=True) as driven:
        await _check(driven, f"ascii-{size[0]}x{size[1]}-opened")
        await driven.press("]", "f")
        await _check(driven, f"ascii-{size[0]}x{size[1]}-findings")
        await driven.press("?")
        assert driven.text.isascii()


async def _check(driven: Driven, name: str) -> None:
    assert driven.text.isascii(), re.findall(r"[^\x00-\x7f]", driven.text)
    check_golden(name, driven.text)
