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

    ids, text, whole = pa.list_(pa.int64()), pa.string(), pa.int64()
    before = {"batch": whole, "sequence": whole, "input_ids": ids, "labels": ids}
    after = {"captured_from": text, "labels_from": text, "loss_takes": text, "length": whole}
    names = dict.fromkeys(name for row in captured.rows for name in row if name not in before | after)
    along = {name: _kind(pa, [row.get(name) for row in captured.rows]) for name in names}
    about = json.dumps(captured.about, ensure_ascii=True)
    schema = pa.schema([*(before | along | after).items()], metadata={META: about})
    pq.write_table(pa.Table.from_pylist([*captured.rows], schema), file, compression="zstd")


def _kind(pa: Any, values: list[tuple[Any, ...] | None]) -> Any:
    numbers = {type(one) for row in values if row for one in row}
    return pa.list_(pa.float32() if float in numbers else pa.bool_() if numbers == {bool} else pa.int64())
