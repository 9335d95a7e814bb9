"""CSV and TSV, read as `datasets.load_dataset("csv")` reads them: pandas in chunks, into Arrow.

`datasets` decides column types per chunk of 10,000 rows with pandas and casts to the first chunk's types
(packaged_modules/csv/csv.py, ArrowWriter.write_table). The same is done here, one chunk at a time into an unnamed
temporary file, so values and row numbers are the same by construction and memory stays at one chunk.
"""

from __future__ import annotations

import io
import threading
import time
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import IO, Any

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources.arrow_rows import ArrowDecoder, ArrowSpool
from sftui.sources.byte_file import ByteFile
from sftui.sources.formats import Format
from sftui.sources.records import changed_under_us
from sftui.sources.source import Damage, DataChange, DataFile, Loading, NoRows, RowCount, Source, SourceSpec

CHUNK = 10_000
CHUNK_BYTES = 64 << 20
"""Very long rows come in chunks of fewer rows, so that a chunk stays about this large."""
COLUMNS = 10_000
"""pandas takes a tenth of a millisecond for each column of each chunk, and sftui as much again."""
UNFIT = (ValueError, TypeError, OverflowError)
"""What pandas and Arrow raise for cells that no column type holds: an integer beyond 64 bits is an OverflowError."""


