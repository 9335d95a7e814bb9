"""Words whose cells terminals count differently stay words, and what stands behind them stays in its column."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pyte
import pytest
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.style import Style
from rows_worker import Spelling, write_chats
from textual.color import Color
from textual.strip import Strip
from tui_driver import check_golden, running

from sftui.text import clip, prose, split_at
from sftui.tui.ascii import Ascii
from sftui.tui.line_view import difference, strip_of
from sftui.tui.on_screen import OnScreen
from sftui.tui.sgr import in_place, padded
from sftui.tui.themes import Styles
from sftui.views.cells import Role, line, wrap
from sftui.workspace import OpenOptions

WORDS = [
    "मुझे भारत की राजधानी बताओ",
    "ภาษาไทย น้ำตก",
    "السَّلامُ عليكم",
    "தமிழ் மொழி",
    unicodedata.normalize("NFD", "한국어 문장"),
    "👨\u200d👩\u200d👧 👍🏽 🇹🇷 ❤\ufe0f ok",
    "plain English",
]


def alone(char: str) -> int:
    """Cells of a character where a terminal gives one to each vowel sign, as VTE and tmux do."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def joined(char: str) -> int:
    """Where signs take none, as Rich has it."""
    return 0 if unicodedata.category(char) == "Mc" else alone(char)


@pytest.mark.parametrize("cells", [alone, joined, lambda char: alone(char) or int(char == "\ufe0f")])
@pytest.mark.parametrize("words", WORDS)
def test_what_follows_stays_in_its_column(
    words: str, cells: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyte.screens.wcwidth", cells)
    strip = strip_of(line((prose(words), Role.DIM), ("│", Role.BORDER), ("x", Role.TITLE)), Styles("dark"))
    screen = pyte.Screen(60, 2)
    screen.draw("#" * 60)
    parts = [Strip.render_style(part.style or Style(), part.text, ColorSystem.EIGHT_BIT) for part in strip]
    pyte.Stream(screen).feed(OnScreen().changes("\x1b[1;1H" + "".join(parts)))
    row = screen.buffer[0]
    assert [x for x in range(60) if row[x].data == "│"] == [strip.cell_length - 2]
    assert row[strip.cell_length - 1].data == "x"
    assert "#" not in "".join(row[x].data for x in range(strip.cell_length)), "no old cell shows through"
    assert row[0].data[0] == words[0]


@pytest.mark.parametrize("words", WORDS)
def test_rich_and_sftui_count_one_width(words: str) -> None:
    cells = line((prose(words), Role.DIM), ("│", Role.BORDER))
    strip = strip_of(cells, Styles("dark"))
    assert strip.cell_length == sum(run.width for run in cells)
    shown = "".join(segment.text for segment in Ascii().apply(list(strip), Color(0, 0, 0)))
    assert shown.isascii() and len(shown) == strip.cell_length and shown[-1] == "|"


def test_words_cut_by_a_dialog_stay_left_of_it() -> None:
    """Textual cuts where Rich counts three cells, terminals may draw five."""
    assert cell_len("हिन्दी") == 3
    assert in_place("हिन्दी") == "\x1b7   \x1b8\x1b7हिन्\x1b8\x1b[3C"
    assert in_place(padded("हिन्दी")) == "\x1b7     \x1b8\x1b7हिन्दी\x1b8\x1b[5C"


def test_words_are_painted_as_a_whole() -> None:
    """Within them Rich's columns are not the terminal's."""
    old, new = line(("कि का", Role.DIM), "│"), line(("कि की", Role.DIM), "│")
    assert difference(old, new) == (0, 5)
    assert difference(line("ab c", "│"), line("ab d", "│")) == (3, 4)


def test_a_cluster_is_not_torn() -> None:
    assert split_at(prose("बताओ"), 2) == ("ब", "ताओ")
    assert clip(prose("👨\u200d👩\u200d👧 ok"), 5) == "…"
    lines = [strip_of(cells, Styles("dark")) for cells in wrap(line(prose("भारत की राजधानी " * 4)), 7)]
    assert max(strip.cell_length for strip in lines) <= 7
    assert "".join(strip.text for strip in lines).replace(" ", "") == "भारतकीराजधानी" * 4


@pytest.mark.parametrize("size", [(80, 24), (170, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_lists_and_conversations_show_the_users_own_words(tmp_path: Path, size: tuple[int, int]) -> None:
    asked = [(words, f"Re: {words}") for words in WORDS]
    async with running(
        size, Spelling(" ".join(WORDS).split(" ")), options=OpenOptions((write_chats(tmp_path / "train.jsonl", asked),))
    ) as driven:
        await driven.press("tab", "j")
        check_golden(f"words-{size[0]}x{size[1]}-list", driven.text)
        if size[0] > 80:
            rows = driven.lines[3 : 3 + len(WORDS)]
            assert len({cell_len(shown.split("│")[1]) for shown in rows}) == 1
        await driven.press("escape", "o")
        check_golden(f"words-{size[0]}x{size[1]}-conversation", driven.text)
        assert WORDS[1][:6] in driven.text
