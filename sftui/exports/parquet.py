"""Prepared rows as parquet, written as they come so that memory stays flat; and parts of a file that others made."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import accumulate, islice
from typing import IO, Any

from sftui.exports.records import PLAIN_KEYS, Columns, as_line
from sftui.runs import flat

GROUP = 1000
GROUP_TOKENS, FIRST_TOKENS = 1 << 18, 1 << 21
"""Rows in a row group, and tokens after which it is full (the first one later, see `write_parquet`): a random row of
it then reads in about a millisecond, and memory does not grow with the length of the rows."""
TEXTS = [*("split", "dropped", "error"), *("tokens.list.element", "reasons.list.element", "spans.list.element.part")]
"""The columns of texts, which repeat. Numbers are packed as they are: 8 us a row of 200 tokens where a dictionary and
snappy take 10.5, and a fifth smaller."""
NUMBERS = ["row", "pack"]
"""The columns of numbers by which groups of rows may be passed over while reading; to know the least and the most of
the ids in one helps nobody, and takes a seventh of the writing."""
CODES = {"int8": "b", "int32": "i", "int64": "q", "float": "f"}
"""The items of `array` that lie in memory as Arrow's do."""
ROW_LISTS = {"input_ids": "i", "labels": "i", "loss_weights": "f", "attention_mask": "b"}
PACK_LISTS = {**ROW_LISTS, **dict.fromkeys(("attention_mask", "position_ids", "document_ids", "seq_lens"), "i")}
"""The columns of numbers along the tokens, with their items; weights have the four bytes that they have in a loss.
They are packed as they come: it takes half the time while the row is still in the processor's cache, and a fifth of the
memory until its group is full."""

ROWS = Columns()


def write_parquet(file: IO[bytes], records: Iterable[dict[str, Any]], columns: Columns = ROWS) -> None:
    """Write records (see `sftui.exports.records`), of rows or of packs; the columns a record lacks are null. Without
    any the file holds its columns alone.

    pyarrow is loaded when the first group is full: what loads in the rows before (gigatoken) needs the memory first.
    """
    batches = arrow_batches(records, columns, FIRST_TOKENS)
    first = [*islice(batches, 1)]
    with parquet_file(file, columns) as writer:
        while first:
            writer.write_batch(first.pop())
        for batch in batches:
            writer.write_batch(batch)
            del batch  # while the next one is made there is none of this one


def parquet_file(file: IO[bytes], columns: Columns = ROWS) -> Any:
    """A `pyarrow.parquet.ParquetWriter` of such records, for a `with`."""
    import pyarrow.parquet as pq

    statistics = [*NUMBERS, *TEXTS]
    schema = arrow_schema(columns)
    return pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=TEXTS, write_statistics=statistics)


def arrow_batches(
    records: Iterable[dict[str, Any]], columns: Columns = ROWS, first: int | None = None
) -> Iterator[Any]:
    """The same records as pyarrow's record batches, made as they are requested, each of no more than a row group;
    `first`: the tokens after which the first one is full."""
    lists = PACK_LISTS if columns.packs else ROW_LISTS
    group, tokens, most = list[Mapping[str, Any]](), 0, first or GROUP_TOKENS
    for record in records:
        group.append(_columns(record, lists))
        tokens += len(record.get("input_ids", ()))
        if len(group) >= GROUP or tokens >= most:
            made, group, tokens, most = [_batch(group, columns)], [], 0, GROUP_TOKENS
            yield made.pop()
    if group:
        yield _batch(group, columns)


def part_of(form: str, records: Iterator[dict[str, Any]], columns: Columns) -> bytes:
    """Records of rows as a part of a file: lines of JSON, or Arrow's tables."""
    if form == "jsonl":
        return b"".join(map(as_line, records))
    file, batches = BytesIO(), list(arrow_batches(records, columns))
    import pyarrow as pa  # once the rows are there (see `write_parquet`)

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


