"""Rows that are already ids: checked, aligned, and un-shifted where they are stored shifted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any

from sftui.conversations.detected import Detection, mistyped, other_length
from sftui.errors import ConversationError
from sftui.model import IGNORE_INDEX, Conversation, Kind
from sftui.values import value_class

MASK_COLUMNS = ("completion_mask", "assistant_masks", "loss_mask", "position_ids", "token_type_ids", "seq_lengths")
ENOUGH_POSITIONS = 20
_CLEAR = 0.99
_CHANCE = 0.9


@value_class
class Alignment:
    """Evidence on how stored labels are aligned (P6 of the failure catalogue).

    `unshifted` and `shifted` are the shares of trained positions where the label equals the id at the same and at the
    next position; `positions` is on how many positions that rests, counting only those where the two answers differ.
    """

    unshifted: float
    shifted: float
    positions: int

    @property
    def convention(self) -> str:
        """unshifted, shifted, or unknown where the evidence is thin or contradicts itself."""
        if self.positions < ENOUGH_POSITIONS:
            return "unknown"
        if self.unshifted >= _CLEAR and self.shifted < _CHANCE:
            return "unshifted"
        if self.shifted >= _CLEAR and self.unshifted < _CHANCE:
            return "shifted"
        return "unknown"


def alignment(rows: Iterable[tuple[Sequence[Any], Sequence[Any]]]) -> Alignment:
    """How labels stand to ids over some rows of (input_ids, labels).

    Positions that hold the same id as their right neighbour fit both conventions and say nothing,
    so they are left out; so is the last position of a row, whose next id is not stored.
    """
    same = after = positions = 0
    for ids, labels in rows:
        for i in range(min(len(ids), len(labels)) - 1):
            label = labels[i]
            if label == IGNORE_INDEX or ids[i] == ids[i + 1]:
                continue
            positions += 1
            same += label == ids[i]
            after += label == ids[i + 1]
    return Alignment(same / max(1, positions), after / max(1, positions), positions)


EMPTY = Conversation(Kind.TOKENS, "tokenized", input_ids=(), labels=(), attention_mask=())
"""A row of no ids, under a trainer that leaves it out, or goes on with it."""


def read_tokenized(row: Mapping[str, Any], where: str, detected: Detection, moved: bool = False) -> Conversation:
    """A TOKENS conversation with un-shifted labels; `moved`: the recipe says that they are moved before training.

    Labels stored shifted (labels[i] is the token after input_ids[i]) are moved back by one: the
    label of the first token is unknown and becomes -100; where the last stored label is a token,
    that token was cut from the inputs and is put back, so shifting again gives what is stored.
    Raises ConversationError for ids that are no ids and for columns of different lengths (LAB006).
    """
    fields = detected.fields
    ids = _ints(row, fields.get("input_ids", "input_ids"), where, minimum=0)
    if not ids:
        raise ConversationError("`input_ids` is empty", where=where, fix="drop the row")
    labels = _optional(row, fields.get("labels", "labels"), where, len(ids), minimum=None)
    attention = fields.get("attention_mask", "attention_mask")
    try:
        mask = _optional(row, attention, where, len(ids), minimum=0)
    except ConversationError:
        if labels is not None and row[attention] == [*labels]:
            what = f"`{attention}` is a copy of the labels"
            raise ConversationError(what, where=where, fix="build the mask from the sequence lengths") from None
        raise
    extra: dict[str, Any] = {name: row[name] for name in MASK_COLUMNS if row.get(name) is not None}
    notes: list[str] = []
    weights = _weights(row, len(ids))
    if labels is not None:
        extra["given_labels"] = TARGETS if are_targets(row) else MOVED if moved else detected.given_labels
        if detected.given_labels == "shifted" or are_targets(row):
            notes.append(
                TARGETS_NOTE if are_targets(row) else "the stored labels are shifted by one; they are shown unshifted"
            )
            end = attended(mask, len(ids))
            if end < len(ids) and mask is not None and labels[end - 1] != IGNORE_INDEX:
                # Padded after it was shifted: the token that was cut goes where the padding begins.
                ids = (*ids[:end], labels[end - 1], *ids[end + 1 :])
                mask = (*mask[:end], 1, *mask[end + 1 :])
                notes.append("the last stored label is the token that was cut from the inputs; sftui puts it back")
            last = labels[-1]
            if last == IGNORE_INDEX:
                labels, weights = (IGNORE_INDEX, *labels[:-1]), (0.0, *weights[:-1]) if weights else ()
            else:
                labels, weights = (IGNORE_INDEX, *labels), (0.0, *weights) if weights else ()
                ids = (*ids, last)
                mask = (*mask, 1) if mask is not None else None
                notes.append("the last stored label is the token that was cut from the inputs; sftui puts it back")
        elif detected.given_labels == "unknown":
            notes.append(UNKNOWN_SHIFT)
    if weights:
        extra["loss_weights"] = weights
    return Conversation(
        Kind.TOKENS, "tokenized", input_ids=ids, labels=labels, attention_mask=mask, extra=extra, notes=tuple(notes)
    )


def _weights(row: Mapping[str, Any], length: int) -> tuple[float, ...]:
    """The weights that are stored along the labels; empty where there are none, or no numbers of that many."""
    values = row.get("loss_weights")
    if not isinstance(values, (list, tuple)) or len(values) != length:
        return ()
    return tuple(map(float, values)) if all(type(value) in (int, float) for value in values) else ()


def attended(mask: Any, length: int) -> int:
    """Where the padding behind a row begins, by its attention mask; its length where none does."""
    if not isinstance(mask, (list, tuple)) or len(mask) != length or not any(mask):
        return length
    return length - next(i for i, one in enumerate(reversed(mask)) if one)


def are_targets(row: Mapping[str, Any]) -> bool:
    """Whether the labels of a captured sequence were seen in the loss, or by a loss that shifts nothing: they stand at
    the positions that predict them."""
    return row.get("labels_from") == "loss" or (row.get("labels_from") is not None and row.get("loss_takes") == "same")


TARGETS = "targets"
"""What `given_labels` says of labels that were seen in the loss itself, where nobody shifts them any more."""
MOVED = "moved"
"""What `given_labels` says of labels that are stored shifted, and moved back before training."""
TARGETS_NOTE = "the labels are the loss targets; each is shown at its own token"
UNKNOWN_SHIFT = (
    "sftui does not know whether the stored labels are shifted: too few positions are informative, or they"
    " contradict each other; they are shown as stored (set data.given_labels if you know)"
)


def _optional(
    row: Mapping[str, Any], column: str, where: str, length: int, *, minimum: int | None
) -> tuple[int, ...] | None:
    if row.get(column) is None:
        return None
    values = _ints(row, column, where, minimum=minimum)
    if len(values) != length:
        raise other_length(column, values, length, where)
    return values


def _ints(row: Mapping[str, Any], column: str, where: str, *, minimum: int | None) -> tuple[int, ...]:
    values = row[column]
    if not isinstance(values, (list, tuple)):
        raise mistyped(column, values, "a list of whole numbers", where, "drop the row or fill in the column")
    for i, value in enumerate(values):
        if type(value) is not int:
            raise mistyped(f"{column}[{i}]", value, "a whole number", where, "store ids as integers")
        if minimum is not None and value < minimum:
            raise ConversationError(
                f"`{column}[{i}]` is {value}, which no tokenizer produces", where=where, fix="drop the row"
            )
    return tuple(values)


Ranges = tuple[tuple[int, int], ...]


def documents_of(conversation: Conversation) -> Ranges:
    """The documents of a row of ids as half-open ranges of its tokens, padding outside of them.

    By `seq_lengths`, else by numbers in the attention mask, else by position ids, which start anew at 0 with each
    document. One document, without the padding that the attention mask tells, where nothing says more.
    """
    count, mask = len(conversation.input_ids), conversation.attention_mask
    start, end = 0, count
    if mask is not None and len(mask) == count and 1 in mask:
        start, end = mask.index(1), attended(mask, count)
    lengths = _numbers(conversation.extra.get("seq_lengths"))
    if lengths and all(length > 0 for length in lengths) and sum(lengths) <= count:
        places = [0, *accumulate(lengths)]
        return tuple((a, b) for a, b in pairwise(places) if a < end)
    if mask is not None and len(set(mask) - {0}) > 1:
        ranges = [*_numbered(mask)]  # a mask of every position against each other may number padding, too
        return tuple(ranges[:-1] if conversation.labels and _pads(conversation, ranges) else ranges)
    positions = _numbers(conversation.extra.get("position_ids"))
    if len(positions) == count:
        starts = [start, *(i for i in range(start + 1, end) if positions[i] == 0)]
        ranges = [*pairwise([*starts, end])]
        # Padding without an attention mask: positions that stay at 0 to the end.
        while mask is None and len(ranges) > 1 and ranges[-1][1] - ranges[-1][0] == 1 and _pads(conversation, ranges):
            ranges.pop()
        return tuple(ranges)
    return ((start, end),)


def _pads(conversation: Conversation, ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether the last of some documents is padding: one token over and over, which nothing trains."""
    ids, own = conversation.input_ids, slice(*ranges[-1])
    return len({*ids[own], ids[-1]}) == 1 and max((conversation.labels or (-1,))[own], default=-1) < 0


def _numbered(mask: Sequence[int]) -> Iterator[tuple[int, int]]:
    at = 0
    for number, some in groupby(mask):
        length = len([*some])
        if number:
            yield at, at + length
        at += length


def _numbers(values: Any) -> list[int]:
    """A stored list of whole numbers; empty for anything else."""
    sound = isinstance(values, (list, tuple)) and all(type(value) is int for value in values)
    return [*values] if sound else []
