"""Weights of messages in the loss: which the trainer does not have, and what those that it has do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

from sftui.conversations.messages import WEIGHT_KEYS
from sftui.findings.checks import CHATS, LABELLED, Fault, row_check
from sftui.findings.context import Context
from sftui.findings.look import MessageTokens, RowLook
from sftui.findings.model import Severity
from sftui.findings.rule import case, chat, info, major
from sftui.findings.rules.roles import raw_message
from sftui.runs import clipped
from sftui.text import clip, many, visible
from sftui.trainers.traits import Quirk

WEIGHED = {"loss.weights": "float", "mask.rule": "assistant"}
"""A loop of one's own whose loss takes a weight for each token."""
LONGEST = 40


def _answer(weight: Any, key: str = "weight") -> dict[str, Any]:
    return {"role": "assistant", "content": "Hello.", key: weight}


LAB016 = major(
    "weight-not-honoured",
    "a message's weight does not reach the loss",
    "The data gives each answer a weight, but the trainer can only turn answers on or off, or weights only other kinds"
    " of messages.",
    data="use only 0 and 1, and repeat the rows that should count for more",
    moves=("message",),
    bad=case(chat("hi", _answer(0.5))),
    good=case(chat("hi", _answer(0.5)), changes=WEIGHED),
    more=(
        case(chat("hi", _answer(0.5)), preset="trl@1.16"),
        case(chat("hi", _answer(0.3)), preset="axolotl@0.19", changes={"data.message_keys": {"train_flag": "weight"}}),
        case(chat("hi", _answer(0.3, "loss_weight")), preset="llamafactory@0.9"),
        case(chat({"role": "user", "content": "hi", "weight": 0.5}, "Hello."), changes=WEIGHED),
    ),
)
LAB017 = major(
    "weight-no-number",
    "a message's weight is not a finite number",
    "A string, whatever it contains, counts as on or is ignored; NaN or an infinite weight makes the whole loss NaN.",
    data="write the weight as a number such as 0.5",
    bad=case(chat("hi", _answer("0.5")), changes=WEIGHED),
    good=case(chat("hi", _answer(0.5)), changes=WEIGHED),
    more=(
        case(chat("hi", _answer(float("nan"))), changes=WEIGHED),
        case(chat("hi", _answer("0")), preset="axolotl@0.19", changes={"data.message_keys": {"train_flag": "weight"}}),
    ),
)
LAB018 = major(
    "weight-negative",
    "tokens are trained with a negative weight",
    "Training pushes the model away from this text without limit, and the weights of a batch may sum to zero.",
    data="leave out such answers, or give them weight 0; to train against them, use preference data",
    bad=case(chat("hi", _answer(-1.0)), changes=WEIGHED),
    good=case(chat("hi", _answer(0.1)), changes=WEIGHED),
)
LAB019 = info(
    "weight-above-one",
    "tokens have a weight above 1 in the loss",
    "Weights above 1 cause larger updates for this text, unless the loss is divided by the sum of the weights.",
    data="set the largest weight to 1 and scale the others with it",
    bad=case(chat("hi", _answer(2.0)), changes=WEIGHED),
    good=case(chat("hi", _answer(1.0)), changes=WEIGHED),
)


def _reads(context: Context) -> tuple[str, ...]:
    """The keys of a message in which the trainer looks for a weight: as one, or as on and off."""
    keys = context.recipe.data.message_keys
    if context.recipe.loss.weights == "float":
        return (keys["weight"],) if "weight" in keys else WEIGHT_KEYS
    flag = keys.get("train_flag")
    return (flag,) if Quirk.FLAG_BY_KEY in context.traits.quirks and flag in WEIGHT_KEYS else ()


def _weighs(look: RowLook) -> bool:
    """Whether some message may bring a weight."""
    keys = look.context.once("weight keys", lambda: frozenset((*WEIGHT_KEYS, *_reads(look.context))))
    try:
        return look.read.manner.flagged or not keys.isdisjoint(chain.from_iterable(look.raw_messages or ()))
    except TypeError:  # some are none
        return True


