"""Captured batches as Parquet: a row for each sequence, and the run next to them in the file's metadata."""

from __future__ import annotations

import json
from typing import IO, Any

from sftui.capture import META, CapturedRun


def write_captured(captured: CapturedRun, file: IO[bytes]) -> None:
    """The columns are `batch`, `sequence`, `input_ids`, `labels` and what else went along the ids (null where a batch
    had none), then `captured_from`, `labels_from`, `loss_takes` and, of a sequence that was cut, its whole `length`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = dict.fromkeys(name for row in captured.rows for name in row.columns if name != "labels")
    batches = captured.about["batches"]
    records: list[dict[str, Any]] = [
        {
            "batch": row.batch,
            "sequence": row.sequence,
            "input_ids": list(row.input_ids),
            "labels": _listed(row.columns.get("labels")),
            **{name: _listed(row.columns.get(name)) for name in names},
            "captured_from": row.source,
            "labels_from": row.labels_from,
            "loss_takes": batches[row.batch].get("loss_takes"),
            "length": row.clipped,
        }
        for row in captured.rows
    ]
    ids = pa.list_(pa.int64())
    text = pa.string()
    fields = [("batch", pa.int64()), ("sequence", pa.int64()), ("input_ids", ids), ("labels", ids)]
    fields += [(name, _kind(pa, [record[name] for record in records])) for name in names]
    fields += [("captured_from", text), ("labels_from", text), ("loss_takes", text), ("length", pa.int64())]
    schema = pa.schema(fields, metadata={META: json.dumps(captured.about, ensure_ascii=True)})
    pq.write_table(pa.Table.from_pylist(records, schema), file, compression="zstd")


def _listed(values: Any) -> list[Any] | None:
    return list(values) if values is not None else None


def _kind(pa: Any, values: list[list[Any] | None]) -> Any:
    numbers = {type(one) for row in values if row for one in row}
    return pa.list_(pa.float32() if float in numbers else pa.bool_() if numbers == {bool} else pa.int64())
