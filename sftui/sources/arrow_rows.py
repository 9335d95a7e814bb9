"""One row of an Arrow record batch → Row, as `datasets` would give it, and batches that wait in a temporary file."""

from __future__ import annotations

import json
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from sftui.model import RAW_LIMIT, Row
from sftui.sources.byte_file import KEEP_FREE
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


class ArrowSpool:
    """Batches by number. Not thread-safe: its owner holds a lock.

    Mapped, not read back: only the pages of the rows that are shown come into memory. The file
    has no name, so nothing is left behind even after kill -9. OSError where the disk is full.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="sftui-")  # noqa: SIM115
        self._positions: list[int] = []
        self._cached: tuple[int, Any] = (-1, None)

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.tell()

    def append(self, batch: Any) -> None:
        """Keep a batch; batches may differ in schema."""
        import pyarrow as pa

        position = self._file.tell()
        with pa.ipc.new_stream(self._file, batch.schema) as writer:
            writer.write_batch(batch)
        self._file.flush()
        self._positions.append(position)

    def batch(self, number: int) -> Any:
        import pyarrow as pa

        if self._cached[0] != number:
            mapped = pa.memory_map(f"/dev/fd/{self._file.fileno()}")
            mapped.seek(self._positions[number])
            self._cached = (number, pa.ipc.open_stream(mapped).read_next_batch())
        return self._cached[1]

    def has_room(self) -> bool:
        """Whether the disk of the temporary folder has more than its reserve left."""
        return shutil.disk_usage(tempfile.gettempdir()).free > KEEP_FREE

    def close(self) -> None:
        self._cached = (-1, None)
        self._file.close()


def _json_features(schema: Any) -> Any:
    if b'"Json"' not in (schema.metadata or {}).get(b"huggingface", b""):
        return None
    from datasets import Features

    return Features.from_arrow_schema(schema)
