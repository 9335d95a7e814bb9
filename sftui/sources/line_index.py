"""Where the rows of JSON Lines are: counted once, with a place every few kilobytes to look for one from."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable
from io import BytesIO
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from sftui.sources.records import JSON_SPACE

OBJECT = frozenset(b"{")
NEWLINE = b"\n"
SPACE = 0x20
APART = 1 << 17
"""Bytes from one place to the next at least: what is read to find a row, in 24 bytes of memory."""


class LineScanner:
    """Where the non-blank lines begin, block by block; only `\\n` ends a line.

    Blank lines are skipped because the JSON reader of `datasets` skips them, so that row numbers
    stay those of `dataset[i]`. Memory is one block, however long a line is.
    """

    def __init__(self, position: int) -> None:
        self.position = position
        self.mid_line = False
        self._blank_since: int | None = None

    @property
    def mid_row(self) -> bool:
        """Whether the line being read has content and no end yet."""
        return self.mid_line and self._blank_since is None

    def feed(self, block: bytes) -> tuple[list[int], list[int]]:
        """The offsets of the rows that begin in `block`, and for each blank line how many of
        these rows come before it."""
        lines = BytesIO(block).readlines()
        starts: list[int] = []
        blanks: list[int] = []
        if self.mid_line and lines:
            self._continue(lines.pop(0), starts, blanks)
        tail = lines.pop() if lines and not lines[-1].endswith(NEWLINE) else b""
        offsets = list(accumulate(map(len, lines), initial=self.position))
        self.position = offsets.pop()
        if OBJECT.issuperset(map(itemgetter(0), lines)):
            starts += offsets
        else:
            for offset, line in zip(offsets, lines):
                if line.strip(JSON_SPACE):
                    starts.append(offset)
                else:
                    blanks.append(len(starts))
        if tail:
            self.mid_line = True
            self._blank_since = None if tail.strip(JSON_SPACE) else self.position
            if self._blank_since is None:
                starts.append(self.position)
            self.position += len(tail)
        return starts, blanks

    def skip(self, size: int, *, cut: bool) -> None:
        """Go past bytes whose rows are known; `cut`: they end within one."""
        self.position += size
        self.mid_line = cut
        self._blank_since = None

    def _continue(self, piece: bytes, starts: list[int], blanks: list[int]) -> None:
        if self._blank_since is not None and piece.strip(JSON_SPACE):
            starts.append(self._blank_since)
            self._blank_since = None
        self.position += len(piece)
        if piece.endswith(NEWLINE):
            if self._blank_since is not None:
                blanks.append(len(starts))
            self.mid_line = False
            self._blank_since = None


def count_rows(block: bytes, start: int, stop: int) -> int | None:
    """How many rows begin between two places of a block, the first of which begins a line; None where one of the lines
    may be blank. One call takes the lines apart, one looks at how each begins."""
    lines = BytesIO(block[start:stop]).readlines()
    sound = OBJECT.issuperset(map(itemgetter(0), lines)) or min(map(itemgetter(0), lines)) > SPACE
    return len(lines) if sound else None


class LinePlace(NamedTuple):
    """Where a line begins that `row` rows and `blanks` blank lines come before; `rows` rows are known to begin from
    there up to `end`, the next place."""

    offset: int
    row: int
    blanks: int
    rows: int
    end: int


class Stretch(NamedTuple):
    """The rows from a place on: where they begin, and for each blank line how many of them come before it."""

    place: LinePlace
    starts: list[int]
    blanks: list[int]

    def blank_lines(self, row: int) -> int:
        """How many blank lines of the file come before a row of the stretch."""
        return self.place.blanks + bisect_right(self.blanks, row - self.place.row)


class LineIndex(LineScanner):
    """How many rows there are, and places to look for one of them from, each 24 bytes of memory.

    It begins behind `rows` rows and `blanks` blank lines.
    """

    def __init__(self, begin: int, rows: int = 0, blanks: int = 0) -> None:
        super().__init__(begin)
        self._offsets = array("Q")
        self._rows = array("Q")
        self._blanks = array("Q")
        self._blank_lines = blanks
        self.rows = rows

    def count(self, block: bytes) -> None:
        """Count the bytes at `position`."""
        at = 0
        if self.mid_line:
            at = block.find(NEWLINE) + 1 or len(block)
            self._pass(block, 0, at, 0 if self.mid_row else None)
        while at < len(block):
            stop = block.find(NEWLINE, at + APART - 1) + 1 or len(block)
            if not self._offsets or self.position - self._offsets[-1] >= APART:
                self._offsets.append(self.position)
                self._rows.append(self.rows)
                self._blanks.append(self._blank_lines)
            self._pass(block, at, stop, count_rows(block, at, stop))
            at = stop

    def _pass(self, block: bytes, start: int, stop: int, rows: int | None) -> None:
        """Go past a piece, in which `rows` rows begin, if that is known."""
        if rows is not None:
            self.rows += rows
            self.skip(stop - start, cut=not block.endswith(NEWLINE, start, stop))
            return
        starts, blanks = self.feed(block[start:stop])
        self.rows += len(starts)
        self._blank_lines += len(blanks)

    def find(self, row: int) -> LinePlace:
        """The last place that is not behind a known row."""
        slot = bisect_right(self._rows, row) - 1
        before = self._rows[slot]
        more = slot + 1 < len(self._rows)
        rows, end = (self._rows[slot + 1], self._offsets[slot + 1]) if more else (self.rows, self.position)
        return LinePlace(self._offsets[slot], before, self._blanks[slot], rows - before, end)

    def row_near(self, offset: int) -> int:
        """The row at the last place that is not behind an offset."""
        return self._rows[bisect_right(self._offsets, offset) - 1]

    def places(self, number: int) -> list[tuple[int, int, int]]:
        """The places from that number on: their offsets, and how many rows and blank lines come before them."""
        return list(zip(self._offsets[number:], self._rows[number:], self._blanks[number:]))

    def line(self, row: int) -> int | None:
        """Which line of the file a known row is, from 1; None where only the file itself can tell."""
        place = self.find(row)
        after = bisect_right(self._rows, row)
        blanks = self._blanks[after] if after < len(self._blanks) else self._blank_lines
        return row + 1 + blanks if blanks == place.blanks else None


def look_from(place: LinePlace, pread: Callable[[int, int], bytes], step: int) -> Stretch | None:
    """Find the rows from a place on in reads of `step` bytes, up to the beginning of the last one of them; None where
    these are not the lines that were counted."""
    first = place.row == place.blanks == 0
    scanner = LineScanner(place.offset)
    starts: list[int] = []
    blanks: list[int] = []
    if not first and pread(place.offset - 1, 1) != NEWLINE:
        return None
    while len(starts) < place.rows and scanner.position < place.end:
        block = pread(scanner.position, min(step, place.end - scanner.position))
        if not block:
            return None
        new, empty = scanner.feed(block)
        blanks += [len(starts) + before for before in empty]
        starts += new
    return Stretch(place, starts, blanks) if len(starts) == place.rows else None
