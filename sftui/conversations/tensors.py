"""What pipelines store next to ids instead of `labels`: targets, a loss mask, weights, prompt and completion apart.

Read for loops written by hand, which may read anything. Each becomes `input_ids` with `labels` (and `loss_weights`), as
they are stored: un-shifted is the work of `tokenized`. Sources of the names: tinker-cookbook 0.6.1, datum with
`target_tokens` and `weights`; verl 0.9.1, utils/dataset/multiturn_sft_dataset.py (`loss_mask`); prime-rl, `renderers`
0.1.12 (`prompt_ids`, `completion_ids`); torchtitan and NeMo Automodel (labels that are shifted already).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sftui.conversations.detected import Detection, find_column, mistyped, other_length
from sftui.conversations.tokenized import alignment, attended
from sftui.model import IGNORE_INDEX, Row
from sftui.recipe import Data

IDS = ("input_ids", "tokens", "token_ids")
LABELS = ("labels", "target_ids", "target_tokens", "targets")
MASKS = ("loss_mask", "response_mask")
WEIGHTS = ("loss_weights", "loss_weight", "weights")
PARTS = ("prompt_ids", "completion_ids")
"""The columns, by what they are; the first one that is there is taken."""
LEAST_RUNS = 8
"""So many stretches of a mask tell which way it is aligned."""
_SAME = 0.9
"""Of so large a share a token is always the same one."""
_VARIES, _MANY = 0.5, 0.3
"""So small a share of the commonest token, or so many different ones by stretch, is text and no header."""


LATE = "late"
"""What `given_labels` says where a mask is moved one place to the right of the tokens that it means."""


class Stretches(NamedTuple):
    """The trained stretches of some masks, and in which share of them a place holds the token that is commonest there.

    `before` and `second` are the masked tokens before a stretch, `kinds` how many different ones `before` counts, by
    stretch. `last_but_one` is of the stretches that end inside their row, which are `inside`.
    """

    runs: int
    first: float
    last: float
    following: float
    before: float = 0.0
    second: float = 0.0
    kinds: float = 0.0
    last_but_one: float = 0.0
    inside: int = 0


def detect_tensors(rows: Sequence[Row], data: Data) -> Detection | None:
    """How rows are read that hold ids with targets, a mask or weights, or a prompt and a completion in ids; None for
    any other rows, and for those with `labels` alone."""
    samples = [row.data for row in rows if isinstance(row.data, Mapping)]
    if data.format not in ("auto", "tokenized") or not samples or any("labels_from" in row for row in samples):
        return None  # of captured batches it is known what the labels are
    columns = list(dict.fromkeys(str(name) for row in samples for name in row))
    found = _columns(samples, columns, data.fields)
    if found is None:
        return None
    reason = f"tokenized: {_columns_read(found)}"
    samples = [row for row in samples if all(_is_list(row.get(column), True) for column in found.values())]
    if "prompt_ids" in found:
        return Detection("tokenized", found, reason=f"{reason}, which are trained", given_labels="unshifted")
    convention, why = _convention(samples, found)
    if data.given_labels != "auto":
        convention, why = data.given_labels, "set by data.given_labels"
    said = "the mask is shifted one position to the right" if convention == LATE else convention
    return Detection("tokenized", found, reason=f"{reason}; {said}, {why}", given_labels=convention)


def _columns(samples: Sequence[Mapping[str, Any]], columns: Sequence[str], fields: Mapping[str, str]) -> Any:
    """The columns by our names; None where there is nothing that is read here."""

    def named(ours: str, names: Sequence[str], numbers: bool = False) -> dict[str, str]:
        column = find_column(columns, (fields[ours],) if ours in fields else names)
        fits = column is not None and 2 * sum(_is_list(row.get(column), numbers) for row in samples) >= len(samples)
        return {ours: column} if fits and column is not None else {}

    ids = named("input_ids", IDS)
    if not ids:
        parts = {**named("prompt_ids", PARTS[:1]), **named("completion_ids", PARTS[1:])}
        return {**parts, **named("loss_mask", ("completion_mask",), True)} if len(parts) == 2 else None
    labels = named("labels", LABELS)
    weights = named("loss_weights", WEIGHTS, True)
    mask = {} if weights else named("loss_mask", MASKS, True)
    if not weights and not mask and (not labels or labels["labels"].lower() == "labels"):
        return None
    return {**ids, **labels, **weights, **mask, **named("attention_mask", ("attention_mask",))}


def _is_list(value: Any, numbers: bool) -> bool:
    kinds = (int, float, bool) if numbers else (int,)
    return isinstance(value, (list, tuple)) and bool(value) and all(type(one) in kinds for one in value[:8])


def _columns_read(found: Mapping[str, str]) -> str:
    if "prompt_ids" in found:
        return f"`{found['prompt_ids']}` are masked and `{found['completion_ids']}` follow"
    said = [f"ids in `{found['input_ids']}`"]
    said += [f"labels in `{found['labels']}`"] if "labels" in found else []
    said += [f"`{found['loss_mask']}` says which are trained"] if "loss_mask" in found else []
    said += [f"`{found['loss_weights']}` are their weights, 0 masks"] if "loss_weights" in found else []
    return ", ".join(said)


def _convention(samples: Sequence[Mapping[str, Any]], found: Mapping[str, str]) -> tuple[str, str]:
    """How labels, or a mask alone, stand to the ids, and what tells it."""
    column = found.get("loss_mask", found.get("loss_weights"))
    seen = stretches((_real(row, found), row[column]) for row in samples if column is not None)
    late = mask_convention(seen) == LATE
    if "labels" in found:
        pairs = [(_real(row, found), _unmasked(row, found)) for row in samples]
        aligned = alignment(pairs)
        if not late or aligned.convention != "unshifted":
            same, following = f"{aligned.unshifted:.0%}", f"{aligned.shifted:.0%}"
            return (
                aligned.convention,
                f"{same} of {aligned.positions} labels equal the id in the same position, {following} the next one",
            )
    if late:
        return LATE, (
            f"because the masked token before each of {seen.runs} trained stretches is the same in {seen.before:.0%},"
            f" and the one before that in {seen.second:.0%}"
        )
    return mask_convention(seen), (
        f"in {seen.runs} trained stretches the last token is the same in {seen.last:.0%}, the one after it in"
        f" {seen.following:.0%}, the first in {seen.first:.0%}"
    )


def _real(row: Mapping[str, Any], found: Mapping[str, str]) -> Sequence[int]:
    """The ids without the padding behind them."""
    ids: Sequence[int] = row[found["input_ids"]]
    return ids[: attended(row.get(found.get("attention_mask", "")), len(ids))]


def _unmasked(row: Mapping[str, Any], found: Mapping[str, str]) -> list[int]:
    labels, mask = row[found["labels"]], row.get(found.get("loss_mask", found.get("loss_weights", "")))
    return [*labels] if mask is None else [label if on else IGNORE_INDEX for label, on in zip(labels, mask)]


def stretches(rows: Iterable[tuple[Sequence[int], Sequence[Any]]]) -> Stretches:
    """Where the trained stretches of masks begin and end, counted over rows of (ids, mask)."""
    firsts, lasts, nexts = Counter[int](), Counter[int](), Counter[int]()
    befores, seconds, inner = Counter[int](), Counter[int](), Counter[int]()
    for ids, mask in rows:
        count = min(len(ids), len(mask))
        for at in range(count):
            if not mask[at]:
                continue
            if at and not mask[at - 1]:
                firsts[ids[at]] += 1
                befores[ids[at - 1]] += 1
                if at > 1:
                    seconds[ids[at - 2]] += 1
            if at + 1 == count or not mask[at + 1]:
                lasts[ids[at]] += 1
                if at + 1 < len(ids):
                    nexts[ids[at + 1]] += 1
                if at and at + 1 < count:
                    inner[ids[at - 1]] += 1
    kinds = len(befores) / befores.total() if befores else 0.0
    first, last, following, before, second, ends = map(_commonest, (firsts, lasts, nexts, befores, seconds, inner))
    return Stretches(lasts.total(), first, last, following, before, second, kinds, ends, inner.total())


def _commonest(counted: Counter[int]) -> float:
    return counted.most_common(1)[0][1] / counted.total() if counted else 0.0


def mask_convention(seen: Stretches) -> str:
    """A mask along the tokens that are trained ends each stretch with the token that ends an answer. One along the
    positions that predict them begins with the header's last token, and the token that ends the answer is behind it.
    One that is moved the other way leaves the first token of each answer, which varies, masked behind the header, and
    trains one token behind the end."""
    if seen.runs < LEAST_RUNS:
        return "unknown"
    if seen.second >= _SAME and seen.before < _VARIES and seen.first < _SAME:
        ends_late = seen.last_but_one >= _SAME if seen.inside >= LEAST_RUNS else seen.kinds >= _MANY
        return LATE if ends_late else "unknown"
    if seen.last >= _SAME and seen.first < _SAME:
        return "unshifted"
    if seen.following >= _SAME and seen.first >= _SAME and seen.last < _SAME:
        return "shifted"
    return "unknown"


def as_labels(row: Mapping[str, Any], where: str, detected: Detection) -> Mapping[str, Any]:
    """A row with `input_ids`, `labels` and, where they are stored, `loss_weights`, aligned as they are stored.

    ConversationError for a mask or weights that are no numbers, or of another length than the ids.
    """
    fields = detected.fields
    if "prompt_ids" in fields:
        prompt, answer = (_list(row, fields[name], where, None) for name in PARTS)
        mask = _list(row, fields["loss_mask"], where, len(answer)) if "loss_mask" in fields else [1] * len(answer)
        labels = [one if on else IGNORE_INDEX for one, on in zip(answer, mask)]
        both = {"input_ids": [*prompt, *answer], "labels": [IGNORE_INDEX] * len(prompt) + labels}
        return {**_rest(row, fields), **both}
    column = fields.get("loss_mask", fields.get("loss_weights"))
    ids = _list(row, fields["input_ids"], where, None)
    made: dict[str, Any] = {"input_ids": ids}
    if "attention_mask" in fields:
        made["attention_mask"] = row.get(fields["attention_mask"])
    weights = _list(row, column, where, len(ids)) if column is not None else [1] * len(ids)
    if "labels" in fields:
        labels = _list(row, fields["labels"], where, len(ids))
    else:  # a mask alone: at each position its own token, or the one that it predicts
        labels = [*ids[1:], IGNORE_INDEX] if detected.given_labels == "shifted" else ids
    made["labels"] = [label if weight else IGNORE_INDEX for label, weight in zip(labels, weights)]
    if "loss_weights" in fields:
        made["loss_weights"] = [float(weight) for weight in weights]
    return {**_rest(row, fields), **made}


def _rest(row: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    taken = {*fields.values(), *fields}
    return {name: value for name, value in row.items() if name not in taken}


def _list(row: Mapping[str, Any], column: str, where: str, length: int | None) -> list[Any]:
    values = row.get(column)
    if not isinstance(values, (list, tuple)) or not all(type(value) in (int, float, bool) for value in values):
        raise mistyped(column, values, "a list of numbers", where, "drop the row or fill it in")
    if length is not None and len(values) != length:
        raise other_length(column, values, length, where)
    return [*values]


def is_tensors(detected: Detection) -> bool:
    """Whether rows are read by what `detect_tensors` found."""
    return detected.format == "tokenized" and any(
        name in detected.fields for name in ("prompt_ids", "loss_mask", "loss_weights")
    )
