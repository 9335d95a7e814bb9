"""Several files as one source, one after another; and pieces of a source (`Source.pieces`) as rows, in another process
or on another machine."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from typing import NamedTuple

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.byte_file import is_url, stat_changed
from sftui.sources.records import changed_under_us
from sftui.sources.remote import file_at
from sftui.sources.source import (
    COPY_AGAIN,
    EVERY,
    Damage,
    DataChange,
    DataFile,
    NoRows,
    RowCount,
    Source,
    SourcePiece,
    worst_change,
)

FILES_OF_ONE = 4
"""Files that one shard has open at most: itself, twice where it is CSV, what it is unpacked to, and its columns."""
OTHER_FILES = 256
FEWEST = 4


class _AtRest(NamedTuple):
    """What is known of a shard whose file is closed."""

    notes: tuple[str, ...]
    damage: tuple[Damage, ...]
    rows: int


class Shard:
    """One file of several, which is closed while others are read; only a shard whose rows are all known rests.

    What is looked up without a row is remembered; a row opens it again. Rows of a file that changed meanwhile are
    refused. `first` is the number of its first row among those of all files, `end` that of the next file.
    """

    title: str
    first = 0
    end: float = math.inf

    def __init__(self, opener: Callable[[], Source], path: str | None) -> None:
        self.anew = opener
        self._path = path
        self._source: Source | None = None
        self._seen: os.stat_result | None = None
        self.known: _AtRest | None = None
        self._waking = threading.Lock()
        self.pins = 0

    def wake(self) -> Source:
        """The open source; SourceError where it cannot be opened (again)."""
        with self._waking:
            if self._source is None:
                self._source = self.anew()
                self.title = self._source.title
                if self._path is not None and self._seen is None and not is_url(self._path):
                    self._seen = os.stat(self._path)
            return self._source

    def rest(self) -> None:
        """Close the file and remember what is known of it."""
        source = self._source
        if source is not None and self._path is not None:
            # what was woken since knows its rows only as far as it was read again
            self.known = self.known or _AtRest(source.notes, source.damage, source.count().rows)
            self._source = None
            source.close()

    def answers(self) -> Source | _AtRest:
        """What has its notes and its damage."""
        return self._source or self.known or self.wake()

    def change(self, grown: bool) -> DataChange | None:
        """What has become of its file; `grown`: that there are rows behind its last one is a change, too."""
        if self.known is not None and self._seen is not None and self._path is not None:
            return stat_changed(self._path, self._seen, readable=False)
        source = self.wake()
        return source.change() or (source.outgrown() if grown and self.known is None else None)

    def near(self, index: int) -> bool:
        """Whether a row is near, or known to be in the next file."""
        return self.known is not None or self.wake().near(index) or self.wake().count().exact

    def row(self, index: int) -> Row:
        """As of the source."""
        if self.known is None:
            return self.wake().row(index)
        if index >= self.known.rows:
            raise IndexError(index)
        where = f"{self.title} row {index}"
        if (change := self.change(grown=False)) is not None:
            return changed_under_us(index, where, change.why)
        try:
            return self.wake().row(index)
        except SourceError as error:
            return changed_under_us(index, where, f"it {error.what}")

    def rows(self, start: int) -> Iterator[Row]:
        """As of the source; of a file that was closed one by one, each looked up."""
        return map(self.row, range(start, self.known.rows)) if self.known is not None else self.wake().rows(start)

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
        self._left_out = list(notes)
        self._lost: list[Damage] = []
        self._lock = threading.RLock()
        with self._lent(self._shards[0]):
            first = self._shards[0].wake()
        self.loading, self.loose = first.loading, first.loose

    @property
    def notes(self) -> tuple[str, ...]:
        own = dict.fromkeys((*self._left_out, *(note for one in list(self._shards) for note in one.answers().notes)))
        return tuple(own)

    @property
    def damage(self) -> tuple[Damage, ...]:
        return (*(damage for shard in list(self._shards) for damage in shard.answers().damage), *self._lost)

    def files(self) -> Iterator[DataFile]:
        for shard in [*self._shards, *self._openers]:
            with contextlib.suppress(SourceError), contextlib.closing(shard.anew()) as source:
                yield from source.files()

    def count(self) -> RowCount:
        with self._lock:
            last = self._last().count()
            fraction = (len(self._shards) - 1 + last.fraction) / (len(self._shards) + len(self._openers))
            return RowCount(self._shards[-1].first + last.rows, last.exact and not self._openers, fraction)

    def columns(self) -> tuple[str, ...]:
        with self._lent(self._shards[0]) as first:
            return first.wake().columns()

    def index_more(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while True:
            last = self._shards[-1]
            if last.wake().index_more(max(0.0, until - time.monotonic())) and self._next(last) is None:
                return True
            if time.monotonic() >= until:
                return False

    def look_through(self) -> Iterator[None]:
        yield from super().look_through()
        for shard in self._each():
            yield from shard.wake().look_through()

    def change(self) -> DataChange | None:
        *before, last = list(self._shards)
        return worst_change(
            [*((shard.title, shard.change(grown=True)) for shard in before), (last.title, last.change(grown=False))]
        )

    def refresh(self) -> bool:
        # only the last file can grow without moving the numbers of the rows after it
        return not self._openers and self._last().refresh()

    def row(self, index: int) -> Row:
        if index < 0:
            raise IndexError(index)
        while True:
            shard = self._shard_of(index)
            try:
                with self._lent(shard):
                    return replace(shard.row(index - shard.first), index=index)
            except IndexError:
                if self._next(shard) is None:
                    raise IndexError(index) from None

    def rows(self, start: int = 0) -> Iterator[Row]:
        for shard in self._each(start):
            begin = max(start, shard.first)
            for index, row in enumerate(shard.rows(begin - shard.first), begin):
                if index >= shard.end:
                    break  # a file before the last one has grown: its rows keep their numbers
                yield replace(row, index=index)

    def unlike(self, start: int, every: int = EVERY) -> Iterator[Row | None]:
        """Of a later file whose format declares columns its first row."""
        for shard in self._each():
            if start < shard.end:
                begin = max(start - shard.first, 0)
                found = shard.wake().unlike(begin, every) if self.loose else islice(shard.rows(begin), 1)
                for row in found if self.loose or shard.first else ():
                    yield row and replace(row, index=shard.first + row.index)
                    every -= row.size if row is not None else 0

    def pieces(self, size: int) -> Iterator[SourcePiece | tuple[Row, ...]]:
        for shard in self._each():
            for piece in shard.wake().pieces(size):
                if isinstance(piece, SourcePiece):
                    yield piece._replace(first=shard.first + piece.first)
                else:
                    yield tuple([replace(row, index=shard.first + row.index) for row in piece])

    def near(self, index: int) -> bool:
        with self._lent(shard := self._shard_of(index)):
            return shard.near(index - shard.first)

    def lines(self) -> Iterator[bytes | None]:
        for shard in self._each():
            yield from shard.wake().lines()

    def _last(self) -> Source:
        """The source that was opened last, which never rests."""
        return self._shards[-1].wake()

    def _shard_of(self, index: int) -> Shard:
        """The shard that a row is in, as far as they are opened."""
        with self._lock:
            return self._shards[max(0, bisect_right(self._shards, index, key=lambda shard: shard.first) - 1)]

    def _each(self, start: int = 0) -> Iterator[Shard]:
        """Each shard from that of a row on, opened one after another."""
        shard: Shard | None = self._shard_of(start)
        while shard is not None:
            with self._lent(shard):
                yield shard
            shard = self._next(shard)

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
            if shard.known is None:
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

    def _next(self, last: Shard) -> Shard | None:
        """The shard after one whose rows are all known now, opened where it is not yet; None where there is none."""
        with self._lock:
            if last is not self._shards[-1]:
                return self._shards[self._shards.index(last) + 1]
            while self._openers:
                shard = self._openers.pop(0)
                try:
                    with self._lent(shard):
                        pass
                except NoRows as error:
                    self._left_out.append(f"left out: {error}")
                    continue
                except SourceError as error:
                    why = f"it {error.what}" + (f" ({error.why})" if error.why else "")
                    self._lost.append(Damage(error.where, 0, why, error.fix or COPY_AGAIN))
                    continue
                shard.first = last.first + last.wake().count().rows
                last.end = shard.first
                self._shards.append(shard)
                return shard
            return None


def _allow_open_files(shards: int) -> int:
    """How many shards may be open at a time; the usual limit of 1,024 files is only the soft one and is raised."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_OF_ONE * shards + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return shards if soft == resource.RLIM_INFINITY else max(FEWEST, (soft - OTHER_FILES) // FILES_OF_ONE)


