"""Where the rows of JSON Lines are: counted once, with a place every few kilobytes to look for one from."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
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
LONG = 2048
"""Bytes of a row from which on finding one line end after the other is the fastest way."""
SHORT = 600
SCANNED = 128 << 20
PAYS = 1 << 30
"""numpy counts rows of fewer bytes than SHORT a third sooner, and takes as long to import as that saves on PAYS bytes:
it comes after SCANNED bytes, which take longer to read than the worker indexes before the first tokens are requested,
where PAYS follow."""


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


def count_long_rows(block: bytes, start: int, stop: int) -> int | None:
    """The same as fast as the C library finds line ends, where they are far apart."""
    rows = 0
    while start < stop:
        if block[start] <= SPACE:
            return None
        rows += 1
        start = block.find(NEWLINE, start, stop) + 1 or stop
    return rows


class RowCounter:
    """`count_rows` in numpy, whose time does not depend on how many rows there are: 0.15 s of CPU a gigabyte."""

    def __init__(self) -> None:
        import numpy

        self._numpy = numpy
        self._space = numpy.empty(0, numpy.uint8)

    def __call__(self, block: bytes, pieces: Sequence[tuple[int, int]]) -> list[int | None]:
        """`count_rows` of pieces of a block."""
        numpy, size = self._numpy, len(block)
        if size > len(self._space):
            self._space = numpy.empty(size, numpy.uint8)
        there, scratch = numpy.frombuffer(block, numpy.uint8), self._space[:size]
        # 10 - b, wrapped, is 0 for a newline, and over 32 for all but control bytes and those that begin a character of
        # three or four bytes. The larger one of it and the byte behind is over 32, then, where no blank line begins.
        numpy.subtract(numpy.uint8(10), there, out=scratch)
        counts: list[int | None] = [
            stop - start - int(numpy.count_nonzero(scratch[start:stop])) + (block[stop - 1] != NEWLINE[0])
            for start, stop in pieces
        ]
        pairs = scratch[:-1]
        numpy.maximum(pairs, there[1:], out=pairs)
        for number, (start, stop) in enumerate(pieces):
            if block[start] <= SPACE or pairs[start : stop - 1].min(initial=255) <= SPACE:
                counts[number] = None
        return counts


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


class LineIndex:
    """How many rows there are, and places to look for one of them from, each 24 bytes of memory.

    It begins behind `rows` rows and `blanks` blank lines.
    """

    def __init__(self, begin: int, rows: int = 0, blanks: int = 0) -> None:
        self._begin = begin
        self._scanner = LineScanner(begin)
        self._offsets = array("Q")
        self._rows = array("Q")
        self._blanks = array("Q")
        self._counter: RowCounter | None = None
        self._long = False
        self._blank_lines = blanks
        self._before = self.rows = rows

    @property
    def position(self) -> int:
        """The bytes up to here are counted."""
        return self._scanner.position

    @property
    def mid_row(self) -> bool:
        """Whether the last row has no line end yet."""
        return self._scanner.mid_row

    def feed(self, block: bytes, follow: int) -> None:
        """Count the bytes at `position`; about `follow` bytes of the file are behind them."""
        scanner, before = self._scanner, self.rows
        at = 0
        if scanner.mid_line:
            at = block.find(NEWLINE) + 1 or len(block)
            self._pass(block, 0, at, 0 if scanner.mid_row else None)
        pieces = []
        while at < len(block):
            stop = block.find(NEWLINE, at + APART - 1) + 1 or len(block)
            pieces.append((at, stop))
            at = stop
        for (start, stop), rows in zip(pieces, self._counts(block, pieces, follow)):
            if not self._offsets or self.position - self._offsets[-1] >= APART:
                self._offsets.append(self.position)
                self._rows.append(self.rows)
                self._blanks.append(self._blank_lines)
            self._pass(block, start, stop, rows)
        self._long = (self.rows - before) * LONG < len(block)

    def _counts(self, block: bytes, pieces: Sequence[tuple[int, int]], follow: int) -> Iterable[int | None]:
        """How many rows begin in each piece, as far as that is known without looking at each line."""
        counted = self.position - self._begin
        short = (self.rows - self._before) * SHORT >= counted
        if short and self._counter is None and follow > PAYS and counted > SCANNED:
            self._counter = RowCounter()
        if short and self._counter is not None:
            return self._counter(block, pieces)
        count = count_long_rows if self._long else count_rows
        return (count(block, start, stop) for start, stop in pieces)

    def _pass(self, block: bytes, start: int, stop: int, rows: int | None) -> None:
        """Go past a piece, in which `rows` rows begin, if that is known."""
        if rows is not None:
            self.rows += rows
            self._scanner.skip(stop - start, cut=not block.endswith(NEWLINE, start, stop))
            return
        starts, blanks = self._scanner.feed(block[start:stop])
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

    def place(self, number: int) -> tuple[int, int, int] | None:
        """Where the place of that number is: its offset, and how many rows and blank lines come before it."""
        if number >= len(self._offsets):
            return None
        return self._offsets[number], self._rows[number], self._blanks[number]

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
