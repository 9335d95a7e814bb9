"""What JSON Lines and JSON arrays share: an index that grows in the background or on demand."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence

from sftui.model import Row
from sftui.sources.byte_file import ByteFile
from sftui.sources.source import EVERY, STEP_SECONDS, Damage, DataChange, DataFile, RowCount, Source

KEYS = 1 << 19
SMALL = 1 << 18
"""Bytes of which every row is looked at sooner than numpy, which finds keys, is imported."""
WAIT = 0.25
"""How long a reader of a pipe waits for bytes before it lets others (and `close`) have a turn."""


class IndexedSource(Source):
    """Rows of one file of text, found by scanning it forwards once.

    Two locks, so that a reader never waits for a whole scanning step: `_indexing` is held while
    a block is read and scanned, `_lock` for moments, where the index is changed or looked up.
    """

    loose = True
    _column: str | None = None
    """The column of which each element is the value, where elements are no objects."""

    def __init__(self, file: ByteFile, *, row_limit: int, notes: Sequence[str] = ()) -> None:
        self.title = file.label
        self._file = file
        self._row_limit = row_limit
        self._notes = notes
        self._indexing = threading.Lock()
        self._lock = threading.Lock()
        self._done = False
        self._closed = False

    @property
    def damage(self) -> tuple[Damage, ...]:
        stopped = self._file.stopped
        return (Damage(self.title, self._known(), *stopped),) if stopped is not None and self._done else ()

    def files(self) -> Iterator[DataFile]:
        return iter(()) if self._column == "messages" else self._file.as_data("json")

    def change(self) -> DataChange | None:
        return self._file.changed(self._position())

    def count(self) -> RowCount:
        with self._lock:
            return RowCount(self._known(), self._done, 1.0 if self._done else self._file.progress(self._position()))

    def index_more(self, seconds: float) -> bool:
        if self._closed:
            return True
        if self._done:
            self.refresh()  # a file that grows is read on
        until = time.monotonic() + seconds
        while not self._done:
            with self._indexing:
                if not self._done:
                    self._scan(timeout=max(0.0, until - time.monotonic()))
            if time.monotonic() >= until:
                break
        return self._done

    def row(self, index: int) -> Row:
        if index < 0 or not self._reach(index):
            raise IndexError(index)
        return self._read(index)

    def near(self, index: int) -> bool:
        return self._reach(index, within=self._row_limit)

    def unlike(self, start: int, every: int = EVERY) -> Iterator[Row | None]:
        every, before, rows, columns = max(every, SMALL), start, self.rows(start), set[str]()
        while every > 0:
            while not self.near(before):
                if before >= self._known() and self._done:
                    return
                yield None
            row = next(rows)
            before, every = row.index + 1, every - row.size
            columns.update(row.data or ())
            yield row
        while not self.index_more(STEP_SECONDS):
            yield None
        from sftui.sources.keys import WATCHED, KeyScanner

        scanner, position = KeyScanner(), self._begins(before) if before < self._known() else None
        while position is not None and (block := self._file.pread(position, KEYS)):
            scanner.watch(WATCHED - columns)
            for offset in scanner.feed(block):
                number = self._number(position + offset)
                if before <= number < self._known():
                    before, row = number + 1, self.row(number)
                    columns.update(row.data or ())
                    yield row
            position += len(block)
            yield None

    def close(self) -> None:
        with self._indexing:
            self._done = self._closed = True
            self._file.close()

    def _reach(self, index: int, within: int | None = None) -> bool:
        """Scan until the row is known; False where there is none, or none within so many bytes from here."""
        until = None if within is None else self._position() + within
        while True:
            with self._lock:
                if index < self._known():
                    return True
                if self._done or (until is not None and self._position() > until):
                    return False
            with self._indexing:
                if not self._done:
                    self._scan(timeout=WAIT)

    @abstractmethod
    def _known(self) -> int:
        """How many rows can be read now; called with or without the lock."""

    @abstractmethod
    def _position(self) -> int:
        """How many bytes have been scanned."""

    @abstractmethod
    def _scan(self, timeout: float) -> None:
        """Scan one block, or set `_done`, which is not set yet; called with `_indexing` held."""

    @abstractmethod
    def _read(self, index: int) -> Row:
        """The row, which is known."""

    @abstractmethod
    def _begins(self, index: int) -> int | None:
        """Where a known row begins; None where it is not there any more."""

    @abstractmethod
    def _number(self, offset: int) -> int:
        """The known row that a byte is of."""
