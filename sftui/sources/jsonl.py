"""JSON Lines: rows counted forwards in the background, read by offset."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sftui.model import RAW_LIMIT, Row
from sftui.sources.byte_file import ByteFile
from sftui.sources.indexed import IndexedSource
from sftui.sources.line_index import APART, LineIndex, Stretch, look_from
from sftui.sources.records import JSON_SPACE, LISTED, changed_under_us, in_column, oversized, parse_record
from sftui.sources.source import LINES, STEP_SECONDS, DataChange, Loading, SourcePiece

BLOCK = 1 << 19
MOVED = "its lines have moved"


class JsonlSource(IndexedSource):
    """Rows of one JSON Lines file. `begin` is where the first line begins (after a BOM), or that of the row with the
    number `before`, which has `blanks` blank lines above it. `layout` is that of each row."""

    loading = LINES

    def __init__(
        self,
        file: ByteFile,
        *,
        row_limit: int,
        begin: int = 0,
        before: int = 0,
        blanks: int = 0,
        notes: Sequence[str] = (),
        layout: str = "",
    ) -> None:
        super().__init__(file, row_limit=row_limit, notes=notes)
        self._column, self._layout = "messages" if layout == LISTED else None, layout
        if self._column is not None:
            self.loading = Loading("jsonl", "json")
        self._begin = begin
        self._index = LineIndex(begin, before, blanks)
        self._looked_at: tuple[Stretch, ...] = ()
        self._grown = False
        self._whole_at_end = False

    def change(self) -> DataChange | None:
        return self._file.changed(self._index.position, grows=True)

    def outgrown(self) -> DataChange | None:
        more = self._done and self._file.complete and self._file.size() > self._index.position
        return DataChange("it has grown", True) if more else None

    def look_through(self) -> Iterator[None]:
        if not self._file.complete or self._file.stopped is not None:  # lines of a plain file cannot be missing unseen
            yield from super().look_through()

    def refresh(self) -> bool:
        with self._indexing, self._lock:
            if self._closed:
                return False
            if not self._done or not self._file.complete or self._file.size() <= self._index.position:
                return not self._done
            if self._file.changed(self._index.position, grows=True):
                return False
            self._done = False
            self._grown = True
            return True

    def _near_by(self, index: int) -> Iterator[Row]:
        """Those of the same stretch, read at once, so that the file is run once for about `APART` bytes whether it is
        still the one that was indexed. None where they are long, or it is another one: then `row` reads, and tells."""
        stretch = next((one for one in self._looked_at if 0 < index - one.place.row < len(one.starts)), None)
        if stretch is None:
            return
        with self._lock:
            known = self._known()
        starts, first = stretch.starts, index - stretch.place.row
        last = min(len(starts) - 1, known - stretch.place.row)
        if first >= last or starts[last] - starts[first] > 2 * APART:
            return
        if self._file.changed(self._index.position, grows=True) is not None:
            return
        begin = starts[first] - 1
        data = self._file.pread(begin, starts[last] - begin)
        for nth in range(first, last):
            row, start, end = stretch.place.row + nth, starts[nth], starts[nth + 1]
            stop = min(end, start + self._row_limit + 1)
            yield self._parse(row, self._where(row, stretch), start, end, data[start - 1 - begin : stop - begin])

    def _read(self, index: int) -> Row:
        change = self._file.changed(self._index.position, grows=True)
        if change is not None and not change.readable:
            return self._changed(index, change.why)
        found = self._find(index)
        if found is None:
            return self._changed(index, MOVED)
        stretch, start, end = found
        lead = 1 if start > self._begin else 0
        data = self._file.pread(start - lead, lead + min(end - start, self._row_limit + 1))
        return self._parse(index, self._where(index, stretch), start, end, data)

    def _where(self, index: int, stretch: Stretch) -> str:
        return f"{self.title} line {index + 1 + stretch.blank_lines(index)}"

    def _changed(self, index: int, why: str) -> Row:
        with self._lock:
            line = self._index.line(index)
        place = f"row {index}" if line is None else f"line {line}"
        return changed_under_us(index, f"{self.title} {place}", why)

    def lines(self) -> Iterator[bytes | None]:
        with self._file.open() as file:
            file.seek(self._begin)
            yield from (in_column(line, self._column) for line in file if line.strip(JSON_SPACE))

    def pieces(self, size: int) -> Iterator[SourcePiece | tuple[Row, ...]]:
        if not self._file.apart:
            yield from super().pieces(size)
            return
        path, rest = self._file.place, (self._row_limit, self._layout)
        begin, row, blanks = self._begin, 0, 0
        for end, stop, above, last in self._places():
            if stop > row and (last or end - begin >= size):
                yield SourcePiece(path, self.title, self.kind, row, stop - row, row, begin, end, blanks, *rest)
                begin, row, blanks = end, stop, above

    def _places(self) -> Iterator[tuple[int, int, int, bool]]:
        """The places of the index as they become known, at last the end: an offset, how many rows and blank lines come
        before it, and whether it is the end."""
        number, done = 0, False
        while not done:
            done = self.index_more(STEP_SECONDS)
            with self._lock:
                places = self._index.places(number)
            number += len(places)
            yield from ((*place, False) for place in places)
        yield self._index.position, self.count().rows, 0, True

    def _position(self) -> int:
        return self._index.position

    def _known(self) -> int:
        if self._index.mid_row and not (self._done and self._ends_well()):
            return self._index.rows - 1
        return self._index.rows

    def _ends_well(self) -> bool:
        if self._file.stopped is not None:
            return self._whole_at_end
        # the writer of a growing file may be in the middle of its last line
        if not self._grown:
            return True
        position = self._index.position
        return self._file.pread(max(0, position - 64), 64).rstrip(JSON_SPACE).endswith(b"}")

    def _scan(self, timeout: float) -> None:
        block = self._file.pread(self._index.position, BLOCK)
        if not block:
            if not self._file.complete:
                self._file.fill(timeout)
            else:
                self._whole_at_end = self._file.stopped is not None and self._index.mid_row and self._last_is_whole()
                self._done = True
            return
        with self._lock:
            self._index.count(block)

    def _last_is_whole(self) -> bool:
        """Whether the last line of damaged data is a row all the same; half of one is the damage's, and no row."""
        found = self._find(self._index.rows - 1)
        if found is None or (size := found[2] - found[1]) > self._row_limit:
            return False
        return parse_record(self._file.pread(found[1], size), 0, "", offset=0).data is not None

    def _find(self, index: int) -> tuple[Stretch, int, int] | None:
        """Where a known row begins and the next one does, or what is counted ends; None where the lines have moved."""
        stretch = self._stretch(index)
        if stretch is None:
            return None
        starts, nth = stretch.starts, index - stretch.place.row
        if nth + 1 < len(starts):
            return stretch, starts[nth], starts[nth + 1]
        with self._lock:
            last, end = index + 1 == self._index.rows, self._index.position
        if last:
            return stretch, starts[nth], end
        after = self._stretch(index + 1)
        return None if after is None else (stretch, starts[nth], after.starts[index + 1 - after.place.row])

    def _begins(self, index: int) -> int | None:
        found = self._find(index)
        return None if found is None else found[1]

    def _number(self, offset: int) -> int:
        with self._lock:
            row = self._index.row_near(offset)
        stretch = self._stretch(row)
        return row if stretch is None else stretch.place.row + bisect_right(stretch.starts, offset) - 1

    def _stretch(self, index: int) -> Stretch | None:
        """The rows around a known one."""
        for stretch in self._looked_at:
            if 0 <= index - stretch.place.row < len(stretch.starts):
                return stretch
        with self._lock:
            place = self._index.find(index)
        found = look_from(place, self._file.pread, BLOCK)
        if found is not None:
            self._looked_at = (found, *self._looked_at[:1])
        return found

    def _parse(self, index: int, where: str, start: int, end: int, data: bytes) -> Row:
        """The row between two places, of its bytes and the one before them, if there is one."""
        size = end - start
        lead = 1 if start > self._begin else 0
        broken = lead and not data.startswith(b"\n")
        until = data.find(b"\n", lead)
        newline = until >= 0
        data = data[lead:until] if newline else data[lead:]
        if not newline and len(data) > self._row_limit:
            return oversized(data[: 4 * RAW_LIMIT], size, self._row_limit, index, where)
        if broken or (not newline and len(data) < size):
            return changed_under_us(index, where, MOVED)
        line = data.rstrip(b"\r")
        row = parse_record(line, index, where, offset=start, column=self._column, layout=self._layout)
        if row.problem is not None and not newline and row.data is None:
            return replace(
                row, problem=f"{row.problem}; it is the last line and has no line ending, so the file may be truncated"
            )
        return row
