"""Styles written as changes draw what whole styles draw, in fewer bytes."""

from __future__ import annotations

import random

import pyte
import pytest
from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

from sftui.tui.on_screen import OnScreen, is_frame

COLOURS = ("#5fafff", "#121212", "#262626", "red", "bright_black", "default", None)
ATTRIBUTES = ("bold", "italic", "underline", "reverse", "strike", "blink")
TEXTS = ("word", "two words", " ", "    ", " led", "trailed ", "░░██", "e\u0301", "日本")


def style_of(rng: random.Random) -> Style:
    on = Style.parse(" ".join(name for name in ATTRIBUTES if rng.random() < 0.2))
    return on + Style(color=rng.choice(COLOURS), bgcolor=rng.choice(COLOURS))


class Terminal:
    """What is written to it in turn, as cells."""

    def __init__(self) -> None:
        self._screen = pyte.Screen(60, 8)
        self._stream = pyte.Stream(self._screen)

    def after(self, written: str) -> list[list[tuple[object, ...]]]:
        """The cells once this is written, too: of a blank only what is drawn of it."""
        self._stream.feed(written)
        cells = [[self._screen.buffer[y][x] for x in range(60)] for y in range(8)]
        return [
            [
                (cell.data, cell.bg) if cell.data == " " and not (cell.reverse or cell.underscore or cell.strikethrough)
                else tuple(cell)
                for cell in line
            ]
            for line in cells
        ]  # fmt: skip


@pytest.mark.parametrize("system", [ColorSystem.STANDARD, ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR])
def test_changes_draw_what_whole_styles_draw(system: ColorSystem) -> None:
    rng = random.Random(7)
    before = after = 0
    for _ in range(150):
        parts = []
        for y in range(1, 8):
            parts.append(f"\x1b[{y};{rng.randint(1, 9)}H")
            parts += [Strip.render_style(style_of(rng), rng.choice(TEXTS), system) for _ in range(rng.randint(1, 6))]
            parts += ["\n"] * rng.randint(0, 1)
        whole = "".join((*parts, "\x1b[1;1H"))
        shorter = OnScreen().changes(whole)
        assert is_frame(whole) and Terminal().after(shorter) == Terminal().after(whole)
        before, after = before + len(whole), after + len(shorter)
    assert after < 0.85 * before


@pytest.mark.parametrize(
    ("whole", "shorter"),
    [
        ("\x1b[1ma\x1b[0m\x1b[2mb\x1b[0m", "\x1b[1ma\x1b[0;2mb\x1b[m"),
        ("\x1b[1;2ma\x1b[0m\x1b[2mb\x1b[0m", "\x1b[1;2ma\x1b[0;2mb\x1b[m"),
        ("\x1b[31;48;5;235ma\x1b[0m\x1b[48;5;235mb\x1b[0m", "\x1b[31;48;5;235ma\x1b[39mb\x1b[m"),
        ("\x1b[31ma\x1b[0m\x1b[2;32m  \x1b[0m\x1b[31mb\x1b[0m", "\x1b[31ma  b\x1b[m"),
        ("\x1b[31ma\x1b[0m\x1b[4m  \x1b[0m", "\x1b[31ma\x1b[0;4m  \x1b[m"),
    ],
    ids=["bold to dim", "dim stays", "ground stays", "blanks", "underlined blanks"],
)
def test_what_stays_is_not_said_again(whole: str, shorter: str) -> None:
    assert OnScreen().changes(f"\x1b[1;1H{whole}\x1b[2;1H") == f"\x1b[H{shorter}\x1b[2H"
