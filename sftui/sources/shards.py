"""Several files as one source, one after another."""

from __future__ import annotations

import resource
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.source import COPY_AGAIN, Change, Count, Damage, NoRows, Source


class ShardedSource(Source):
    """Rows of several files of one format; row numbers run on from file to file.

    Files are opened when they are first needed, so that a thousand shards open as fast as one. A
    later file that cannot be opened is left out: named in `damage`, or in `notes` where it is whole
    and holds no rows. Raises SourceError where the first one cannot be opened.
    """

    def __init__(self, openers: Sequence[Callable[[], Source]], title: str, *, notes: tuple[str, ...] = ()) -> None:
        self.title = title
        _allow_open_files(len(openers))
        self._openers = list(openers)
        self._shards: list[Source] = [self._openers.pop(0)()]
        self._ends: list[int] = []  # of every shard but the last opened one
        self._notes = list(notes)
        self._lost: list[Damage] = []
        self._lock = threading.RLock()
        self.kind = self._shards[0].kind

    @property
    def notes(self) -> tuple[str, ...]:
        own = dict.fromkeys((*self._notes, *(note for shard in list(self._shards) for note in shard.notes)))
        return tuple(own)

    @property
    def damage(self) -> tuple[Damage, ...]:
        return (*(one for shard in list(self._shards) for one in shard.damage), *self._lost)

    def count(self) -> Count:
        with self._lock:
            base = self._ends[-1] if self._ends else 0
            last = self._shards[-1].count()
            fraction = (len(self._shards) - 1 + last.fraction) / (len(self._shards) + len(self._openers))
            return Count(base + last.rows, last.exact and not self._openers, fraction)

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
            yield from shard.look_through()

    def change(self) -> Change | None:
        shards = list(self._shards)
        found = [
            Change(f"of {shard.title}: {change.why}", change.readable)
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
                return replace(shard.row(index - base), index=index)
            except IndexError:
                if not self._open_next(after=number):
                    raise IndexError(index) from None

    def lines(self) -> Iterator[bytes | None]:
        number = 0
        while number < len(self._shards):  # grows while the rows are read
            yield from self._shards[number].lines()
            number += 1

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
                opener = self._openers.pop(0)
                try:
                    shard = opener()
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


def _allow_open_files(shards: int) -> None:
    """Every shard stays open; the usual limit of 1,024 files is only the soft one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = shards + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
