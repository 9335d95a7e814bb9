"""Rows that a Python program holds already: dicts, an Arrow table, a `datasets.Dataset`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sftui.errors import SourceError
from sftui.model import RAW_LIMIT, Row
from sftui.sources.records import row_of
from sftui.sources.source import EVERY, CountedSource, Loading, Source, SourceSpec

FIX = "give a path, dicts, a datasets.Dataset, or anything pyarrow.table accepts"
DEEPEST = 200
"""How deep a value may hold others: one that holds itself would never end."""


def source_in_memory(data: Any, spec: SourceSpec) -> Source:
    """Rows of a `datasets.Dataset` or DatasetDict, of an Arrow table or what exports one (pandas, polars), or of dicts;
    SourceError for anything else. The data is read when rows are requested, and never changed."""
    if _is_a(data, "datasets", "DatasetDict"):
        from sftui.sources.files import choose_split

        split = choose_split(tuple(map(str, data)), spec.split, "the DatasetDict")
        return source_in_memory(data[split], replace(spec, split=None))
    if spec.split not in (None, "train"):
        raise SourceError(f"has no split {spec.split}", where=_kind_of(data), why="it is not a DatasetDict")
    if _is_a(data, "datasets", "Dataset"):
        from sftui.sources.hub import HubSource

        if not len(data):
            raise SourceError("has no rows", where="the Dataset")
        return HubSource(data.with_format(None), "dataset", row_limit=spec.row_limit)
    if _is_a(data, "datasets", "IterableDataset") or _is_a(data, "datasets", "IterableDatasetDict"):
        raise SourceError(
            "an IterableDataset has no row numbers", fix="materialise some of it: datasets.Dataset.from_list(list(…))"
        )
    if _is_a(data, "pyarrow", "Table") or _is_a(data, "pyarrow", "RecordBatch") or hasattr(data, "__arrow_c_stream__"):
        return _table_source(data, spec.row_limit)
    if is_row(data):
        raise SourceError("a single dict is one row", fix="put it into a list")
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise SourceError(f"{_kind_of(data)} is not data that sftui can open", fix=FIX)
    return ListSource(data if isinstance(data, Sequence) else list(data), row_limit=spec.row_limit)


def is_row(data: Any) -> bool:
    """Whether it is one row, and no data of many."""
    return isinstance(data, Mapping) and not _is_a(data, "datasets", "DatasetDict")


class ListSource(CountedSource):
    """Rows that are dicts, each read as the JSON that it would be written as."""

    loading = Loading("list")
    loose = True

    def __init__(self, rows: Sequence[Any], *, row_limit: int) -> None:
        if not len(rows):
            raise SourceError("has no rows", where="the list")
        self.title = "list"
        self._rows, self._count = rows, len(rows)
        self._row_limit = row_limit

    def _read(self, index: int, where: str) -> Row:
        record = self._rows[index]
        if not isinstance(record, Mapping):
            problem = f"{where} is not a dict but {_kind_of(record)}"
            return Row(index, None, repr(record)[:RAW_LIMIT], where, 0, problem)
        try:
            return row_of(plain(record), index, where, self._row_limit)
        except (TypeError, ValueError, RecursionError) as error:
            return Row(index, None, "", where, 0, f"{where} cannot be read as JSON: {error}")

    def unlike(self, start: int, every: int = EVERY) -> Iterator[Row | None]:
        seen: set[tuple[str, ...]] = set()
        for index in range(start, self._count):
            record = self._rows[index]
            keys = tuple(map(str, record)) if isinstance(record, Mapping) else ()
            if every > 0 or keys not in seen:
                seen.add(keys)
                row = self.row(index)
                every -= row.size
                yield row

    def close(self) -> None:
        super().close()
        self._rows = ()


def _table_source(table: Any, row_limit: int) -> Source:
    """Rows of an Arrow table, or of what exports one."""
    import pyarrow as pa

    from sftui.sources.arrow_rows import BatchSource

    try:
        table = table if isinstance(table, pa.Table) else pa.table(table)
    except (TypeError, ValueError) as error:
        raise SourceError(f"{_kind_of(table)} cannot be read as an Arrow table", why=str(error)) from error
    if not table.num_rows:
        raise SourceError("has no rows", where="the table")
    return BatchSource("table", table.to_batches(), table.schema, row_limit)


def plain(value: Any, deep: int = 0) -> Any:
    """A value as JSON would bring it back: lists for tuples and arrays, numbers for those of numpy; TypeError for what
    JSON does not know."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value if type(value) in (type(None), str, bool, int, float) else _bare(value)
    if deep > DEEPEST:
        raise ValueError(f"it is nested deeper than {DEEPEST}")
    if isinstance(value, Mapping):
        return {_key(key): plain(one, deep + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one, deep + 1) for one in value]
    if callable(getattr(value, "tolist", None)):  # numpy's and torch's arrays and numbers
        return plain(value.tolist(), deep + 1)
    raise TypeError(f"{_kind_of(value)} is not a JSON value")


def _bare(value: Any) -> Any:
    """A subclass of a plain type as that type: an enum of str is its text."""
    if isinstance(value, str):
        return str.__str__(value)
    return float(value) if isinstance(value, float) else int(value)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is not text")
    return str.__str__(key)


def _is_a(value: Any, package: str, name: str) -> bool:
    """Whether a value is of a class of a package, which is not imported for it."""
    return any(one.__name__ == name and one.__module__.partition(".")[0] == package for one in type(value).__mro__)


def _kind_of(value: Any) -> str:
    package, name = type(value).__module__.partition(".")[0], type(value).__qualname__
    return name if package == "builtins" else f"{package}.{name}"
