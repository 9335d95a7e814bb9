"""Captured batches as rows: what the recorder wrote, a row for each sequence, and the Parquet file of them; and what is
known of them and of their run besides, and what is not, in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

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
class CapturedRun:
    """A run's first batches: `rows` in order, and `about`, the run itself (see `META`): tokenizer, versions, shapes.

    A row is one sequence of a batch as the model received it, padding included: `batch` and `sequence`, `input_ids` and
    what goes along them by its own names, `captured_from` (`model` or `loader`), `labels_from` (`model`, `loader` or
    `loss`; None: none were seen), `loss_takes`, and `length`, that of a sequence before it was cut on request.
    """

    rows: tuple[Mapping[str, Any], ...]
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


def _rows(number: int, batch: Mapping[str, Any], clip: int | None) -> Iterator[Mapping[str, Any]]:
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
            made = [IGNORE_INDEX if target == ignored else target for target in targets[place]]
            columns["labels"] = (*made, IGNORE_INDEX)[: len(row)]
        yield {
            "batch": number,
            "sequence": place,
            "input_ids": tuple(row),
            **{name: values for name, values in columns.items() if values},
            "captured_from": batch["from"],
            "labels_from": batch.get("labels_from"),
            "loss_takes": batch.get("loss_takes"),
            "length": length if clip is not None and length > len(row) else None,
        }


def _lengths(name: str, values: Any, place: int, rows: int) -> tuple[int, ...]:
    """The lengths of the documents of one sequence; empty where they are of all sequences together."""
    if name in CUMULATED:
        flat = values[0] if values and isinstance(values[0], list) else values
        return tuple(b - a for a, b in pairwise(flat)) if rows == 1 else ()
    if values and isinstance(values[0], list):
        return tuple(values[place]) if place < len(values) else ()
    return tuple(values) if rows == 1 else ()


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


def about_run(about: Mapping[str, Any], *, tokenizer_named: bool = False) -> Iterator[str]:
    """Sentences on a run as `CapturedRun.about` describes it; `tokenizer_named`: that of the run is not needed."""
    batches: Sequence[Mapping[str, Any]] = about["batches"]
    versions = ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items())
    trainer = about.get("trainer") or "a loop without a trainer's class"
    of = f"{counted(len(batches))} captured from {trainer} ({versions or 'no versions known'})"
    shapes = list(dict.fromkeys(" × ".join(map(str, one["shapes"]["input_ids"])) for one in batches))
    yield f"{of}: ids of {', '.join(shapes[:6])}" + (" …" if len(shapes) > 6 else "")
    drawn = sum(batch["from"] == "loader" for batch in batches)
    if drawn == len(batches):
        yield "they come from the data loader; what the training step does with them is unknown"
    elif drawn:
        yield (
            f"{counted(len(batches) - drawn)} as the model received them, then {drawn} from the same data"
            " loader, because the first optimizer step was due"
        )
    yield from _labels(batches)
    tokenizer = about.get("tokenizer")
    if not tokenizer_named and (tokenizer is None or not tokenizer["name"]):
        yield "the run's tokenizer is not known: name it with -t"


def _labels(batches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for source, sentence in (
        ("loss", "the model received no labels: these are the targets of the loss"),
        ("loader", "the model received no labels: these come from the data loader's batch"),
        (None, "no labels were seen in the model, a loss or the data loader: what is trained is unknown"),
    ):
        some = [one for one in batches if one["labels_from"] == source and (one["from"] == "model" or source is None)]
        if some:
            yield sentence + (f" (in {len(some)} of {counted(len(batches))})" * (len(some) < len(batches)))
    if any(batch.get("loss_takes") == "same" for batch in batches):
        yield "the loss compares each position with its own label: nothing shifts the labels"
    elif any("model_input_ids" in batch["shapes"] for batch in batches):
        yield "the model received each sequence without its last id, as in loops that shift by hand"


def counted(number: int) -> str:
    """So many batches."""
    return f"{number:,} batch{'es' if number != 1 else ''}"