class CsvSource(Source):
    """Rows of one CSV or TSV file, with a header line.

    Raises SourceError where the first chunk cannot be read. A later line that cannot be read is
    left out and named in `notes`; `datasets` would refuse the whole file.
    """

    loading = Loading.by_datasets("csv")
    named = "CSV"

    def __init__(self, file: ByteFile, head: bytes, spec: SourceSpec) -> None:
        import pandas as pd  # comes with datasets

        self.title = file.label
        self._file = file
        self._lock = threading.Lock()
        self._notes: list[str] = []
        self._starts = [0]  # the number of the first row of each chunk, and of all rows after them
        self._schema: Any = None
        self._spool = ArrowSpool()
        self._stream: IO[bytes] = file.open()
        self._separator = self._separates(file.label)
        self._na_filter = spec.na_filter
        named = {"sep": self._separator} if self._separator == "\t" else {}
        kept = {} if spec.na_filter else {"na_filter": False}
        if named or kept:
            self.loading = Loading.by_datasets("csv", **named, **kept)
        self._text_stream: IO[bytes] = file.open()
        self._read_bytes = 0
        self._done = False
        self._failed = ""
        try:
            self._reader, self._texts = self._frames(self._separator)
            self._read_chunk()
        except pd.errors.EmptyDataError as error:
            raise NoRows("is empty", where=self.title) from error
        except (*UNFIT, OSError) as error:
            stopped = file.stopped
            why, fix = stopped if stopped is not None else (str(error).strip(), "")
            raise SourceError(f"is not readable {self.named}", where=self.title, why=why, fix=fix) from error
        if len(self._starts) == 1:
            raise NoRows("has a header and no rows", where=self.title)
        self._decoder = ArrowDecoder(self._schema, spec.row_limit)
        self._note_separator()

    def _separates(self, label: str) -> str:
        """What stands between the fields of a file of this name."""
        return "\t" if ".tsv" in label else ","

    def files(self) -> Iterator[DataFile]:
        # none of a text, whose columns no loader has to find
        return self._file.as_data("csv", self._separator) if self._separator else iter(())

    def _frames(self, separator: str) -> tuple[Iterator[Any], Iterator[Any]]:
        """The rows as they are read, and as text, in chunks."""
        import pandas as pd

        columns = self._file.pread(0, 1 << 20).partition(b"\n")[0].count(separator.encode()) + 1
        if columns > COLUMNS:
            why = f"its header has more than {COLUMNS:,} columns"
            raise SourceError("is too wide", where=self.title, why=why, fix="keep only the columns to train on")
        chunk: dict[str, Any] = {"sep": separator, "chunksize": self._chunk_rows()}
        as_text: dict[str, Any] = {"dtype": str, "keep_default_na": False, "na_filter": False}
        # the defaults of datasets.packaged_modules.csv.CsvConfig are pandas' own, but for the chunk
        read = pd.read_csv(self._stream, on_bad_lines="warn", na_filter=self._na_filter, **chunk)
        return iter(read), iter(pd.read_csv(self._text_stream, on_bad_lines="skip", **chunk, **as_text))

    @property
    def damage(self) -> tuple[Damage, ...]:
        stopped = self._file.stopped
        if stopped is not None and self._done:
            return (Damage(self.title, self._starts[-1], *stopped),)
        return (
            (Damage(self.title, self._starts[-1], self._failed, "correct that place in the file"),)
            if self._failed
            else ()
        )

    def change(self) -> DataChange | None:
        change = self._file.changed(self._read_bytes)
        # all rows are kept in the spool once they were read
        return change if change is None or not self._done or self._file.stopped else DataChange(change.why, True)

    def count(self) -> RowCount:
        fraction = 1.0 if self._done else min(0.99, self._file.progress(self._read_bytes))
        return RowCount(self._starts[-1], self._done, fraction)

    def columns(self) -> tuple[str, ...]:
        return self._decoder.columns

    def index_more(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not self._done and time.monotonic() < until:
            self._advance()
        return self._done

    def row(self, index: int) -> Row:
        if index < 0:
            raise IndexError(index)
        while index >= self._starts[-1]:
            if self._done:
                raise IndexError(index)
            self._advance()
        where = f"{self.title} row {index}"
        change = self.change()
        if change is not None and not change.readable:
            return changed_under_us(index, where, change.why)
        with self._lock:
            chunk = bisect_right(self._starts, index) - 1
            cells, batch = (self._spool.batch(2 * chunk + more) for more in (1, 0))
        at = index - self._starts[chunk]
        row = self._decoder.row(batch, at, index, where)
        texts = ((name, cells[name][at].as_py()) for name in cells.schema.names)
        return replace(row, cells=tuple((name, text) for name, text in texts if text is not None))

    def close(self) -> None:
        with self._lock:
            self._done = True
            for stream in (self._stream, self._text_stream, self._spool):
                stream.close()
            self._file.close()

    def _chunk_rows(self) -> int:
        head = self._file.pread(0, 1 << 20)
        row_bytes = len(head) // max(1, head.count(b"\n"))
        rows = min(CHUNK, max(1, CHUNK_BYTES // max(1, row_bytes)))
        if rows < CHUNK:
            self._notes.append(f"column types are inferred from {rows:,} rows at a time; datasets uses {CHUNK:,}")
        return rows

    def _advance(self) -> None:
        with self._lock:
            if self._done:
                return
            try:
                self._read_chunk()
            except (*UNFIT, OSError) as error:
                self._failed = f"the next row is not readable {self.named} ({' '.join(str(error).split())})"
                self._done = True

    def _read_chunk(self) -> None:
        import pyarrow as pa

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                frame = next(self._reader)
            except StopIteration:
                if self._file.stopped is not None and self._file.pread(self._file.size() - 1, 1) != b"\n":
                    self._starts[-1] -= 1  # half a line of damaged data is no row
                self._done = True
                return
        for warning in caught:
            if warning.category.__name__ == "ParserWarning":
                self._note_bad_lines(str(warning.message))
        try:
            table = pa.Table.from_pandas(frame)
        except (*UNFIT, pa.ArrowException) as error:
            what = "whole numbers beyond 64 bits" if isinstance(error, OverflowError) else "columns of mixed types"
            self._notes.append(f"{what} are read as text; datasets.load_dataset rejects such a file ({error})")
            frame = _mixed_as_text(frame)
            table = pa.Table.from_pandas(frame)
        if self._schema is None:
            self._schema = table.schema
        else:
            table = self._cast(table)
        batch = table.combine_chunks().to_batches()
        if not batch:
            return
        self._spool.append(batch[0])
        self._spool.append(_otherwise(frame, next(self._texts, None)))
        self._read_bytes = self._stream.tell()
        self._starts.append(self._starts[-1] + table.num_rows)

    def _cast(self, table: Any) -> Any:
        import pyarrow as pa

        try:
            return table.cast(self._schema)
        except (*UNFIT, pa.ArrowException) as error:
            first = self._starts[-1]
            what = f"rows {first:,} to {first + table.num_rows - 1:,} have different column types from earlier rows"
            self._notes.append(f"{what}; datasets.load_dataset rejects such a file ({error})")
            return table

    def _note_separator(self) -> None:
        names = self._decoder.columns
        if self._separator and len(names) == 1 and (other := next((sign for sign in ";\t|," if sign in names[0]), "")):
            sign = {"\t": "tabs", ",": "commas"}.get(other, other)
            note = f"{self.title} has one column, named {names[0]!r}; its fields appear to be separated by {sign}"
            self._notes.append(f"{note}, which datasets reads with sep={other!r}")

    def _note_bad_lines(self, message: str) -> None:
        for line in message.strip().splitlines():
            self._notes.append(f"{line.strip()}; datasets.load_dataset rejects such a file")


def _otherwise(frame: Any, texts: Any) -> Any:
    """The columns in which a cell is not read as it stands, with the texts of those cells and null in all others."""
    import pandas as pd
    import pyarrow as pa

    found: dict[str, Any] = {}
    for name in frame.columns if texts is not None and len(texts) == len(frame) else ():
        column, text = frame[name].reset_index(drop=True), texts[name].reset_index(drop=True)
        read = column.astype(str) if pd.api.types.is_numeric_dtype(column) else column
        differ = (read != text) & ~(column.isna() & (text == ""))
        if differ.any():
            found[str(name)] = pa.array(text.where(differ, None), pa.string(), from_pandas=True)
    return pa.record_batch(found) if found else pa.record_batch([], names=[])


class TextSource(CsvSource):
    """Rows of a text file: each line, blank ones too, is one `text`, as the loader `text` of `datasets` has it
    (packaged_modules/text/text.py)."""

    loading = Loading.by_datasets("text")
    named = "UTF-8 text"

    def _separates(self, label: str) -> str:
        return ""

    def _frames(self, separator: str) -> tuple[Iterator[Any], Iterator[Any]]:
        import pandas as pd

        self._notes.append(f"{self.title} is read as lines of text: each is the `text` of one row")
        lines, rows = io.TextIOWrapper(self._stream, encoding="utf-8"), self._chunk_rows()
        chunks = iter(lambda: [line.rstrip("\n") for line in islice(lines, rows)], [])
        return (pd.DataFrame({"text": chunk}) for chunk in chunks), iter(())


def _mixed_as_text(frame: Any) -> Any:
    """The frame with its untyped columns as text, missing values kept."""
    for name in frame.select_dtypes(include=["object"]).columns:
        column = frame[name]
        frame[name] = column.map(str).where(column.notna(), None)
    return frame


FORMATS = (Format("csv", CsvSource, endings=(".csv", ".tsv")),)
