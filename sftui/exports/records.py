"""Inspection → the record that `encode` writes and `show --format json` prints."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sftui.fast_json import orjson
from sftui.model import IGNORE_INDEX, NOWHERE, SIDES, Example, Inspection, Pack, Reason
from sftui.runs import masked

_ENCODER = json.JSONEncoder(ensure_ascii=True, default=array.tolist)
PLAIN_KEYS = frozenset(("row", "part", "side", "split", "input_ids", "labels", "attention_mask"))
"""The keys of records that hold no text of the data: none has a comma, a colon or a lone surrogate."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which records a file holds: of rows or of packs, with what explains them, with loss weights, of the sides of
    preferences."""

    explain: bool = False
    packs: bool = False
    weights: bool = False
    sides: bool = False


def record(inspection: Inspection, explain: bool = False, as_arrays: bool = False) -> dict[str, Any]:
    """One row as the trainer receives it.

    `row`, `input_ids`, `labels`, `attention_mask`, and `loss_weights` along `labels` where the trainer's loss has some;
    a row the trainer drops has `row` and `dropped`, one that cannot be prepared `row` and `error`. `explain` adds
    `tokens` (vocabulary strings) and `spans` ([start, end, message, part], null where a token stands for no text), each
    along `input_ids`, and `reasons` along `labels`. `as_arrays`: the numbers along the tokens are arrays where the row
    has them as such, as the writers of files take them.
    """
    row = inspection.row.index
    if inspection.problem is not None:
        return {"row": row, "error": inspection.problem.sentence()}
    if inspection.dropped is not None:
        return {"row": row, "dropped": inspection.dropped}
    example = inspection.example
    if example is None:
        return {"row": row, "error": "it could not be prepared"}
    made = _stored(row, example, as_arrays)
    if explain:
        made.update(explained(inspection)[0])
    return {**made, "split": "evaluation"} if inspection.evaluates else made


def records(inspection: Inspection, explain: bool = False, as_arrays: bool = False) -> tuple[dict[str, Any], ...]:
    """The records of one row: one, or one for each part where the trainer splits the row (`part`, from 0).

    A row that the trainer sets aside for evaluation says so in `split`. A preference has two, which `side` tells apart.
    """
    first = record(inspection, explain, as_arrays)
    if inspection.rejected is not None and "input_ids" in first:
        return ({**first, "side": SIDES[0]}, {**record(inspection.rejected, explain, as_arrays), "side": SIDES[1]})
    if not inspection.more:
        return (first,)
    row = inspection.row.index
    explanations = explained(inspection)[1:] if explain else ({},) * len(inspection.more)
    rest = ({**_stored(row, example, as_arrays), **more} for example, more in zip(inspection.more, explanations))
    return tuple({**made, "part": part} for part, made in enumerate((first, *rest)))


def padded(made: dict[str, Any], stored: Example, piece: Callable[[int], str]) -> dict[str, Any]:
    """The record of a row that its dataset pads, as `stored`; `piece` gives the vocabulary string of an id."""
    ids, count = tuple(made["input_ids"]), len(made["input_ids"])
    lead = next(at for at in range(len(stored.input_ids)) if stored.input_ids[at : at + count] == ids)
    before, after = stored.input_ids[:lead], stored.input_ids[lead + count :]
    along = {name: getattr(stored, name) for name in ("input_ids", "labels", "attention_mask")}
    if "tokens" in made:
        along["tokens"] = [*map(piece, before), *made["tokens"], *map(piece, after)]
        for name, filler in (("reasons", Reason.PAD.value), ("spans", None)):
            along[name] = [*[filler] * len(before), *made[name], *[filler] * len(after)]
    return {**made, **along}


def _stored(row: int, example: Example, as_arrays: bool) -> dict[str, Any]:
    ids = example.flat
    if as_arrays and ids is not None:
        labels = masked(IGNORE_INDEX, example.ranges, ids)
        return {"row": row, "input_ids": ids, "labels": labels, "attention_mask": array("b", b"\1" * len(ids))}
    made = {"row": row, **attributes(example, "input_ids", "labels", "attention_mask")}
    if example.weights is not None:
        made["loss_weights"] = tuple(example.weights)
    return made


def pack_record(pack: Pack, number: int) -> dict[str, Any]:
    """One pack as it reaches the model: all but `documents` and `seq_lens` go along `input_ids`.

    `documents` are its pieces in order: tokens `start` to `end` of what `--unpacked` writes of `row` (of its `part`,
    where the trainer splits rows). `document_ids` count them from 1, 0 at padding. `seq_lens` are their lengths, with
    the padding last where the trainer counts it. `attention_mask`, `position_ids` and `loss_weights` are absent where
    it makes none.
    """
    lengths = [end - start for _, start, end in pack.documents]
    numbers = [document for document, length in enumerate(lengths, 1) for _ in range(length)]
    made: dict[str, Any] = {
        "pack": number,
        "documents": [
            {"row": row, "part": part, "start": start, "end": end}
            for (row, start, end), part in zip(pack.documents, pack.parts)
        ],
        **attributes(pack, "input_ids", "labels"),
    }
    weights = tuple(pack.weights) if pack.weights is not None else None
    some = {"loss_weights": weights, "attention_mask": pack.attention_mask, "position_ids": pack.position_ids}
    made.update((name, values) for name, values in some.items() if values is not None)
    made["document_ids"] = numbers + [0] * (len(pack.input_ids) - len(numbers))
    made["seq_lens"] = list(pack.seq_lens or lengths)
    return made


def explained(inspection: Inspection) -> tuple[dict[str, Any], ...]:
    """`tokens`, `reasons` and `spans` of each example of a row; nothing of one that does not stand token for token on
    the kept tokens."""
    if inspection.rejected is not None:
        return tuple(one for side in inspection.alone for one in explained(side))
    tokens, labels, examples = inspection.tokens, inspection.labels, inspection.examples
    if tokens is None or labels is None:
        return ({},) * len(examples)
    kept = [i for start, end in labels.kept for i in range(start, end)]
    pieces, reasons = inspection.token_text.pieces, tuple(labels.reasons)
    messages, parts = tuple(tokens.messages), tuple(tokens.parts)
    found: list[dict[str, Any]] = []
    at = 0
    for example in examples:
        whole = len(example.input_ids) + example.shifted
        own, at = kept[at : at + whole], at + whole
        seen, learnt = (own[:-1], own[1:]) if example.shifted else (own, own)
        if tuple(tokens.input_ids[i] for i in seen) != example.input_ids:
            found.append({})
            continue
        found.append(
            {
                "tokens": [pieces[i] for i in seen],
                "reasons": [reasons[i].value for i in learnt],
                "spans": [
                    None
                    if tokens.starts[i] == NOWHERE
                    else [tokens.starts[i], tokens.ends[i], messages[i], parts[i].value]
                    for i in seen
                ],
            }
        )
    return tuple(found)


ExplainedExamples = tuple[tuple[Example, dict[str, Any]], ...]
"""The examples of a row, each with what explains it."""


def pack_explained(
    pack: Pack, row: Callable[[int], ExplainedExamples], piece: Callable[[int], str], ignore: int
) -> dict[str, Any]:
    """The same along a pack's `input_ids`, from its rows; a token whose row does not explain it has no reason and span.

    `piece` gives the vocabulary string of an id. What only the collator masks is the first token of its document.
    """
    made: list[tuple[str, str | None, Any]] = []
    for (number, start, end), part in zip(pack.documents, pack.parts):
        example, explanation = row(number)[part]
        for i in range(start, end):
            place = len(made)
            collator = pack.labels[place] == ignore and example.labels[i] != ignore
            reason = Reason.FIRST_OF_DOCUMENT.value if collator else explanation["reasons"][i] if explanation else None
            token = explanation["tokens"][i] if explanation else piece(pack.input_ids[place])
            made.append((token, reason, explanation["spans"][i] if explanation else None))
    made += [(piece(token), Reason.PAD.value, None) for token in pack.input_ids[len(made) :]]
    return {name: [one[at] for one in made] for at, name in enumerate(("tokens", "reasons", "spans"))}


def attributes(value: object, *names: str) -> dict[str, Any]:
    """What a value has under some names, for a record that has them, too."""
    return {name: getattr(value, name) for name in names}


def as_json(made: dict[str, Any]) -> str:
    """One line of plain ASCII: no byte of the data can act on a terminal. A weight that JSON has no number for (NaN,
    infinite) is null."""
    if not all(map(math.isfinite, made.get("loss_weights", ()))):
        weights = [weight if math.isfinite(weight) else None for weight in made["loss_weights"]]
        made = {**made, "loss_weights": weights}
    return _ENCODER.encode(made)


def as_line(made: dict[str, Any]) -> bytes:
    """The same as a line of a file."""
    if orjson is not None and PLAIN_KEYS.issuperset(made):  # an eighth of the time
        return bytes(orjson.dumps(made, default=list)).replace(b",", b", ").replace(b":", b": ") + b"\n"
    return as_json(made).encode("ascii") + b"\n"


def shift_record(made: dict[str, Any]) -> dict[str, Any]:
    """An un-shifted record as what is seen and what must be predicted from it (`show --shift`)."""
    if "input_ids" not in made:
        return made
    seen, learnt = slice(None, -1), slice(1, None)
    ends = dict.fromkeys(("input_ids", "attention_mask", "tokens", "spans"), seen)
    ends |= dict.fromkeys(("labels", "loss_weights", "reasons"), learnt)
    return {key: value[ends[key]] if key in ends else value for key, value in made.items()}
