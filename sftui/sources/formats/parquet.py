"""Parquet: a row decodes its own row group in small batches, the last few kept."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Generator, Iterator
from itertools import accumulate, pairwise
from typing import IO, Any

from sftui import bound
from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.arrow_rows import ArrowDecoder, ArrowSpool
from sftui.sources.byte_file import ByteFile
from sftui.sources.formats import Format
from sftui.sources.source import (
    COPY_AGAIN,
    PARQUET,
    CountedSource,
    Damage,
    DataChange,
    DataFile,
    SourcePiece,
    SourceSpec,
)

BEGINS = b"PAR1"
BATCH_BYTES = 1 << 20
KEPT_BATCHES = 6
FEWER = 16
"""By so much batches become smaller when one of them needs too much memory."""
READ_BUFFER = 1 << 16
LEAST_ROWS = 256
"""Rows of a piece at least, however large they are."""
LARGE_GROUP = 32 << 20
"""Row groups of more decoded bytes are also unpacked in the background, see `index_more`."""
SPOOL_LIMIT = 4 << 30


class ParquetSource(CountedSource):
    """Rows of one Parquet file. The count is in its footer, so it is exact at once.

    pyarrow cannot start inside a row group, so reading goes forwards: an iterator is kept open per file, and a row
    further on in the same group continues it. The last row of a group of a million costs a second that way, so
    `index_more` unpacks large groups once into a temporary file, up to 4 GiB, after which every row is at hand. Raises
    SourceError where the file is not Parquet.
    """

    loading = PARQUET

    def __init__(self, file: ByteFile, *, row_limit: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.title = file.label
        self._file = file
        self._row_limit = row_limit
        self._lock = threading.Lock()
        self._stream: IO[bytes] = file.open()
        self._size = file.size()
        # mimalloc keeps what it once had: 25 MB more resident memory on a group of a million rows
        pa.set_memory_pool(pa.system_memory_pool())
        try:
            # no pre-buffering: it would read whole column chunks of a large row group into memory
            self._parquet = pq.ParquetFile(self._stream, buffer_size=READ_BUFFER, pre_buffer=False)
        except (pa.ArrowException, ValueError, OSError) as error:  # names that are no UTF-8, too
            raise SourceError(
                "is not a Parquet file", where=self.title, why=str(error).rstrip("."), fix=COPY_AGAIN
            ) from error
        metadata = self._parquet.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        self._starts = list(accumulate((group.num_rows for group in groups), initial=0))
        self._count = self._starts[-1]
        self._row_bytes = max(1, sum(group.total_byte_size for group in groups) // max(1, metadata.num_rows))
        self._decoder = ArrowDecoder(self._parquet.schema_arrow, row_limit)
        self._batch_rows = max(1, min(1024, BATCH_BYTES // self._row_bytes))
        self._kept: OrderedDict[tuple[int, int], Any] = OrderedDict()
        self._dead: dict[int, str] = {}  # row groups that cannot be decoded, and what was raised
        self._group = -1
        self._next = 0
        self._batches: Iterator[Any] = iter(())
        self._large = [number for number, group in enumerate(groups) if group.total_byte_size > LARGE_GROUP]
        self._spool: ArrowSpool | None = None
        self._spooled: dict[tuple[int, int], int] = {}
        self._unpacking = self._unpack()

    def files(self) -> Iterator[DataFile]:
        return self._file.as_data("parquet")

    def columns(self) -> tuple[str, ...]:
        return self._decoder.columns

    def _read(self, index: int, where: str) -> Row:
        group = bisect_right(self._starts, index) - 1
        first = self._starts[group]
        try:
            with self._lock:
                while True:
                    number, at = divmod(index - first, self._batch_rows)
                    try:
                        with bound.Work(bound.item_key(self.title, index), stage="row"):
                            batch = self._batch(group, number)
                        break
                    except MemoryError:  # ArrowMemoryError is one
                        if not self._in_smaller_batches():
                            return Row(index, None, "", where, 0, f"{where} {bound.out_of_memory()}")
        except bound.OverBound as error:
            return Row(index, None, "", where, 0, f"{where}: {error.what}")
        except (OSError, ValueError, StopIteration) as error:  # ArrowInvalid is a ValueError
            self._group = -1  # a reader that failed cannot go on
            reason = self._dead.setdefault(group, " ".join(str(error).split()))
            problem = f"{where} cannot be decoded: the file is damaged at that point ({reason}); {COPY_AGAIN}"
            return Row(index, None, "", where, 0, problem)
        return self._decoder.row(batch, at, index, where)

    @property
    def damage(self) -> tuple[Damage, ...]:
        if not self._dead:
            return ()
        reason = next(iter(self._dead.values()))
        first = min(self._dead)
        rows, whole = sum(self._starts[group + 1] - self._starts[group] for group in self._dead), self._starts[-1]
        why = f"{rows:,} of its {whole:,} rows are damaged, from row {self._starts[first]:,} on ({reason})"
        return (Damage(self.title, whole - rows, why),)

    def look_through(self) -> Iterator[None]:
        """Decode every row group once."""
        for group in range(self._parquet.num_row_groups):
            try:
                batches = self._open_group(group)
                while True:
                    with self._lock:
                        if next(batches, None) is None:
                            break
                    yield
            except (OSError, ValueError) as error:
                self._dead.setdefault(group, " ".join(str(error).split()))

    def pieces(self, size: int) -> Iterator[SourcePiece | tuple[Row, ...]]:
        """Parts of one row group each, which is decoded from its beginning for each of them."""
        if not self._file.apart:
            yield from super().pieces(size)
            return
        path = self._file.place
        most = max(LEAST_ROWS, size // self._row_bytes)
        for begin, end in pairwise(self._starts):
            parts = -(-(end - begin) // most)
            for first, stop in pairwise(begin + (end - begin) * part // parts for part in range(parts + 1)):
                yield SourcePiece(path, self.title, self.kind, first, stop - first, first, 0, 0, 0, self._row_limit)

    def change(self) -> DataChange | None:
        return self._file.changed(self._size)

    def index_more(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with self._lock:
                if next(self._unpacking, None) is None:
                    return True
        return False

    def close(self) -> None:
        super().close()
        with self._lock:
            self._unpacking.close()
            if self._spool is not None:
                self._spool.close()
            self._batches = iter(())
            self._kept.clear()
            self._parquet.close()
            self._stream.close()
            self._file.close()

    def _batch(self, group: int, number: int) -> Any:
        key = (group, number)
        if self._spool is not None and key in self._spooled:
            return self._spool.batch(self._spooled[key])
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if group != self._group or number < self._next:
            self._group, self._next = group, 0
            self._batches = self._open_group(group)
        while self._next <= number:
            batch = next(self._batches)
            self._keep((group, self._next), batch)
            self._next += 1
        return batch

    def _in_smaller_batches(self) -> bool:
        """Read fewer rows at a time from now on: a dictionary makes gigabytes of rows out of a few bytes of file.

        False where it is one row already.
        """
        if self._batch_rows == 1:
            return False
        self._batch_rows = max(1, self._batch_rows // FEWER)
        self._kept.clear()
        self._spooled.clear()
        self._unpacking.close()  # what it wrote is numbered by the batches of before
        self._group = -1
        return True

    def _open_group(self, group: int) -> Iterator[Any]:
        batches: Iterator[Any] = self._parquet.iter_batches(self._batch_rows, row_groups=[group], use_threads=False)
        return batches

    def _unpack(self) -> Generator[int, None, None]:
        """Copy the large groups to the spool, a batch a step; stops early where it cannot go on."""
        for group in self._large:
            try:
                for number, batch in enumerate(self._open_group(group)):
                    if self._spool is None:
                        self._spool = ArrowSpool()
                    if self._spool.size > SPOOL_LIMIT or (number % 64 == 0 and not self._spool.has_room()):
                        return
                    self._spool.append(batch)
                    self._spooled[group, number] = len(self._spool) - 1
                    yield number
            except (OSError, ValueError):
                continue  # a damaged group or a full disk: `row` reads it from the file and says what is wrong

    def _keep(self, key: tuple[int, int], batch: Any) -> None:
        self._kept[key] = batch
        if len(self._kept) > KEPT_BATCHES:
            self._kept.popitem(last=False)


def _open(file: ByteFile, head: bytes, spec: SourceSpec) -> ParquetSource:
    if not head.startswith(BEGINS):
        raise SourceError("is not a Parquet file", where=file.label, why="it does not begin with PAR1")
    return ParquetSource(file, row_limit=spec.row_limit)


FORMATS = (Format("parquet", _open, lambda head, _: head.startswith(BEGINS), (".parquet",)),)
