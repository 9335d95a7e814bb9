"""Prepared rows as parquet, written as they come so that memory stays flat."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import IO, Any

GROUP = 1000
"""Rows in a row group: a random row of it then reads in about a millisecond."""


@contextlib.contextmanager
def parquet_writer(
    file: IO[bytes], explain: bool = False, packs: bool = False
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Takes records (see `sftui.cli.records`), of rows or of packs; the columns a record lacks are null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(pa, explain, packs)
    held: list[dict[str, Any]] = []
    with pq.ParquetWriter(file, schema) as writer:

        def flush() -> None:
            if held:
                writer.write_table(pa.Table.from_pylist(held, schema=schema))
                held.clear()

        def put(record: dict[str, Any]) -> None:
            held.append(_columns(record))
            if len(held) >= GROUP:
                flush()

        yield put
        flush()


def _schema(pa: Any, explain: bool, packs: bool) -> Any:
    ids = pa.list_(pa.int32())
    columns: list[tuple[str, Any]] = [("row", pa.int64())]
    if packs:
        whole = pa.int64()
        document = pa.struct([("row", whole), ("part", pa.int32()), ("start", whole), ("end", whole)])
        columns += [("pack", pa.int64()), ("documents", pa.list_(document))]
    columns += [("input_ids", ids), ("labels", ids)]
    if packs:
        columns += [(name, ids) for name in ("attention_mask", "position_ids", "document_ids", "seq_lens")]
    else:
        columns += [("attention_mask", pa.list_(pa.int8())), ("part", pa.int32())]
    columns += [("split", pa.string())]
    columns += [("dropped", pa.string()), ("error", pa.string())]
    if explain:
        span = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("message", pa.int32()), ("part", pa.string())])
        columns += [("tokens", pa.list_(pa.string())), ("reasons", pa.list_(pa.string())), ("spans", pa.list_(span))]
    return pa.schema(columns)


def _columns(record: dict[str, Any]) -> dict[str, Any]:
    """The record with texts that UTF-8 can hold and spans as named fields."""
    made = {key: _utf8(value) if isinstance(value, str) else value for key, value in record.items()}
    if "tokens" in made:
        made["tokens"] = [_utf8(piece) for piece in made["tokens"]]
    if "spans" in made:
        names = ("start", "end", "message", "part")
        made["spans"] = [None if span is None else dict(zip(names, span)) for span in made["spans"]]
    return made


def _utf8(text: str) -> str:
    """A lone surrogate has no UTF-8; it is written as its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
