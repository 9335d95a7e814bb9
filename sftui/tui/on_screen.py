"""What stands on the terminal, so that of each frame only the cells that differ are written.

A line that is repainted is mostly what it was: the number of a row changes, or one word of a sentence. Textual writes
all of it. Here every cell that was written is kept, and of the next frame those that stand there are passed over.

After a character that terminals may count differently, or join with the next one, it is not known in which cells a text
stands. From the first such cell on, a stretch is written whole or not at all.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len
from textual.driver import Driver

from sftui.text import cell_width, has_clusters
from sftui.tui.clusters import in_place
from sftui.tui.sgr import PLAIN, Sgr, change, changes_only, followed_by, on_blanks, seen_on_blanks

_FRAME = re.compile(r"\x1b\[[\d;]*H[^\x1b\n]*(?:(?:\x1b\[[\d;]*[mH]|\n(?=\x1b))[^\x1b\n]*)*")
_MOVE = re.compile(r"\n?\x1b\[([\d;]*)H")
_STYLED = re.compile(r"\x1b\[([\d;]*)m|([^\x1b\n]+)")
_NEAR = 5
"""How far a cell may be for those between, which stand there, to be written again: a move takes as many bytes."""
_UPDATE = ("\x1b[?2026h", "\x1b[?2026l")
"""Around a frame where the terminal shows it at once: they draw nothing."""


def writing_changes(driver: type[Driver], on_screen: OnScreen) -> type[Driver]:
    """The driver, writing only cells that differ, and styles as changes."""
    if sys.platform == "win32":
        return driver  # there Textual writes in chunks that may end within a sequence

    class ChangesDriver(driver):  # type: ignore[valid-type, misc]
        style = PLAIN

        def write(self, data: str) -> None:
            if self.style == PLAIN and is_frame(data):
                shorter = on_screen.changes(data)
            else:
                if data not in _UPDATE:
                    on_screen.forget()
                shorter, self.style = changes_only(data, self.style)
            if shorter:
                super().write(shorter)

    return ChangesDriver


def is_frame(written: str) -> bool:
    """Whether a text goes to a place first, and then only draws cells and goes to others."""
    return _FRAME.fullmatch(written) is not None


class OnScreen:
    """The cells of a terminal as they were last written.

    What else is written to it, or happens to it, is not followed: after that it is to `forget`.
    """

    def __init__(self) -> None:
        self.lines: dict[int, _Line] = {}
        self.cursor = (-1, -1)

    def forget(self) -> None:
        """Nothing is known: whatever comes next is written."""
        self.lines, self.cursor = {}, (-1, -1)

    def changes(self, frame: str) -> str:
        """What is to be written of a frame (`is_frame`), before and after which no style is on.

        The cursor is left where the frame leaves it.
        """
        lines = self.lines  # where a signal has all forgotten meanwhile, what is kept below is forgotten, too
        writer = _Writer(self.cursor)
        style, place = PLAIN, (0, 0)
        _, *parts = _MOVE.split(frame)
        for where, written in zip(parts[::2], parts[1::2]):
            row, _, column = where.partition(";")
            y, x = place = int(row or 1) - 1, int(column or 1) - 1
            runs: list[_Run] = []
            for codes, text in _STYLED.findall(written):
                if text:
                    runs.append(_Run(x, _cells(text), style))
                    x = runs[-1].end
                else:
                    style = followed_by(style, codes)
            if runs:
                lines.setdefault(y, _Line()).draw(y, runs, writer)
                place = y, x
        self.cursor = place
        return writer.ended(place)


class _Run(NamedTuple):
    """Cells of one style, from `start` on: the text of each, "" where the one before reaches into it."""

    start: int
    texts: tuple[str, ...]
    style: Sgr

    @property
    def end(self) -> int:
        return self.start + len(self.texts)

    @property
    def seen(self) -> list[Sgr]:
        """What is seen of the style in each cell."""
        blank = seen_on_blanks(self.style)
        return [blank if text == " " else self.style for text in self.texts]

    def part(self, start: int, end: int) -> _Run:
        return _Run(start, self.texts[start - self.start : end - self.start], self.style)

    def with_next(self, after: _Run) -> _Run | None:
        """Both as one, where one of them is blank and looks the same in the other's style; else None."""
        if self.end != after.start or seen_on_blanks(self.style) != seen_on_blanks(after.style):
            return None
        texts = self.texts + after.texts
        if set(after.texts) == {" "}:
            return _Run(self.start, texts, self.style)
        return _Run(self.start, texts, after.style) if set(self.texts) == {" "} else None


