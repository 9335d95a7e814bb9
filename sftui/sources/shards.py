"""Several files as one source, one after another."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.byte_file import stat_changed
from sftui.sources.files import is_url
from sftui.sources.records import changed_under_us
from sftui.sources.source import COPY_AGAIN, EVERY, Damage, DataChange, DataFile, NoRows, RowCount, Source, SourcePiece

FILES_OF_ONE = 4
"""Files that one shard has open at most: itself, twice where it is CSV, what it is unpacked to, and its columns."""
OTHER_FILES = 256
FEWEST = 4


class Shard(Source):
    """One shard, whose file is closed while others are read; only a shard whose rows are all known rests.

    What is looked up without a row is remembered; a row opens it again. Rows of a file that changed meanwhile are
    refused.
    """

    def __init__(self, opener: Callable[[], Source], path: str | None) -> None:
        self._opener = opener
        self._path = path
        self._source: Source | None = None
        self._seen: os.stat_result | None = None
        self._known: tuple[tuple[str, ...], tuple[Damage, ...], RowCount, tuple[str, ...]] | None = None
        self._waking = threading.Lock()
        self.pins = 0

    def wake(self) -> Source:
        """The open source; SourceError where it cannot be opened (again)."""
        with self._waking:
            if self._source is None:
                self._source = self._opener()
                self.title, self.loading, self.loose = self._source.title, self._source.loading, self._source.loose
                if self._path is not None and self._seen is None and not is_url(self._path):
                    self._seen = os.stat(self._path)
            return self._source

    def anew(self) -> Source:
        """The source opened once more, for whoever closes it."""
        return self._opener()

    @property
    def rests(self) -> bool:
        """Whether it was closed once, and everything but its rows is known."""
        return self._known is not None

    def rest(self) -> None:
        """Close the file and remember what is known of it."""
        source = self._source
        if source is not None and self._path is not None:
            # what was woken since knows its rows only as far as it was read again
            self._known = self._known or (source.notes, source.damage, source.count(), source.columns())
            self._source = None
            source.close()

    @property
    def notes(self) -> tuple[str, ...]:
        return self._source.notes if self._source is not None else self._known[0] if self._known else ()

    @property
    def damage(self) -> tuple[Damage, ...]:
        return self._source.damage if self._source is not None else self._known[1] if self._known else ()

    def count(self) -> RowCount:
        # one that was woken knows its rows anew only as far as it was read again
        return self._known[2] if self._known is not None else self.wake().count()

    def columns(self) -> tuple[str, ...]:
        return self._known[3] if self._known is not None else self.wake().columns()

    def index_more(self, seconds: float) -> bool:
        return True if self._known is not None else self.wake().index_more(seconds)

    def look_through(self) -> Iterator[None]:
        yield from self.wake().look_through()

    def change(self) -> DataChange | None:
        if self._known is not None and self._seen is not None and self._path is not None:
            return stat_changed(self._path, self._seen, readable=False)
        return self.wake().change()

    def outgrown(self) -> DataChange | None:
        return None if self._known is not None else self.wake().outgrown()

    def refresh(self) -> bool:
        return self._known is None and self.wake().refresh()

    def near(self, index: int) -> bool:
        return True if self._known is not None else self.wake().near(index)

    def row(self, index: int) -> Row:
        if self._known is not None and (index >= self._known[2].rows or index < 0):
            raise IndexError(index)
        if self._known is None:
            return self.wake().row(index)
        where = f"{self.title} row {index}"
        if (change := self.change()) is not None:
            return changed_under_us(index, where, change.why)
        try:
            return self.wake().row(index)
        except SourceError as error:
            return changed_under_us(index, where, f"it {error.what}")

    def rows(self, start: int = 0) -> Iterator[Row]:
        return super().rows(start) if self._known is not None else self.wake().rows(start)

    def unlike(self, start: int, every: int = EVERY) -> Iterator[Row | None]:
        return self.wake().unlike(start, every)

    def pieces(self, size: int) -> Iterator[SourcePiece | tuple[Row, ...]]:
        return self.wake().pieces(size)

    def lines(self) -> Iterator[bytes | None]:
        return self.wake().lines()

    def close(self) -> None:
        if self._source is not None:
            self._source.close()


class ShardedSource(Source):
    """Rows of several files of one format; row numbers run on from file to file.

    Files are opened when they are first needed, so that a thousand shards open as fast as one. A
    later file that cannot be opened is left out: named in `damage`, or in `notes` where it is whole
    and holds no rows. Raises SourceError where the first one cannot be opened.
    """

    def __init__(
        self,
        openers: Sequence[Callable[[], Source]],
        title: str,
        *,
        notes: tuple[str, ...] = (),
        paths: Sequence[str] = (),
    ) -> None:
        self.title = title
        self._most = _allow_open_files(len(openers))
        self._awake: OrderedDict[Shard, None] = OrderedDict()
        self._openers = [Shard(opener, path) for opener, path in zip_longest(openers, paths)]
        self._shards: list[Shard] = [self._openers.pop(0)]
        self._ends: list[int] = []  # of every shard but the last opened one
        self._notes = list(notes)
        self._lost: list[Damage] = []
        self._lock = threading.RLock()
        with self._lent(self._shards[0]):
            pass
        self.loading, self.loose = self._shards[0].loading, self._shards[0].loose

    @property
    def notes(self) -> tuple[str, ...]:
        own = dict.fromkeys((*self._notes, *(note for shard in list(self._shards) for note in shard.notes)))
        return tuple(own)

    @property
    def damage(self) -> tuple[Damage, ...]:
        return (*(one for shard in list(self._shards) for one in shard.damage), *self._lost)

    def files(self) -> Iterator[DataFile]:
        for shard in [*self._shards, *self._openers]:
            with contextlib.suppress(SourceError), contextlib.closing(shard.anew()) as source:
                yield from source.files()

    def count(self) -> RowCount:
        with self._lock:
            base = self._ends[-1] if self._ends else 0
            last = self._shards[-1].count()
            fraction = (len(self._shards) - 1 + last.fraction) / (len(self._shards) + len(self._openers))
            return RowCount(base + last.rows, last.exact and not self._openers, fraction)

    def columns(self) -> tuple[str, ...]:
        return self._shards[0].columns()

    def index_more(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while True:
            if self._shards[-1].index_more(max(0.0, until - time.monotonic())) and not self._open_next():
                return True
            if time.monotonic() >= until:
                return False

    def look_through(self) -> Iterator[None]:
        yield from super().look_through()
        for shard in list(self._shards):
            with self._lent(shard):
                yield from shard.look_through()

    def change(self) -> DataChange | None:
        shards = list(self._shards)
        found = [
            DataChange(f"of {shard.title}: {change.why}", change.readable)
            for shard in shards
            if (change := shard.change() or (None if shard is shards[-1] else shard.outgrown())) is not None
        ]
        return min(found, key=lambda one: one.readable, default=None)

    def refresh(self) -> bool:
        # only the last file can grow without moving the numbers of the rows after it
        return not self._openers and self._shards[-1].refresh()

    def row(self, index: int) -> Row:
        if index < 0:
            raise IndexError(index)
        while True:
            with self._lock:
                number = bisect_right(self._ends, index)
                shard = self._shards[number]
                base = self._ends[number - 1] if number else 0
            try:
                with self._lent(shard):
                    return replace(shard.row(index - base), index=index)
            except IndexError:
                if not self._open_next(after=number):
                    raise IndexError(index) from None

    def rows(self, start: int = 0) -> Iterator[Row]:
        index = start
        while True:
            with self._lock:
                number = bisect_right(self._ends, index)
                shard, base = self._shards[number], self._ends[number - 1] if number else 0
            with self._lent(shard):
                for row in shard.rows(index - base):
                    if number < len(self._ends) and index >= self._ends[number]:
                        break  # a file before the last one has grown: its rows keep their numbers
                    yield replace(row, index=index)
                    index += 1
            if not self._open_next(after=number):
                return

    def unlike(self, start: int, every: int = EVERY) -> Iterator[Row | None]:
        """Of a later file whose format declares columns its first row."""
        number = base = 0
        while True:
            with self._lock:
                shard, end = self._shards[number], self._ends[number] if number < len(self._ends) else None
            with self._lent(shard):
                if end is None or start < end:
                    first = max(start - base, 0)
                    found = shard.unlike(first, every) if self.loose else islice(shard.rows(first), 1)
                    for row in found if self.loose or number else ():
                        yield row and replace(row, index=base + row.index)
                        every -= row.size if row is not None else 0
                if not self._open_next(after=number):
                    return
            with self._lock:
                base = self._ends[number]
            number += 1

    def pieces(self, size: int) -> Iterator[SourcePiece | tuple[Row, ...]]:
        number = base = 0
        while True:
            with self._lock:
                shard = self._shards[number]
            with self._lent(shard):
                for piece in shard.pieces(size):
                    if isinstance(piece, SourcePiece):
                        yield piece._replace(first=base + piece.first)
                    else:
                        yield tuple([replace(row, index=base + row.index) for row in piece])
            if not self._open_next(after=number):
                return
            with self._lock:
                base = self._ends[number]
            number += 1

    def near(self, index: int) -> bool:
        with self._lock:
            number = bisect_right(self._ends, index)
            shard, base = self._shards[number], self._ends[number - 1] if number else 0
        with self._lent(shard):
            # past the last row of a file that is known to its end, the row is in the next one
            return shard.near(index - base) or shard.count().exact

    def lines(self) -> Iterator[bytes | None]:
        number = 0
        while number < len(self._shards):  # grows while the rows are read
            shard = self._shards[number]
            with self._lent(shard):
                yield from shard.lines()
            number += 1

    @contextlib.contextmanager
    def _lent(self, shard: Shard) -> Iterator[Shard]:
        """A shard that does not rest meanwhile; the one used longest ago does, where too many are open."""
        with self._lock:
            self._awake[shard] = None
            self._awake.move_to_end(shard)
            for old in list(self._awake)[: max(0, len(self._awake) - self._most)]:
                if not old.pins and old is not self._shards[-1] and old is not shard:
                    del self._awake[old]
                    old.rest()
            shard.pins += 1
        try:
            if not shard.rests:
                shard.wake()
            yield shard
        finally:
            with self._lock:
                shard.pins -= 1

    def close(self) -> None:
        with self._lock:
            self._openers.clear()
            for shard in self._shards:
                shard.close()

    def _open_next(self, after: int | None = None) -> bool:
        """Open the file after shard `after` (the last opened one), whose rows are all known now."""
        with self._lock:
            if after is not None and after < len(self._shards) - 1:
                return True
            while self._openers:
                shard = self._openers.pop(0)
                try:
                    with self._lent(shard):
                        pass
                except NoRows as error:
                    self._notes.append(f"left out: {error}")
                    continue
                except SourceError as error:
                    why = f"it {error.what}" + (f" ({error.why})" if error.why else "")
                    self._lost.append(Damage(error.where, 0, why, error.fix or COPY_AGAIN))
                    continue
                base = self._ends[-1] if self._ends else 0
                self._ends.append(base + self._shards[-1].count().rows)
                self._shards.append(shard)
                return True
            return False


def _allow_open_files(shards: int) -> int:
    """How many shards may be open at a time; the usual limit of 1,024 files is only the soft one and is raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_OF_ONE * shards + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return shards if soft == resource.RLIM_INFINITY else max(FEWEST, (soft - OTHER_FILES) // FILES_OF_ONE)
