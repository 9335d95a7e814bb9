"""The very bytes of every row of a source, whatever file it is kept in."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sftui.repairs.splice import one_line
from sftui.sources import Source
from sftui.sources.json_array import JsonArraySource
from sftui.sources.jsonl import JsonlSource
from sftui.sources.records import JSON_SPACE
from sftui.sources.shards import ShardedSource


def originals(source: Source) -> Iterator[bytes | None]:
    """The bytes of each row in order, as a line; None for each row that is stored as something else than JSON.

    To be read in step with the rows: those of row n are there once row n has been read. A line comes with the line end
    that it has, a record over several lines without its line breaks.
    """
    if isinstance(source, ShardedSource):
        number = 0
        while number < len(source._shards):  # grows while the rows are read
            yield from originals(source._shards[number])
            number += 1
    elif isinstance(source, JsonlSource):
        with source._file.open() as file:
            file.seek(source._begin)
            yield from (line for line in file if line.strip(JSON_SPACE))
    elif isinstance(source, JsonArraySource):
        head, tail = (b"", b"") if source._column is None else (b"{" + json.dumps(source._column).encode() + b": ", b"}")
        number = 0
        while number < len(source._ends):
            start, end = source._starts[number], source._ends[number]
            yield head + one_line(source._file.pread(start, end - start)) + tail
            number += 1
    else:
        yield from (None for _ in iter(int, 1))
