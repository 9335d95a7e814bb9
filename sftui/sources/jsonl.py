"""JSON Lines: a line index built forwards in the background, rows read by offset."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from itertools import accumulate
from operator import itemgetter

from sftui.model import RAW_LIMIT, Row
from sftui.sources.byte_file import ByteFile
from sftui.sources.indexed import IndexedSource
from sftui.sources.records import JSON_SPACE, changed_under_us, oversized, parse_record
from sftui.sources.source import Change

BLOCK = 1 << 18
OBJECT = frozenset(b"{")
INDEX_LIMIT = 4_000_000
"""Offsets kept (32 MB); a file with more rows keeps every 2nd, 4th … and walks from there."""


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
        tail = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
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

    def _continue(self, piece: bytes, starts: list[int], blanks: list[int]) -> None:
        if self._blank_since is not None and piece.strip(JSON_SPACE):
            starts.append(self._blank_since)
            self._blank_since = None
        self.position += len(piece)
        if piece.endswith(b"\n"):
            if self._blank_since is not None:
                blanks.append(len(starts))
            self.mid_line = False
            self._blank_since = None


class JsonlSource(IndexedSource):
    """Rows of one JSON Lines file. `begin` is where the first line begins (after a BOM)."""

    kind = "jsonl"

    def __init__(self, file: ByteFile, *, row_limit: int, begin: int = 0, notes: tuple[str, ...] = ()) -> None:
        super().__init__(file, row_limit=row_limit, notes=notes)
        self._begin = begin
        self._scanner = LineScanner(begin)
        self._starts = array("Q")
        self._stride = 1
        self._seen = 0
        self._blank_rows = array("Q")  # rows before a run of blank lines …
        self._blank_lines = array("Q")  # … and how many blank lines there are up to its end
        self._grown = False
        self._whole_at_end = False

    def change(self) -> Change | None:
        return self._file.changed(self._scanner.position, grows=True)

    def outgrown(self) -> Change | None:
        more = self._done and self._file.complete and self._file.size() > self._scanner.position
        return Change("it has grown", True) if more else None

    def look_through(self) -> Iterator[None]:
        if not self._file.complete or self._file.stopped is not None:  # lines of a plain file cannot be missing unseen
            yield from super().look_through()

    def refresh(self) -> bool:
        with self._indexing, self._lock:
            if self._closed:
                return False
            if not self._done or not self._file.complete or self._file.size() <= self._scanner.position:
                return not self._done
            if self._file.changed(self._scanner.position, grows=True):
                return False
            self._done = False
            self._grown = True
            return True

    def _read(self, index: int) -> Row:
        with self._lock:
            slot, steps = divmod(index, self._stride)
            start = self._starts[slot]
            exact = self._stride == 1 and slot + 1 < len(self._starts)
            end = self._starts[slot + 1] if exact else self._scanner.position
            scanned = self._scanner.position
            run = bisect_right(self._blank_rows, index)
            line = index + 1 + (self._blank_lines[run - 1] if run else 0)
        where = f"{self.title} line {line}"
        change = self._file.changed(scanned, grows=True)
        if change is not None and not change.readable:
            return changed_under_us(index, where, change.why)
        if not exact:
            start, end = self._walk(start, steps, end)
        return self._parse(index, where, start, end)

    def lines(self) -> Iterator[bytes | None]:
        with self._file.open() as file:
            file.seek(self._begin)
            yield from (line for line in file if line.strip(JSON_SPACE))

    def _position(self) -> int:
        return self._scanner.position

    def _known(self) -> int:
        if self._scanner.mid_row and not (self._done and self._ends_well()):
            return self._seen - 1
        return self._seen

    def _ends_well(self) -> bool:
        if self._file.stopped is not None:
            return self._whole_at_end
        # the writer of a growing file may be in the middle of its last line
        if not self._grown:
            return True
        position = self._scanner.position
        return self._file.pread(max(0, position - 64), 64).rstrip(JSON_SPACE).endswith(b"}")

    def _scan(self, timeout: float) -> None:
        if self._done:
            return
        block = self._file.pread(self._scanner.position, BLOCK)
        if not block:
            if not self._file.complete:
                self._file.fill(timeout)
            else:
                self._whole_at_end = self._file.stopped is not None and self._scanner.mid_row and self._last_is_whole()
                self._done = True
            return
        with self._lock:
            starts, blanks = self._scanner.feed(block)
            for before in blanks:
                self._add_blank(self._seen + before)
            self._starts.extend(starts[-self._seen % self._stride :: self._stride])
            self._seen += len(starts)
            if len(self._starts) > INDEX_LIMIT:
                del self._starts[1::2]
                self._stride *= 2

    def _last_is_whole(self) -> bool:
        """Whether the last line of damaged data is a row all the same; half of one is the damage's, and no row."""
        slot, steps = divmod(self._seen - 1, self._stride)
        start, end = self._walk(self._starts[slot], steps, self._scanner.position)
        size = end - start
        return size <= self._row_limit and parse_record(self._file.pread(start, size), 0, "", offset=0).data is not None

    def _add_blank(self, row: int) -> None:
        if self._blank_rows and self._blank_rows[-1] == row:
            self._blank_lines[-1] += 1
        else:
            self._blank_lines.append((self._blank_lines[-1] if self._blank_lines else 0) + 1)
            self._blank_rows.append(row)

    def _walk(self, start: int, steps: int, limit: int) -> tuple[int, int]:
        """The range of the row that begins `steps` rows after the one at `start`."""
        scanner = LineScanner(start)
        starts: list[int] = []
        while len(starts) < steps + 2 and scanner.position < limit:
            block = self._file.pread(scanner.position, min(BLOCK // 4, limit - scanner.position))
            if not block:
                break
            starts += scanner.feed(block)[0]
        end = starts[steps + 1] if len(starts) > steps + 1 else scanner.position
        return (starts[steps] if len(starts) > steps else end), end

    def _parse(self, index: int, where: str, start: int, end: int) -> Row:
        size = end - start
        lead = 1 if start > self._begin else 0
        data = self._file.pread(start - lead, lead + min(size, self._row_limit + 1))
        broken = lead and not data.startswith(b"\n")
        data, newline, _ = data[lead:].partition(b"\n")
        if not newline and len(data) > self._row_limit:
            return oversized(data[: 4 * RAW_LIMIT], size, self._row_limit, index, where)
        if broken or (not newline and len(data) < size):
            return changed_under_us(index, where, "its lines no longer lie where they did")
        row = parse_record(data.rstrip(b"\r"), index, where, offset=start)
        if row.problem is not None and not newline and row.data is None:
            return replace(
                row, problem=f"{row.problem}; it is the last line and has no line end, as where a file was cut off"
            )
        return row
