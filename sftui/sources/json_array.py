"""A JSON array, or JSON objects one after another over several lines: never loaded whole.

A small scanner over bytes finds where each element begins and ends (it knows strings, escapes
and brackets, nothing else); the element itself is parsed when its row is requested.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from sftui.model import RAW_LIMIT, Row
from sftui.sources.byte_file import ByteFile
from sftui.sources.indexed import IndexedSource
from sftui.sources.records import JSON_SPACE, changed_under_us, in_column, one_line, oversized, parse_record
from sftui.sources.source import COPY_AGAIN, Damage, DataFile, Loading

BLOCK = 1 << 18
TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\]]', re.DOTALL)
GAP_LIMIT = 1 << 16


_DECODER = json.JSONDecoder(strict=False)
_SPACE, _COMMA = re.compile(rb"[ \t\r\n]*(?=\{)"), re.compile(rb"[ \t\r\n]*,[ \t\r\n]*(?=\{)")


class ElementScanner:
    """Finds the byte ranges of the elements, block by block, in memory of one block.

    `missing` says what the end of the file leaves open. `position` is after the opening bracket of an array, or at the
    start of values one behind the other. `damage` says what is wrong between the elements; the elements around it are
    found all the same. A `nested` list is part of an object, so that text after it is no damage.
    """

    def __init__(self, position: int, *, in_array: bool, nested: bool = False) -> None:
        self._nested = nested
        self.position = position
        self._in_array = in_array
        self.ended = False
        self.damage: list[str] = []
        self.missing = ""
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._element = position
        self._gap_at = position
        self._gap = b""
        self._first = True

    def feed(self, block: bytes) -> list[tuple[int, int]]:
        """The half-open ranges of the elements that end in this block."""
        spans: list[tuple[int, int]] = []
        if self.ended:
            self._after_end(block)
            return spans
        base = self.position
        at = self._finish_string(block, base, spans) if self._in_string else 0
        text = block.decode("latin-1")  # one character a byte: boundaries are the same, contents do not matter
        while at < len(block) and not self.ended:
            if self._depth == 0 and not self._in_string and not self._gap:
                at = self._whole_objects(block, text, base, at, spans)
            at = self._one_element(block, base, at, spans)
        self.position = base + len(block)
        if self._depth == 0 and not self._in_string and not self.ended:
            self._keep_gap(block, base)
        return spans

    def _whole_objects(self, block: bytes, text: str, base: int, at: int, spans: list[tuple[int, int]]) -> int:
        """Take objects that lie whole in the block as long as all is well, twice as fast by `json`."""
        while match := (_COMMA if self._in_array and not self._first else _SPACE).match(block, at):
            start = match.end()
            try:
                _, at = _DECODER.raw_decode(text, start)
            except (ValueError, RecursionError):
                break
            self._element = base + start
            self._emit(base + at, spans)
        return at

    def _one_element(self, block: bytes, base: int, at: int, spans: list[tuple[int, int]]) -> int:
        """Go on by strings and brackets until an element ends; returns where, or the block's end."""
        for match in TOKEN.finditer(block, at):
            start, end = match.span()
            byte = block[start]
            if byte == 0x22:
                if self._depth == 0:
                    self._close_gap(block, base, start, spans)
                    self._element = base + start
                if not match[1]:
                    self._in_string = True
                    self._escaped = end < len(block)
                    return len(block)
                if self._depth == 0:
                    self._emit(base + end, spans)
                    return end
            elif byte in b"{[":
                if self._depth == 0:
                    self._close_gap(block, base, start, spans)
                    self._element = base + start
                self._depth += 1
            elif self._depth > 0:
                self._depth -= 1
                if self._depth == 0:
                    self._emit(base + end, spans)
                    return end
            elif byte == 0x5D and self._in_array:
                self._close_gap(block, base, start, spans, closing=True)
                self.ended = True
                self._after_end(block[end:])
                return len(block)
        return len(block)

    def finish(self) -> list[tuple[int, int]]:
        """The element that the end of the file leaves open; `missing` is then what the end should have been."""
        spans: list[tuple[int, int]] = []
        if self.ended:
            return spans
        if self._depth > 0 or self._in_string:
            self.missing = f"it ends inside a record, which begins at byte {self._element:,}"
            self._emit(self.position, spans)
        else:
            self._close_gap(b"", self.position, 0, spans, closing=True)
            if self._in_array:
                self.missing = "it ends before the closing ] of its list"
        self.ended = True
        return spans

    def _finish_string(self, block: bytes, base: int, spans: list[tuple[int, int]]) -> int:
        begin = 1 if self._escaped else 0
        plain = block[begin:].replace(rb"\\", b"..").replace(rb"\"", b"..")  # of the same length
        quote = plain.find(b'"')
        self._in_string = quote < 0
        self._escaped = self._in_string and plain.endswith(b"\\")
        if self._in_string:
            return len(block)
        end = begin + quote + 1
        if self._depth == 0:
            self._emit(base + end, spans)
        return end

    def _emit(self, end: int, spans: list[tuple[int, int]]) -> None:
        spans.append((self._element, end))
        self._gap_at = end
        self._gap = b""
        self._first = False

    def _keep_gap(self, block: bytes, base: int) -> None:
        self._gap += block[max(0, self._gap_at + len(self._gap) - base) :]
        if len(self._gap) > GAP_LIMIT:
            if self._gap.strip(JSON_SPACE + b","):
                self._damaged(self._gap_at, "more than 64 KiB that are not a record")
            self._gap_at += len(self._gap) - 1
            self._gap = self._gap[-1:]

    def _close_gap(
        self, block: bytes, base: int, stop: int, spans: list[tuple[int, int]], closing: bool = False
    ) -> None:
        """Check what stands between two elements; numbers, true, false and null are elements too."""
        have = self._gap_at + len(self._gap)
        gap = self._gap + block[max(0, have - base) : stop]
        self._gap = b""
        if gap == b"," and not closing and not self._first:
            return
        at = self._gap_at
        pieces = gap.split(b",") if self._in_array else [gap]
        last = len(pieces) - 1
        for number, piece in enumerate(pieces):
            bare = piece.strip(JSON_SPACE)
            after_element = number == 0 and not self._first
            before_element = number == last and not closing
            if bare:
                if after_element or before_element:
                    self._damaged(at, "text that is not JSON")
                begin = at + piece.index(bare)
                spans.append((begin, begin + len(bare)))
            elif self._in_array:
                only = closing and number == 0 == last
                if not (after_element or before_element or only):
                    self._damaged(at, "an extra comma")
            at += len(piece) + 1
        if self._in_array and last == 0 and not self._first and not closing:
            self._damaged(self._gap_at, "a missing comma between two records")
        if gap.strip(JSON_SPACE):
            self._first = False

    def _after_end(self, rest: bytes) -> None:
        if (
            not self._nested
            and rest.strip(JSON_SPACE)
            and not (self.damage and self.damage[-1].startswith("there is text"))
        ):
            self.damage.append("there is text after the closing ] of the list")
        self.position += len(rest)

    def _damaged(self, at: int, what: str) -> None:
        if len(self.damage) < 5:
            self.damage.append(f"{what} at byte {at:,}")


