"""Captured batches as rows: what the recorder wrote, a row for each sequence, and what is known of the run besides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

META = "sftui_capture"
"""The key of a Parquet file's metadata under which the run is described."""
FORMAT = 1
IGNORE_INDEX = -100
"""What masked labels are kept as, whatever a loss of its own ignores."""
WEIGHTS = ("loss_weights", "loss_weight", "weights", "loss_scale")
"""What pipelines call the weights of labels in the loss."""
LENGTHS = ("seq_lens", "seq_lengths")
CUMULATED = ("cu_seq_lens_q", "cu_seqlens")


@dataclass(frozen=True, slots=True)
class CapturedRow:
    """One sequence of a batch as the model received it, padding included.

    `more` are further columns along `input_ids`, by their own names. `source` is `model` or `loader`, `labels_from`
    `model`, `loader` or `loss` (None: none were seen). `clipped` is the length before the sequence was cut on request.
    """

    batch: int
    sequence: int
    input_ids: tuple[int, ...]
    columns: Mapping[str, tuple[Any, ...]]
    source: str
    labels_from: str | None
    clipped: int | None = None


@dataclass(frozen=True, slots=True)
class CapturedRun:
    """A run's first batches: `rows` in order, and `about`, the run itself (see `META`): tokenizer, versions, shapes."""

    rows: tuple[CapturedRow, ...]
    about: Mapping[str, Any]

    @property
    def batches(self) -> int:
        return len(self.about["batches"])


def read_folder(folder: Path) -> CapturedRun:
    """What the recorder left in its folder; nothing where it had no batch."""
    files = sorted(folder.glob("batch-*.json"))
    batches = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    head = folder / "head.json"
    about = json.loads(head.read_text(encoding="utf-8")) if head.exists() else {}
    return captured(batches, about)


def captured(batches: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> CapturedRun:
    """Batches as the recorder writes them, as rows."""
    rows = [row for number, batch in enumerate(batches) for row in _rows(number, batch, about.get("clip"))]
    described = [
        {name: batch.get(name) for name in ("from", "module", "names", "shapes", "labels_from", "loss_takes")}
        for batch in batches
    ]
    return CapturedRun(tuple(rows), {"format": FORMAT, **about, "batches": described})


def _rows(number: int, batch: Mapping[str, Any], clip: int | None) -> Iterator[CapturedRow]:
    tensors: Mapping[str, Any] = batch["tensors"]
    ids = tensors["input_ids"]
    length = batch["shapes"]["input_ids"][1]
    named = {("loss_weights" if name in WEIGHTS else name): values for name, values in tensors.items()}
    targets = named.pop("targets", None)
    for place, row in enumerate(ids):
        columns: dict[str, tuple[Any, ...]] = {}
        for name, values in named.items():
            if name in LENGTHS or name in CUMULATED:
                columns["seq_lengths"] = _lengths(name, values, place, len(ids))
            elif name != "input_ids" and place < len(values):
                columns[name] = tuple(values[place])
        if targets is not None:  # of each position the token that it has to predict
            ignored = batch["ignore_index"]
            made = [IGNORE_INDEX if one == ignored else one for one in targets[place]]
            columns["labels"] = (*made, IGNORE_INDEX)[: len(row)]
        yield CapturedRow(
            number,
            place,
            tuple(row),
            {name: values for name, values in columns.items() if values},
            batch["from"],
            batch.get("labels_from"),
            length if clip is not None and length > len(row) else None,
        )


def _lengths(name: str, values: Any, place: int, rows: int) -> tuple[int, ...]:
    """The lengths of the documents of one sequence; empty where they are of all sequences together."""
    if name in CUMULATED:
        flat = values[0] if values and isinstance(values[0], list) else values
        return tuple(b - a for a, b in pairwise(flat)) if rows == 1 else ()
    if values and isinstance(values[0], list):
        return tuple(values[place]) if place < len(values) else ()
    return tuple(values) if rows == 1 else ()
