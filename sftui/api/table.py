"""What the trainer would receive of a whole dataset, as Arrow: made while it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sftui.errors import SftuiError
from sftui.exports.parquet import arrow_batches, arrow_schema, write_parquet
from sftui.session.encoding import EncodeProgress, columns_of, encoded
from sftui.session.ready import Ready

Turns = Callable[[Callable[[], Iterator[Any]]], Iterator[Any]]

TRAINED = ("input_ids", "labels", "attention_mask", "loss_weights")
PACKED = (*TRAINED, "position_ids", "seq_lens")


class EncodedTable:
    """The rows or packs of open data, with the columns that `sftui encode` writes; made by `encode`.

    Nothing is held: each way of reading it encodes the data again, and memory does not grow with it but for `to_arrow`
    and `to_dataset`. It takes part in Arrow's C stream interface, so that `pyarrow.table(table)` and polars take it.
    """

    def __init__(self, ready: Ready, turns: Turns, explain: bool, unpacked: bool) -> None:
        self._ready, self._turns = ready, turns
        self._explain, self._unpacked = explain, unpacked
        self._columns = columns_of(ready, explain, unpacked)
        self.written: EncodeProgress | None = None
        """How many rows and packs there are, dropped, failed …: from the last complete pass; None before that."""

    @property
    def schema(self) -> Any:
        """A `pyarrow.Schema`."""
        return arrow_schema(self._columns)

    def records(self) -> Iterator[dict[str, Any]]:
        """Each row or pack as a dict, its numbers along the tokens as tuples."""
        return self._records(as_arrays=False)

    def _records(self, as_arrays: bool) -> Iterator[dict[str, Any]]:
        written, explain, unpacked = EncodeProgress(), self._explain, self._unpacked
        yield from self._turns(
            lambda: encoded(self._ready, written, explain=explain, unpacked=unpacked, as_arrays=as_arrays)
        )
        self.written = written

    def batches(self) -> Iterator[Any]:
        """Each a `pyarrow.RecordBatch` of some thousand rows at most."""
        return arrow_batches(self._records(as_arrays=True), self._columns)

    def reader(self) -> Any:
        """A `pyarrow.RecordBatchReader` over `batches`."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """All of it as a `pyarrow.Table`."""
        return self.reader().read_all()

    def to_parquet(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> EncodeProgress:
        """Write the file that `sftui encode -o` writes, whole or not at all, and count; ExportError."""
        from sftui.exports.files import atomic_file, refuse_existing
        from sftui.session.inputs import inputs_of

        file = Path(path)
        inputs_of(self._ready.options).refuse(file)
        refuse_existing(file, overwrite)
        with atomic_file(file, folders=False) as out:
            write_parquet(out, self._records(as_arrays=True), self._columns)
        return self._counted()

    def to_dataset(self, split: str = "train") -> Any:
        """What reaches the trainer as a `datasets.Dataset`, without the columns that only explain: its `train` rows, or
        those it sets aside (`evaluation`).

        SftuiError where the trainer would stop, or there is nothing to train.
        """
        if split not in ("train", "evaluation"):
            raise SftuiError(f"there is no split {split}", fix="use train or evaluation")
        import datasets
        import pyarrow as pa
        import pyarrow.compute as pc

        names = [name for name in (PACKED if self._columns.packs else TRAINED) if name in self.schema.names]
        kept = []
        for batch in self.batches():
            reach = pc.is_valid(batch["input_ids"])
            aside = pc.is_valid(batch["split"])
            mask = pc.and_(reach, aside if split == "evaluation" else pc.invert(aside))
            kept.append(batch.filter(mask).select(names))
        stop = self._counted().stop_of(self._ready.recipe, self._ready.stops())
        if stop is not None:
            raise SftuiError(stop)
        table = pa.Table.from_batches(kept, pa.schema([self.schema.field(name) for name in names]))
        empty = [name for name in names if table[name].null_count == len(table) and len(table)]
        return datasets.Dataset(table.drop_columns(empty))

    def _counted(self) -> EncodeProgress:
        if self.written is None:
            raise RuntimeError("counted before it was read")
        return self.written

    def __repr__(self) -> str:
        what = "packs" if self._columns.packs else "rows"
        return f"<encoded {what} of {self._ready.source.title}: {self._ready.recipe.preset}>"