class PieceReader:
    """Reads one piece after another; a Parquet file stays open for the next one of the same file.

    `damage` is what could not be read of the file of the last piece. SourceError where it is not there, or is another
    file than the one that was divided.
    """

    def __init__(self) -> None:
        self._path = ""
        self._open: Source | None = None

    @property
    def damage(self) -> tuple[Damage, ...]:
        return () if self._open is None else self._open.damage

    def rows(self, piece: SourcePiece | Sequence[Row]) -> Iterator[Row]:
        """The rows of a piece, with the numbers that they have in the data."""
        if not isinstance(piece, SourcePiece):
            yield from piece
            return
        source = self._source(piece)
        given = 0
        for row in islice(source.rows(piece.before), piece.rows):
            given += 1
            yield row if piece.first == piece.before else replace(row, index=piece.first + row.index - piece.before)
        if given < piece.rows:
            raise _changed(piece)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
        self._path, self._open = "", None

    def _source(self, piece: SourcePiece) -> Source:
        if self._open is not None and self._path == piece.path and piece.kind == "parquet":
            return self._open
        self.close()
        self._path, self._open = piece.path, _opened(piece)
        return self._open


def _opened(piece: SourcePiece) -> Source:
    if not is_url(piece.path) and not os.path.exists(piece.path):
        raise SourceError(
            "does not exist",
            where=piece.path,
            why=f"the worker on {os.uname().nodename} cannot see it",
            fix="put the data where every machine can read it under the same path, or in an object store",
        )
    if piece.kind == "parquet":
        from sftui.sources.formats.parquet import ParquetSource

        return ParquetSource(file_at(piece.path, piece.title), row_limit=piece.row_limit)
    from sftui.sources.jsonl import JsonlSource

    file = file_at(piece.path, piece.title, piece.end)
    if file.size() < piece.end:
        file.close()
        raise _changed(piece)
    return JsonlSource(
        file,
        row_limit=piece.row_limit,
        begin=piece.begin,
        before=piece.before,
        blanks=piece.blanks,
        layout=piece.layout,
    )


def _changed(piece: SourcePiece) -> SourceError:
    return SourceError("changed while it was being read", where=piece.title, fix="run it again")