def _said(look: RowLook, number: int) -> tuple[str, Any]:
    """The weight that a message brings, whatever it is, under which key; trainers leave keys behind."""
    for data in (raw_message(look, number), look.messages[number].data):
        for key in (*_reads(look.context), *WEIGHT_KEYS):
            if data.get(key) is not None and not isinstance(data[key], bool):
                return key, data[key]
    return "", None


def finite(value: Any) -> float | None:
    """A weight or a score as a number; None where it is none, or not finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _carried(look: RowLook, turn: MessageTokens) -> set[float]:
    """With which weights a turn's content is trained, 0 for what is not."""
    start, end = turn.content
    weights = look.labels.weights
    if weights is None:
        return {float(on) for on in look.mask.drawn[start:end]}
    return {weight if on else 0.0 for a, b, weight in clipped(weights, start, end) for on in set(look.mask.drawn[a:b])}


@row_check(LABELLED, LAB016, row=_weighs, kinds=CHATS)
def not_honoured(look: RowLook) -> Iterator[Fault]:
    """LAB016: a weight that is neither 0 nor 1, of a message that is trained with another one. What 0 and 1 do is
    LAB010's."""
    for turn in look.turns:
        if not turn.has_content:
            continue
        key, value = _said(look, turn.message)
        weight = finite(value)
        if weight is None or weight in (0, 1):
            continue
        carried = _carried(look, turn)
        if weight in carried:
            continue
        what = f"message {turn.message} has {_shown(key, value)}, and {_outcome(look, key, carried)}"
        yield Fault(what, message=turn.message, tokens=turn.content, changes=[("loss.weights", "float")])


def _shown(key: str, value: Any) -> str:
    written = f'"{value}"' if isinstance(value, str) else str(value)
    return f"`{visible(key)}: {clip(visible(written), LONGEST)}`"


def _outcome(look: RowLook, key: str, carried: set[float]) -> str:
    title = look.context.traits.title or look.context.trainer
    if not any(carried):
        return f"{title} does not train it"
    if look.labels.weights is None and key in _reads(look.context):
        return f"{title} reads it as on: it counts as 1"
    return f"{title} trains it with weight {max(carried):g}"


@row_check(LABELLED, LAB017, row=_weighs, recipe=_reads, kinds=CHATS)
def no_number(look: RowLook) -> Iterator[Fault]:
    """LAB017: a text, a list, NaN or an infinite number where the trainer reads a weight."""
    reads = _reads(look.context)
    for turn in look.turns:
        key, value = _said(look, turn.message)
        if key not in reads or finite(value) is not None:
            continue
        carried = _carried(look, turn) if turn.has_content else set()
        spoils = any(not math.isfinite(weight) for weight in carried)
        if spoils:
            outcome = "the loss of every batch that contains it is NaN"
        elif not any(carried):
            outcome = "it is not trained"
        else:
            outcome = f"it is trained with weight {max(carried):g}"
        yield Fault(
            f"message {turn.message} has {_shown(key, value)}, which is not a finite number: {outcome}",
            message=turn.message,
            tokens=turn.content if carried else None,
            severity=Severity.ERROR if spoils else None,
        )


@row_check(LABELLED, LAB018, LAB019, recipe=lambda context: context.recipe.loss.weights == "float", several=True)
def beyond(look: RowLook) -> Iterator[Fault]:
    """LAB018 and LAB019: what is trained with a weight below 0 or above 1."""
    if look.labels.weights is None:
        return
    drawn = look.mask.drawn
    runs = [run for run in look.labels.weights.runs() if True in drawn[run[0] : run[1]]]
    below, above = [run for run in runs if run[2] < 0], [run for run in runs if 1 < run[2] < math.inf]
    for rule, where, found in ((LAB018, "below 0", below), (LAB019, "above 1", above)):
        if not found:
            continue
        start, end, weight = found[0]
        count = sum(sum(drawn[a:b]) for a, b, _ in found)
        more = f", and {many(len(found) - 1, 'more run')} of tokens" if len(found) > 1 else ""
        what = f"{many(count, 'token')} trained with a weight {where}: the first {end - start} with {weight:g}{more}"
        yield Fault(what, tokens=(start, end), rule=rule)
