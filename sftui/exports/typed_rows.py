"""Rows of JSON as Parquet, for the trainers that read nothing else.

Parquet gives every place of a file one type: an object has the keys of all objects of its place, null where it has
none of its own, and whole numbers beside others are floats. pyarrow infers the types, as it does for pandas'
DataFrame.to_parquet (pyarrow 21 to 26, measured).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import IO, Any

from sftui.conversations.reading import ValueKind, joined, other_kind, place_of
from sftui.errors import ExportError
from sftui.model import Row
from sftui.sources.records import parse_record
from sftui.sources.source import chunks
from sftui.text import visible

GROUP_ROWS, GROUP_BYTES = 1000, 8 << 20
"""A row group is full with so many rows, or with rows of so many bytes as JSON."""
MOST_FIELDS = 10_000
"""Places of a file, all keys of all objects counted: rows that each have keys of their own are no table."""
MOST_LEVELS = 90
"""Of nesting, a list counted twice: Parquet is read to 100 of them."""
REFUSED = "no Parquet was written"
_JSON_LINES = "or name the file OUT.jsonl"
_A = {"string": "a string", "boolean": "true or false", "object": "an object", "array": "a list"}


def write_typed(lines: IO[bytes], file: IO[bytes], numbers: Sequence[int]) -> Iterator[None]:
    """Write the rows of JSON Lines as one Parquet file; `lines` is read twice, so that memory stays flat. Stops between
    groups of rows, where it can be left.

    ExportError, naming the row by its number among `numbers`, for values that have no type in common and for those that
    Parquet cannot hold.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([])
    for rows in _groups(lines, numbers):
        try:
            schema = pa.unify_schemas([schema, _table(pa, rows).schema], promote_options="permissive")
        except _raised(pa) as error:
            raise _refusal(pa, lines, numbers, rows[-1].index, error) from error
        _refuse_shape(pa, schema)
        yield
    _refuse_keyless(pa, schema)
    with pq.ParquetWriter(file, schema) as writer:
        for rows in _groups(lines, numbers):
            try:
                writer.write_table(pa.Table.from_pylist([row.data for row in rows], schema=schema))
            except _raised(pa) as error:
                raise _refusal(pa, lines, numbers, rows[-1].index, error) from error
            yield


def _raised(pa: Any) -> tuple[type[Exception], ...]:
    """What pyarrow raises of values that it has no type for."""
    return pa.ArrowException, ArithmeticError, ValueError, TypeError


def _rows(lines: IO[bytes], numbers: Sequence[int]) -> Iterator[Row]:
    lines.seek(0)
    for number, line in zip(numbers, lines):
        row = parse_record(line, number, f"row {number:,}", offset=0)
        if row.data is None:
            raise _refused(row.problem or f"{row.where} is not an object", "", "drop it with `--drop unreadable`")
        yield row


def _groups(lines: IO[bytes], numbers: Sequence[int]) -> Iterator[list[Row]]:
    return chunks(_rows(lines, numbers), GROUP_ROWS, GROUP_BYTES)


def _table(pa: Any, rows: Sequence[Row]) -> Any:
    """The rows with the types that they ask for; pyarrow's own way takes the columns of the first row alone."""
    held = [row.data or {} for row in rows]
    names = dict.fromkeys(name for one in held for name in one)
    return pa.table({name: pa.array([one.get(name) for one in held]) for name in names})


def _refusal(pa: Any, lines: IO[bytes], numbers: Sequence[int], last: int, error: Exception) -> ExportError:
    """Which row, up to `last`, has another kind of value than those before it, or one that Arrow does not take."""
    place = ValueKind(None)
    for row in _rows(lines, numbers):
        found = other_kind(row.data, place)
        if found is not None and found[1:] != ("whole", "number"):
            path, before, now = found
            what = f"{visible(path)} is {_a(now)} in {row.where} but {_a(before)} in earlier rows"
            why = "in Parquet, a field has one type throughout the file"
            return _refused(what, why, f"use the same type in every row, {_JSON_LINES}")
        try:
            _table(pa, [row])
        except _raised(pa) as alone:
            why = f"{type(alone).__name__}: {visible(str(alone).splitlines()[0][:200])}"
            what = f"{row.where} has a value that Parquet has no type for"
            return _refused(what, why, f"drop the row, {_JSON_LINES}")
        place = joined(place, place_of([row.data]))
        if row.index == last:
            break
    return _refused("its values have no common type", visible(str(error)[:200]), _JSON_LINES)


def _refused(what: str, why: str, fix: str) -> ExportError:
    return ExportError(f"{REFUSED}: {what}", why=why, fix=fix)


def _a(kind: str) -> str:
    return _A.get(kind, "a number")


def _places(pa: Any, schema: Any) -> Iterator[tuple[str, Any, int]]:
    """Every place of a schema, those around others first: its path as Arrow writes it, its type, and how deep it is."""
    waiting = deque((f"/{field.name}", field.type, 0) for field in schema)
    while waiting:
        path, kind, level = waiting.popleft()
        yield path, kind, level
        if pa.types.is_struct(kind):
            waiting += ((f"{path}/{field.name}", field.type, level + 1) for field in kind)
        elif pa.types.is_list(kind):
            waiting.append((f"{path}/[]", kind.value_type, level + 2))


def _refuse_shape(pa: Any, schema: Any) -> None:
    """ExportError for types without measure."""
    levels = [level for _, _, level in _places(pa, schema)]
    if len(levels) > MOST_FIELDS:
        what = f"the rows have more than {MOST_FIELDS:,} keys in total"
        why = "each key becomes a column in Parquet"
        raise _refused(what, why, f"store values whose keys differ from row to row as JSON text, {_JSON_LINES}")
    if max(levels, default=0) > MOST_LEVELS:
        raise _refused("the rows are nested too deeply for Parquet", "", f"flatten them, {_JSON_LINES}")


def _refuse_keyless(pa: Any, schema: Any) -> None:
    """ExportError where every object of a place has no keys."""
    for path, kind, _ in _places(pa, schema):
        if pa.types.is_struct(kind) and not kind.num_fields:
            what, why = f"every object at {visible(path)} is empty", "Parquet has no type for such an object"
            raise _refused(what, why, f"remove the key, {_JSON_LINES}")
