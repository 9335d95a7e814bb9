"""Parts of a file that others have made, joined in order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import IO, Any

from sftui.exports.parquet import arrow_writer, parquet_joiner
from sftui.exports.records import Columns, as_line


def part_of(form: str, records: Iterator[dict[str, Any]], columns: Columns) -> bytes:
    """Records of rows as a part of a file: lines of JSON, or Arrow's tables."""
    file = BytesIO()
    if form == "jsonl":
        for record in records:
            file.write(as_line(record))
    else:
        with arrow_writer(file, columns) as put:
            for record in records:
                put(record)
    return file.getvalue()


@contextlib.contextmanager
def joined(form: str, file: IO[bytes], columns: Columns) -> Iterator[Callable[[bytes], object]]:
    """Takes the parts of a file in order."""
    if form == "jsonl":
        yield file.write
    else:
        with parquet_joiner(file, columns) as join:
            yield join