def _batch(records: Sequence[Mapping[str, Any]], columns: Columns) -> Any:
    """Records whose numbers are packed, as a record batch."""
    import pyarrow as pa

    schema = arrow_schema(columns)
    kinds = zip(schema.names, schema.types)
    arrays = [_column(pa, [record.get(name) for record in records], kind) for name, kind in kinds]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_schema(wanted: Columns = ROWS) -> Any:
    """The columns of the same records, as a pyarrow schema."""
    import pyarrow as pa

    columns: list[tuple[str, Any]] = [("row", pa.int64())]
    if wanted.packs:
        whole = pa.int64()
        document = pa.struct([("row", whole), ("part", pa.int32()), ("start", whole), ("end", whole)])
        columns += [("pack", pa.int64()), ("documents", pa.list_(document))]
    kinds = {code: pa.type_for_alias(alias) for alias, code in CODES.items()}
    lists = PACK_LISTS if wanted.packs else ROW_LISTS
    columns += [(name, pa.list_(kinds[code])) for name, code in lists.items() if wanted.weights or code != "f"]
    columns += [] if wanted.packs else [("part", pa.int32())]
    columns += [("side", pa.string())] * wanted.sides
    columns += [(name, pa.string()) for name in ("split", "dropped", "error")]
    if wanted.explain:
        span = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("message", pa.int32()), ("part", pa.string())])
        columns += [("tokens", pa.list_(pa.string())), ("reasons", pa.list_(pa.string())), ("spans", pa.list_(span))]
    return pa.schema(columns)


def _column(pa: Any, values: Sequence[Any], kind: Any) -> Any:
    """One column of a row group; numbers go over as bytes, without an Arrow value for each.

    pyarrow looks for pandas, which takes 40 MB, as soon as it is given a Python list.
    """
    missing = values.count(None)
    if missing == len(values):
        return pa.nulls(len(values), kind)
    lists = pa.types.is_list(kind)
    code = CODES.get(str(kind.value_type if lists else kind))
    if code is None:
        return pa.array(values, kind)
    valid = pa.py_buffer(_bits([value is not None for value in values])) if missing else None
    if not lists:
        numbers = array(code, [value or 0 for value in values] if missing else values)
        return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(numbers)])
    held = [b"" if value is None else value for value in values] if missing else values
    ends = array("i", accumulate(map(len, held), initial=0))
    packed = pa.py_buffer(b"".join(held))
    flat = pa.Array.from_buffers(kind.value_type, ends[-1], [None, packed])
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(ends)], children=[flat])


def _packed(code: str, numbers: Sequence[Any]) -> array[Any]:
    """The numbers of one row, which may be packed already; most attention masks are nothing but ones."""
    if isinstance(numbers, array):
        return numbers
    if code == "b" and numbers.count(1) == len(numbers):
        return array(code, b"\1" * len(numbers))
    if code == "f":  # what no four bytes can hold becomes infinite, as in a tensor
        return array(code, numbers)
    return flat(numbers, code)


def _bits(flags: Sequence[bool]) -> bytes:
    """Arrow's bitmap of what is not null: eight to a byte, the first one lowest."""
    return sum(1 << place for place, flag in enumerate(flags) if flag).to_bytes(-(-len(flags) // 8), "little")


def _columns(record: Mapping[str, Any], lists: Mapping[str, str]) -> Mapping[str, Any]:
    """The record with its numbers packed, texts that UTF-8 can hold and spans as named fields."""
    if PLAIN_KEYS.issuperset(record) and type(record.get("input_ids")) is array:
        return record
    made = dict(record)
    for name, value in record.items():
        if isinstance(value, str):
            made[name] = _utf8(value)
        elif name in lists:
            made[name] = _packed(lists[name], value)
    if "tokens" in made:
        made["tokens"] = [_utf8(piece) for piece in made["tokens"]]
    if "spans" in made:
        names = ("start", "end", "message", "part")
        made["spans"] = [None if span is None else dict(zip(names, span)) for span in made["spans"]]
    return made


def _utf8(text: str) -> str:
    """A lone surrogate has no UTF-8; it is written as its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