class _Line:
    """The cells of one line: their texts, "" also where nothing is known, and what is seen of their styles."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.styles: list[Sgr] = []
        self.doubtful = False

    def draw(self, y: int, runs: Sequence[_Run], writer: _Writer) -> None:
        """Writes what is not there yet of runs that stand one next to the other."""
        missing = runs[-1].end - len(self.texts)
        self.texts += [""] * missing
        self.styles += [PLAIN] * missing
        sure = self._sure(runs)
        parts: list[_Run] = []
        whole = False
        for run in runs:
            seen = run.seen
            here = slice(run.start, run.end)
            texts, styles = self.texts[here], self.styles[here]
            if texts == [*run.texts] and styles == seen:
                continue
            cells = enumerate(zip(run.texts, texts, seen, styles), run.start)
            differ = [x for x, (new, old, style, before) in cells if new != old or style != before]
            whole = whole or differ[-1] >= sure
            for first, last in _stretches([x for x in differ if x < sure]):
                part = run.part(first, last + 1)
                joined = parts[-1].with_next(part) if parts else None
                parts[-1:] = [*parts[-1:], part] if joined is None else [joined]
            self.texts[here], self.styles[here] = run.texts, seen
        writer.draw(y, _by_style(parts, writer.style))
        if whole:
            writer.draw(y, [run.part(max(run.start, sure), run.end) for run in runs if run.end > sure])
            writer.lost()

    def _sure(self, runs: Sequence[_Run]) -> int:
        """Up to where it is known in which cell each text stands, before and after."""
        found = [run.start + sure for run in runs if (sure := _sure(run.texts)) < len(run.texts)]
        start, end = runs[0].start, runs[-1].end
        if self.doubtful:
            found.append(start + _sure(tuple(self.texts[start:end])))
        self.doubtful = self.doubtful or bool(found)
        return min(found, default=end)


class _Writer:
    """What is written: the shortest way from cell to cell and from style to style."""

    def __init__(self, cursor: tuple[int, int]) -> None:
        self.cursor = cursor
        self.style = PLAIN
        self.parts: list[str] = []

    def draw(self, y: int, runs: Sequence[_Run]) -> None:
        for run in runs:
            text = "".join(run.texts)
            self.go((y, run.start))
            self.turn(on_blanks(self.style, run.style) if text.isspace() else run.style)
            self.parts.append(in_place(text))
            self.cursor = (y, run.end)

    def go(self, place: tuple[int, int]) -> None:
        if self.cursor != place:
            y, x = place
            move = f"{x + 1}G" if self.cursor[0] == y else f"{y + 1};{x + 1}H" if x else f"{y + 1}H" if y else "H"
            self.parts.append(f"\x1b[{move}")
            self.cursor = place

    def turn(self, style: Sgr) -> None:
        if self.style != style:
            self.parts.append(change(self.style, style))
            self.style = style

    def lost(self) -> None:
        """Terminals may have the cursor in another cell."""
        self.cursor = (-1, -1)

    def ended(self, place: tuple[int, int]) -> str:
        """All that was written, without any style and with the cursor at a place at the end of it."""
        self.turn(PLAIN)
        self.go(place)
        return "".join(self.parts)


def _stretches(cells: Sequence[int]) -> list[tuple[int, int]]:
    """The first and last cell of each stretch of cells that are near each other."""
    if cells and cells[-1] - cells[0] == len(cells) - 1:
        return [(cells[0], cells[-1])]
    found: list[tuple[int, int]] = []
    for cell in cells:
        if found and cell - found[-1][1] <= _NEAR:
            found[-1] = (found[-1][0], cell)
        else:
            found.append((cell, cell))
    return found


def _by_style(runs: Sequence[_Run], now: Sgr) -> list[_Run]:
    """Runs of a line, those of one style after each other: to go back to a place takes fewer bytes than a colour."""
    found: dict[Sgr, list[_Run]] = {now: []}
    for run in runs:
        found.setdefault(run.style, []).append(run)
    return [run for alike in found.values() for run in alike]


@lru_cache(4096)
def _sure(texts: tuple[str, ...]) -> int:
    """How many of the cells are one character each, of one cell in every terminal."""
    for i, text in enumerate(texts):
        if len(text) != 1:
            return i if text or not i else i - 1
    return len(texts)


@lru_cache(4096)
def _cells(text: str) -> tuple[str, ...]:
    """The text of each cell, "" for one that the text before takes; words that terminals count differently are one text
    in as many cells as Rich counts."""
    if text.isascii():
        return tuple(text)
    width, cells = cell_len(text), list[str]()
    if not has_clusters(text):
        for char in text:
            taken = cell_width(char)
            if taken or not cells:
                cells += [char, *[""] * (taken - 1)]
            else:
                base = next(i for i in range(len(cells) - 1, -1, -1) if cells[i])
                cells[base] += char
        if len(cells) == width:
            return tuple(cells)
    return (text, *[""] * (width - 1)) if width else ()
