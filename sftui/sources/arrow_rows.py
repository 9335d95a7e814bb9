"""One row of an Arrow record batch → Row, as `datasets` would give it."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from sftui.model import RAW_LIMIT, Row
from sftui.sources.records import oversized
from sftui.sources.source import CountedSource, Loading


class ArrowDecoder:
    """Turns rows of record batches into plain Python.

    Struct keys that Arrow fills with None stay, as in `dataset[i]`. A column that `datasets`
    stores as JSON text (its `Json` feature) is decoded, which alone loads `datasets`.
    """

    def __init__(self, schema: Any, row_limit: int) -> None:
        self.columns: tuple[str, ...] = tuple(schema.names)
        self._row_limit = row_limit
        self._features = _json_features(schema)
        kept = self._features.items() if self._features is not None else ()
        self._json_text = tuple(name for name, feature in kept if "Json(" in repr(feature))

    def row(self, batch: Any, at: int, index: int, where: str) -> Row:
        """Row `at` of the batch; one over the row limit is not decoded."""
        one = batch.slice(at, 1)
        size = one.nbytes
        if size > self._row_limit:
            return oversized(b"", size, self._row_limit, index, where)
        try:
            data: dict[str, Any] = one.to_pylist()[0]
            if self._features is not None:
                data = self._features.decode_example(data)
        except (ValueError, TypeError, OverflowError, UnicodeDecodeError) as error:
            return Row(index, None, "", where, size, f"{where} cannot be decoded: {error}")
        raw = json.dumps(data, ensure_ascii=False, default=str)
        return Row(index, data, raw[:RAW_LIMIT], where, size, json_text=self._json_text)


class BatchSource(CountedSource):
    """The rows of record batches, by number over all of them."""

    loading = Loading("arrow")

    def __init__(self, title: str, batches: Sequence[Any], schema: Any, row_limit: int) -> None:
        self.title = title
        self._batches = batches
        *self._starts, self._count = accumulate((batch.num_rows for batch in batches), initial=0)
        self._decoder = ArrowDecoder(schema, row_limit)

    def columns(self) -> tuple[str, ...]:
        return self._decoder.columns

    def close(self) -> None:
        super().close()
        self._batches = ()

    def _batch_of(self, index: int) -> int:
        """The number of the batch that holds a row."""
        return bisect_right(self._starts, index) - 1

    def _read(self, index: int, where: str) -> Row:
        number = self._batch_of(index)
        return self._decoder.row(self._batches[number], index - self._starts[number], index, where)


def _json_features(schema: Any) -> Any:
    stored = (schema.metadata or {}).get(b"huggingface", b"")
    if b'"Json"' not in stored:
        return None
    from datasets import Features

    return Features.from_arrow_schema(schema)
