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
from operator import ne, or_
from typing import NamedTuple

from rich.cells import cell_len
from textual.driver import Driver

from sftui.text import cell_width, has_clusters
from sftui.tui.sgr import PLAIN, Sgr, change, followed_by, in_place, on_blanks, seen_on_blanks

_FRAME = re.compile(r"\x1b\[[\d;]*H[^\x1b\n]*(?:(?:\x1b\[[\d;]*[mH]|\n(?=\x1b))[^\x1b\n]*)*")
_PART = re.compile(r"\x1b\[([\d;]*)([mH])([^\x1b\n]*)")
"""A style or a move, and the text after it."""
_NEAR = re.compile(rb"\x01+(?:\x00{1,4}\x01+)*")
"""Cells that differ, 1, and up to four between them that stand there: to go past these takes as many bytes."""
_UPDATE = ("\x1b[?2026h", "\x1b[?2026l")
"""Around a frame where the terminal shows it at once: they draw nothing."""


def writing_changes(driver: type[Driver], on_screen: OnScreen) -> type[Driver]:
    """The driver, writing only cells that differ, and styles as changes; beside frames, after which no style is on,
    Textual writes modes alone."""
    if sys.platform == "win32":
        return driver  # there Textual writes in chunks that may end within a sequence

    class ChangesDriver(driver):  # type: ignore[valid-type, misc]
        def write(self, data: str) -> None:
            if is_frame(data):
                data = on_screen.changes(data)
            elif data not in _UPDATE:
                on_screen.forget()
            if data:
                super().write(data)

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
        writer = _ScreenWriter(self.cursor)
        style, y, x = PLAIN, 0, 0
        runs: list[tuple[int, _Cells]] = []
        for codes, kind, text in _PART.findall(frame):
            if kind == "m":
                style = PLAIN if codes == "0" else followed_by(style, codes)
            else:
                if runs:
                    lines.setdefault(y, _Line()).draw(y, runs, writer)
                    runs = []
                row, _, column = codes.partition(";")
                y, x = int(row or 1) - 1, int(column or 1) - 1
            if text:
                cells = _cells(text, style)
                runs.append((x, cells))
                x += len(cells.texts)
        if runs:
            lines.setdefault(y, _Line()).draw(y, runs, writer)
        self.cursor = y, x
        return writer.ended(self.cursor)


class _Cells(NamedTuple):
    """A text in a style, cell by cell: their texts, "" where the one before reaches into it, and what is seen of the
    style in each; `sure`: how many of them are one character each, of one cell in every terminal."""

    texts: list[str]
    seen: list[Sgr]
    style: Sgr
    sure: int

    def run(self, at: int, first: int, end: int) -> _CellRun:
        """Some of the cells of a text that stands at a cell."""
        return _CellRun(at + first, end - first, "".join(self.texts[first:end]), self.style)


class _CellRun(NamedTuple):
    """What is written from a cell on, in how many cells."""

    start: int
    width: int
    text: str
    style: Sgr

    def with_next(self, after: _CellRun) -> _CellRun | None:
        """Both as one, where one of them is blank and looks the same in the other's style; else None."""
        style = self.style if not after.text.strip(" ") else after.style if not self.text.strip(" ") else None
        if style is None or self.start + self.width != after.start:
            return None
        if seen_on_blanks(self.style) != seen_on_blanks(after.style):
            return None
        return _CellRun(self.start, self.width + after.width, self.text + after.text, style)


class _Line:
    """The cells of one line: their texts, "" also where nothing is known, and what is seen of their styles."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.seen: list[Sgr] = []
        self.doubtful = False

    def draw(self, y: int, runs: Sequence[tuple[int, _Cells]], writer: _ScreenWriter) -> None:
        """Writes what is not there yet of cells that stand one next to the other."""
        start, cells = runs[-1]
        missing = start + len(cells.texts) - len(self.texts)
        if missing > 0:
            self.texts += [""] * missing
            self.seen += [PLAIN] * missing
        sure = self._sure(runs)
        parts: list[_CellRun] = []
        whole = False
        for start, cells in runs:
            here = slice(start, start + len(cells.texts))
            texts, seen = self.texts[here], self.seen[here]
            if texts == cells.texts and seen == cells.seen:
                continue
            differ = bytes(map(or_, map(ne, texts, cells.texts), map(ne, seen, cells.seen)))
            if differ.rfind(1) >= sure - start:
                whole, differ = True, differ[: max(sure - start, 0)]
            for found in _NEAR.finditer(differ):
                part = cells.run(start, *found.span())
                joined = parts[-1].with_next(part) if parts else None
                if joined is None:
                    parts.append(part)
                else:
                    parts[-1] = joined
            self.texts[here], self.seen[here] = cells.texts, cells.seen
        if parts:
            writer.draw(y, _by_style(parts, writer.style))
        if whole:
            rest = [(at, cells) for at, cells in runs if at + len(cells.texts) > sure]
            writer.draw(y, [cells.run(at, max(sure - at, 0), len(cells.texts)) for at, cells in rest])
            writer.lost()

    def _sure(self, runs: Sequence[tuple[int, _Cells]]) -> int:
        """Up to where it is known in which cell each text stands, before and after."""
        (start, _), (last, cells) = runs[0], runs[-1]
        end = last + len(cells.texts)
        sure = next((at + cells.sure for at, cells in runs if cells.sure < len(cells.texts)), end)
        if self.doubtful:
            sure = min(sure, start + _sure(self.texts[start:end]))
        self.doubtful = self.doubtful or sure < end
        return sure


class _ScreenWriter:
    """What is written: the shortest way from cell to cell and from style to style."""

    def __init__(self, cursor: tuple[int, int]) -> None:
        self.cursor = cursor
        self.style = PLAIN
        self.parts: list[str] = []

    def draw(self, y: int, runs: Sequence[_CellRun]) -> None:
        for start, width, text, style in runs:
            self.go((y, start))
            self.turn(on_blanks(self.style, style) if text.isspace() else style)
            self.parts.append(in_place(text))
            self.cursor = (y, start + width)

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


def _by_style(runs: Sequence[_CellRun], now: Sgr) -> Sequence[_CellRun]:
    """Runs of a line, those of one style after each other: to go back to a place takes fewer bytes than a colour."""
    if len(runs) == 1:
        return runs
    found: dict[Sgr, list[_CellRun]] = {now: []}
    for run in runs:
        found.setdefault(run.style, []).append(run)
    return [run for alike in found.values() for run in alike]


@lru_cache(4096)
def _cells(text: str, style: Sgr) -> _Cells:
    """The cells of a text, to be read only."""
    texts = _texts(text)
    blank = seen_on_blanks(style)
    return _Cells(texts, [blank if text == " " else style for text in texts], style, _sure(texts))


def _sure(texts: Sequence[str]) -> int:
    """How many of the cells are one character each, of one cell in every terminal."""
    for i, text in enumerate(texts):
        if len(text) != 1:
            return i if text or not i else i - 1
    return len(texts)


def _texts(text: str) -> list[str]:
    """The text of each cell, "" for one that the text before takes; words that terminals count differently are one text
    in as many cells as Rich counts."""
    if text.isascii():
        return list(text)
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
            return cells
    return [text, *[""] * (width - 1)] if width else []
