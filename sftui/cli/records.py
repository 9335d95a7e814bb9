"""Inspection → the record that `encode` writes and `show --format json` prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from sftui.model import NOWHERE, Example, Inspection, Pack

T = TypeVar("T")


def record(inspection: Inspection, explain: bool = False) -> dict[str, Any]:
    """One row as the trainer receives it.

    `row`, `input_ids`, `labels`, `attention_mask`; a row the trainer drops has `row` and `dropped`,
    one that cannot be prepared `row` and `error`. `explain` adds `tokens` (vocabulary strings) and
    `spans` ([start, end, message, part], null where a token stands for no text), each along
    `input_ids`, and `reasons` along `labels`.
    """
    row = inspection.row.index
    if inspection.problem is not None:
        return {"row": row, "error": inspection.problem.sentence()}
    if inspection.dropped is not None:
        return {"row": row, "dropped": inspection.dropped}
    example = inspection.example
    if example is None:
        return {"row": row, "error": "it could not be prepared"}
    made = _stored(row, example)
    if explain:
        made.update(_explained(inspection, example))
    return made


def records(inspection: Inspection, explain: bool = False) -> tuple[dict[str, Any], ...]:
    """The records of one row: one, or one for each part where the trainer splits the row (`part`, from 0)."""
    first = record(inspection, explain)
    if not inspection.more:
        return (first,)
    row = inspection.row.index
    rest = (_stored(row, example) for example in inspection.more)
    return tuple({**made, "part": part} for part, made in enumerate((first, *rest)))


def _stored(row: int, example: Example) -> dict[str, Any]:
    return {
        "row": row,
        "input_ids": list(example.input_ids),
        "labels": list(example.labels),
        "attention_mask": list(example.attention_mask),
    }


def pack_record(pack: Pack, number: int) -> dict[str, Any]:
    """One pack as it reaches the model: all but `documents` and `seq_lens` go along `input_ids`.

    `documents` are its pieces in order: tokens `start` to `end` of what `--unpacked` writes of `row` (of its `part`,
    where the trainer splits rows). `document_ids` count them from 1, 0 at padding. `seq_lens` are their lengths, with
    the padding last where the trainer counts it. `attention_mask` and `position_ids` are absent where it makes none.
    """
    lengths = [end - start for _, start, end in pack.documents]
    numbers = [document for document, length in enumerate(lengths, 1) for _ in range(length)]
    made: dict[str, Any] = {
        "pack": number,
        "documents": [
            {"row": row, "part": part, "start": start, "end": end}
            for (row, start, end), part in zip(pack.documents, pack.parts)
        ],
        "input_ids": list(pack.input_ids),
        "labels": list(pack.labels),
    }
    if pack.attention_mask is not None:
        made["attention_mask"] = list(pack.attention_mask)
    if pack.position_ids is not None:
        made["position_ids"] = list(pack.position_ids)
    made["document_ids"] = numbers + [0] * (len(pack.input_ids) - len(numbers))
    made["seq_lens"] = list(pack.seq_lens or lengths)
    return made


def _explained(inspection: Inspection, example: Example) -> dict[str, Any]:
    """Nothing where the trainer's example does not stand token for token on the kept tokens."""
    tokens, labels = inspection.tokens, inspection.labels
    assert tokens is not None and labels is not None
    kept = [i for start, end in labels.kept for i in range(start, end)]
    seen = kept[:-1] if example.shifted else kept
    learnt = kept[1:] if example.shifted else kept
    if len(seen) != len(example.input_ids):
        return {}
    return {
        "tokens": [tokens.pieces[i] for i in seen],
        "reasons": [labels.reasons[i].value for i in learnt],
        "spans": [
            None
            if tokens.starts[i] == NOWHERE
            else [tokens.starts[i], tokens.ends[i], tokens.messages[i], tokens.parts[i].value]
            for i in seen
        ],
    }


def as_json(made: dict[str, Any]) -> str:
    """One line of plain ASCII: no byte of the data can act on a terminal."""
    return json.dumps(made, ensure_ascii=True, separators=(", ", ": "))


def shift_record(made: dict[str, Any]) -> dict[str, Any]:
    """An un-shifted record as what is seen and what must be predicted from it (`show --shift`)."""
    if "input_ids" not in made:
        return made
    ends: dict[str, slice] = {
        "input_ids": slice(None, -1),
        "attention_mask": slice(None, -1),
        "tokens": slice(None, -1),
        "spans": slice(None, -1),
        "labels": slice(1, None),
        "reasons": slice(1, None),
    }
    return {key: _cut(value, ends[key]) if key in ends else value for key, value in made.items()}


def _cut(values: Sequence[T], part: slice) -> list[T]:
    return list(values[part])
