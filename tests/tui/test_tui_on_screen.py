"""Only cells that differ are written, and the terminal shows what whole frames would have drawn."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import cast

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from test_tui_clusters import WORDS, alone, joined
from test_tui_sgr import Terminal, style_of
from textual.driver import Driver
from textual.strip import Strip

from sftui.text import prose
from sftui.tui.on_screen import OnScreen, is_frame, writing_changes
from sftui.tui.sgr import in_place, padded

WIDTH, HEIGHT = 60, 8
NO_WRAP = "\x1b[?7l"
"""As Textual has the terminal: what is wider than the terminal counts does not go on in the next line."""
PLAIN_WORDS = ("row 1", "row 12", "token", "░░██", "·", "  ", "    ", "label · 2089", "│", "x" * 9)
WIDE_WORDS = (*PLAIN_WORDS, "日本語", "e\u0301te\u0301", *map(prose, WORDS))


def strip_of(rng: random.Random, words: tuple[str, ...], styles: list[Style]) -> Strip:
    return Strip([Segment(padded(rng.choice(words)), rng.choice(styles)) for _ in range(rng.randint(1, 6))])


def adjusted(rng: random.Random, words: tuple[str, ...], styles: list[Style], width: int) -> Strip:
    return strip_of(rng, words, styles).adjust_cell_length(width, rng.choice(styles))


def frame_of(lines: dict[int, list[tuple[int, Strip]]], system: ColorSystem) -> str:
    """As Textual's compositor writes it: a place before each strip, a line feed between lines, then the cursor's."""
    drawn = []
    for y, strips in lines.items():
        parts = [
            f"\x1b[{y + 1};{x + 1}H" + "".join(Strip.render_style(s.style or Style(), s.text, system) for s in strip)
            for x, strip in strips
        ]
        drawn.append("".join(parts))
    return "\n".join(drawn) + "\x1b[1;1H"


def frames(seed: int, words: tuple[str, ...], system: ColorSystem = ColorSystem.EIGHT_BIT) -> list[str]:
    """A whole screen and then, like keys that are pressed, repainted lines that are mostly what they were."""
    rng = random.Random(seed)
    styles = [style_of(rng) for _ in range(4)]
    made = [frame_of({y: [(0, adjusted(rng, words, styles, WIDTH))] for y in range(HEIGHT)}, system)]
    for _ in range(25):
        drawn = {}
        for y in sorted(rng.sample(range(HEIGHT), rng.randint(1, 4))):
            start = rng.choice([0, 0, rng.randint(1, WIDTH - 8)])
            end = rng.choice([WIDTH, WIDTH, rng.randint(start + 4, WIDTH)])
            drawn[y] = [(start, adjusted(rng, words, styles, end - start))]
            if end < WIDTH:  # a pane next to another one
                drawn[y].append((end, adjusted(rng, words, styles, WIDTH - end)))
        made.append(frame_of(drawn, system))
    return made


@pytest.mark.parametrize("system", [ColorSystem.STANDARD, ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR])
def test_what_is_on_screen_is_what_whole_frames_draw(system: ColorSystem) -> None:
    whole_bytes = bytes_written = 0
    for seed in range(12):
        ours, theirs, on_screen = Terminal(), Terminal(), OnScreen()
        assert ours.after(NO_WRAP) == theirs.after(NO_WRAP)
        for frame in frames(seed, PLAIN_WORDS, system):
            assert is_frame(frame)
            written = on_screen.changes(frame)
            assert ours.after(written) == theirs.after(frame)
            whole_bytes += len(OnScreen().changes(frame))
            bytes_written += len(written)
    assert bytes_written < whole_bytes


def held_in_place(frame: str) -> str:
    """All of a frame, with its words where they belong however a terminal counts them."""
    parts = re.split(r"(\x1b\[[\d;]*[mH]|\n)", frame)
    return "".join(part if odd % 2 else in_place(part) for odd, part in enumerate(parts))


@pytest.mark.parametrize("cells", [alone, joined, lambda char: alone(char) or int(char == "\ufe0f")])
def test_words_of_every_script_stand_where_whole_frames_draw_them(
    cells: Callable[[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a terminal counts them: nothing is passed over behind a cell that may be elsewhere."""
    monkeypatch.setattr("pyte.screens.wcwidth", cells)
    for seed in range(12):
        ours, theirs, on_screen = Terminal(), Terminal(), OnScreen()
        assert ours.after(NO_WRAP) == theirs.after(NO_WRAP)
        for frame in frames(seed, WIDE_WORDS):
            assert ours.after(on_screen.changes(frame)) == theirs.after(held_in_place(frame))


class Pipe:
    """A driver that keeps what is written."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, data: str) -> None:
        self.written.append(data)


def test_what_else_is_written_has_the_next_frame_written_whole() -> None:
    """An editor was there, or the terminal was told to clear: nothing is known of its cells."""
    driver = writing_changes(cast(type[Driver], Pipe), on_screen := OnScreen())()  # type: ignore[call-arg]
    frame = "\x1b[1;1H\x1b[1mone\x1b[0m\n\x1b[2;1Htwo\x1b[1;1H"
    written = cast(Pipe, driver).written
    for data in (frame, "\x1b[?2026h", frame, "\x1b[?2026l", "\x1b[?1049h", frame):
        driver.write(data)
    once = "\x1b[H\x1b[1mone\x1b[2H\x1b[mtwo\x1b[H"
    assert written == [once, "\x1b[?2026h", "\x1b[?2026l", "\x1b[?1049h", once]
    on_screen.forget()
    driver.write(frame)
    assert written[-1] == once


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        ("row 1 of 60", "row 2 of 60", "\x1b[3;5H2"),
        ("row 1 of 60", "row 1 of 60", ""),
        ("label 2089 x", "token 2088 y", "\x1b[3Htoken 2088 y"),
        ("日本 1 of 60", "日本 2 of 60", "\x1b[3H日本 2 of 60"),
        ("row 1 日本", "row 2 日本", "\x1b[3;5H2"),
        ("日本 one", "abcd one", "\x1b[3Habcd one"),
    ],
    ids=["a digit", "nothing", "near each other", "after wide cells", "before wide cells", "instead of wide cells"],
)
def test_cells_that_stand_there_are_passed_over(before: str, after: str, written: str) -> None:
    on_screen = OnScreen()
    on_screen.changes(f"\x1b[3;1H{before}\x1b[1;1H")
    assert on_screen.changes(f"\x1b[3;1H{after}\x1b[1;1H") == (written and f"{written}\x1b[H")


def test_cells_of_one_style_are_written_together() -> None:
    """A colour takes eleven bytes, a place four or five."""
    keys = "".join(f"\x1b[38;5;153m{key}\x1b[0m\x1b[38;5;246m does {key}  \x1b[0m" for key in "fAx")
    assert OnScreen().changes(f"\x1b[3;1H{keys}\x1b[1;1H") == (
        "\x1b[3H\x1b[38;5;153mf\x1b[11GA\x1b[21Gx"
        "\x1b[2G\x1b[38;5;246m does f  \x1b[12G does A  \x1b[22G does x  \x1b[m\x1b[H"
    )
