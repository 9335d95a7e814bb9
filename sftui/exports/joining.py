"""Parts of a file that others have made, joined in order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import IO, Any

from sftui.exports.parquet import arrow_batches, arrow_schema, parquet_file
from sftui.exports.records import Columns, as_line


def part_of(form: str, records: Iterator[dict[str, Any]], columns: Columns) -> bytes:
    """Records of rows as a part of a file: lines of JSON, or Arrow's tables."""
    if form == "jsonl":
        return b"".join(map(as_line, records))
    file, batches = BytesIO(), list(arrow_batches(records, columns))
    import pyarrow as pa  # once the rows are there (see `parquet_writer`)

    with pa.ipc.new_stream(file, arrow_schema(columns)) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return file.getvalue()


@contextlib.contextmanager
def joined(form: str, file: IO[bytes], columns: Columns) -> Iterator[Callable[[bytes], object]]:
    """Takes the parts of a file in order."""
    if form == "jsonl":
        yield file.write
        return
    import pyarrow as pa

    with parquet_file(file, columns) as writer:

        def join(part: bytes) -> None:
            with pa.ipc.open_stream(part) as stream:
                for batch in stream:
                    writer.write_batch(batch)

        yield join