class JsonArraySource(IndexedSource):
    """Rows of one JSON file that is not JSON Lines; `begin` as `ElementScanner.position`.

    With `column` the elements are not objects but values of that one column; with `field` they are the list of that
    key; `layout` is that of each row.
    """

    loading = Loading("json", "json", "list")

    def __init__(
        self,
        file: ByteFile,
        in_array: bool,
        begin: int,
        *,
        row_limit: int,
        notes: Sequence[str] = (),
        column: str | None = None,
        field: str | None = None,
        layout: str = "",
    ) -> None:
        super().__init__(file, row_limit=row_limit, notes=notes)
        self._column, self._layout = column, layout
        self._nested = field is not None
        if self._nested or column is not None or not in_array:
            self.loading = Loading("json", "json", arguments={"field": field} if field is not None else {})
        self._scanner = ElementScanner(begin, in_array=in_array, nested=self._nested)
        self._starts = array("Q")
        self._ends = array("Q")

    def files(self) -> Iterator[DataFile]:
        return iter(()) if self._nested else super().files()

    @property
    def notes(self) -> tuple[str, ...]:
        damage = tuple(self._scanner.damage)  # between the rows, which are read all the same
        fails = "datasets.load_dataset rejects such a file"
        return (*super().notes, *(f"{self.title}: {what}; {fails}" for what in damage))

    @property
    def damage(self) -> tuple[Damage, ...]:
        cut = super().damage
        if not cut and self._done and self._scanner.missing:
            missing, fix = self._scanner.missing, f"{COPY_AGAIN}, or close the open brackets there"
            return (Damage(self.title, self._known() - ("record" in missing), missing, fix),)
        return cut

    def lines(self) -> Iterator[bytes | None]:
        number = 0
        while number < len(self._ends):
            start, end = self._starts[number], self._ends[number]
            yield in_column(one_line(self._file.pread(start, end - start)), self._column)
            number += 1

    def _known(self) -> int:
        return len(self._ends)

    def _position(self) -> int:
        return self._scanner.position

    def _scan(self, timeout: float) -> None:
        block = self._file.pread(self._scanner.position, BLOCK)
        if not block and not self._file.complete:
            self._file.fill(timeout)
            return
        spans = self._scanner.feed(block) if block else self._scanner.finish()
        if self._scanner.missing and self._file.stopped is not None:
            spans = []  # half a record of damaged data is no row
        with self._lock:
            self._starts.extend(start for start, _ in spans)
            self._ends.extend(end for _, end in spans)
            self._done = not block

    def _read(self, index: int) -> Row:
        with self._lock:
            start, end = self._starts[index], self._ends[index]
            scanned = self._scanner.position
        where = f"{self.title} record {index}"
        change = self._file.changed(scanned)
        if change is not None and not change.readable:
            return changed_under_us(index, where, change.why)
        size = end - start
        if size > self._row_limit:
            return oversized(self._file.pread(start, 4 * RAW_LIMIT), size, self._row_limit, index, where)
        data = self._file.pread(start, size)
        if len(data) < size:
            return changed_under_us(index, where, "its records have moved")
        return parse_record(data, index, where, offset=start, column=self._column, layout=self._layout)

    def _begins(self, index: int) -> int:
        return self._starts[index]

    def _number(self, offset: int) -> int:
        return max(bisect_right(self._starts, offset) - 1, 0)
