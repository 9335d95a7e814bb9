"""Rounds in their slots: what is encoded piece by piece, each with its weight.

Source: ms-swift 4.6.0, template/base.py (_swift_encode, _concat_context_list, _simplify_context_list,
_encode_context_list), template/templates/glm.py (GLM4Template), loss_scale/base.py, agent.py, utils.py
(calculate_loss_scale) and template/utils.py (split_str_parts_by). Texts that follow each other with one weight are one
piece, whatever slots they come from. A base strategy says which texts have a weight; behind it stand names whose
weights are recorded (registry.SCALES): of words, each with what stands behind it, or of expressions. Several are
multiplied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from sftui.model import NOWHERE, Part, Reason
from sftui.trainers.ms_swift.prepare import RowOptions, RowRounds, SwiftTurn
from sftui.trainers.ms_swift.registry import SCALES, Slot, Slots, TemplateClass
from sftui.trainers.ms_swift.rows import DroppedRow
from sftui.trainers.pieces import Context, InsertedIds, Run, Text, after_content, cut, filled, parted, said, written

Parts = list[tuple[str, float]]
"""A text in parts, each with its weight."""


def weighed(text: str, names: Sequence[str], query: str | None) -> Parts:
    """A text that has a weight, in the parts that the named scales make of it."""
    parts: Parts = [(text, 1.0)]
    for name in names:
        if name != "base":
            parts = [(inner, weight * own) for part, weight in parts for inner, own in _of(part, name, query)]
    return parts


def binary(names: Sequence[str]) -> bool:
    """Whether the scales have no weight but 0 and 1, so that labels alone say it."""
    return "agentflan" not in names and all(
        weight in (0.0, 1.0)
        for name in names
        if name != "base"
        for several in SCALES[name].values()
        for weight in several
    )


def _of(text: str, name: str, query: str | None) -> Parts:
    weights: Mapping[str, Any] = SCALES[name]
    if name == "agentflan":
        for words, one in weights["query"].items():
            if words in (query or ""):
                return [(text, float(one[0]))]
        weights = weights["response"]
    words = [word for word, several in weights.items() if len(several) == 2]
    return _by_words(text, words, weights) if words else _by_expressions(text, list(weights), weights)


def _by_words(text: str, words: Sequence[str], weights: Mapping[str, Sequence[float]]) -> Parts:
    """The words, and what stands behind each up to the next."""
    pieces = re.split(f"({'|'.join(map(re.escape, words))})", text)
    found: Parts = [(pieces[0], 1.0)] if pieces[0] else []
    for word, behind in zip(pieces[1::2], pieces[2::2]):
        own = weights[word]
        found += [(word, own[0]), (behind, own[1])]
    return found


def _by_expressions(text: str, expressions: Sequence[str], weights: Mapping[str, Sequence[float]]) -> Parts:
    """What the expressions fit, and what stands between: of that, too, what begins as one of them weighs so."""
    together = "|".join(f"({expression})" for expression in expressions)
    found: Parts = []
    for piece in re.split(together, text, flags=re.DOTALL):
        if piece:
            own = next((one for one in expressions if re.match(one, piece, re.DOTALL)), None)
            found.append((piece, 1.0 if own is None else weights[own][0]))
    return found


QUERY, SYSTEM, ROUNDS = "{{QUERY}}", "{{SYSTEM}}", ("{{ROUND0}}", "{{ROUND1}}")
RESPONSE = "{{RESPONSE}}"
UNANSWERED = (Reason.PROMPT, Reason.HEADER)
"""Why what is no answer is masked."""


class WeighedContext(NamedTuple):
    """A context with its weight, and why it has it; `masked` are messages in it with a reason of their own."""

    context: Context
    weight: float
    reason: Reason
    masked: tuple[tuple[int, Reason], ...] = ()


class TypedContext(NamedTuple):
    """A context before it is weighed: `number` of the answer that it is, with what the data says of its loss."""

    context: Context
    ends: bool = False
    answers: bool = False
    number: int = 0
    loss: Any = None
    scale: Any = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class TemplateSurvey:
    """What is decided once for all rows: the options, what the tokenizer puts around a text (`auto_add_bos`), the stop
    words, and how ids are resolved."""

    options: RowOptions
    front: tuple[int, ...]
    back: tuple[int, ...]
    stops: tuple[str, ...]
    ids: Callable[[tuple[int | str, ...]], tuple[int, ...]]
    shown: Callable[[Sequence[int]], str]
    stop: str
    """The text that ends an answer, "" where ids do."""
    suffix: tuple[int, ...]
    protected: frozenset[int]
    """The ids that stand for media, which no cut takes out."""

    def put(self, slot: tuple[int | str, ...], message: int, part: Part) -> InsertedIds:
        """The ids that a slot stands for, as those of a message."""
        ids = self.ids(slot)
        return InsertedIds(ids, self.shown(ids), message, part)


def pieces(row: RowRounds, ends: TemplateSurvey) -> list[WeighedContext]:
    """What is encoded of a row, in order; DroppedRow where ms-swift leaves the row out."""
    options = ends.options
    typed = list(_typed(row, ends))
    found = [weighed for context in typed for weighed in _weighed(context, row, options)]
    if options.template.kind is TemplateClass.GLM4:
        found = list(_without_breaks(found))
    return list(_merged(found))


def _typed(row: RowRounds, ends: TemplateSurvey) -> Iterator[TypedContext]:
    """The contexts of all rounds."""
    template = ends.options.template
    if template.auto_add_bos and ends.front:
        yield TypedContext(InsertedIds(ends.front, ends.shown(ends.front), NOWHERE, Part.BOS))
    system = row.system
    late = template.system_prompt is not None
    prefix = template.prefix if late or not (system and said(system)) else template.system_prefix
    if prefix is None:
        raise DroppedRow("the template has no system text, where tools would be written (TypeError)")
    owner = system[0].message if system else NOWHERE
    for slot in prefix:
        yield from _slot(_opening(slot, owner, ends), None, system, "")
    count = len(row.rounds)
    for number, (asked, answer) in enumerate(row.rounds):
        last = number == count - 1
        prompt = template.system_prompt if late and last and template.system_prompt is not None else template.prompt
        query: Text = asked.texts[0] if asked.slotted is None else ()
        slots = _asking(asked, answer, prompt, ends) if asked.slotted is None else _slotted(asked, ends)
        for context in slots:
            if not isinstance(context, InsertedIds) and said(context) == RESPONSE and answer is not None:
                raise DroppedRow("a tool result is the placeholder that marks an answer (AssertionError)")
            yield from _slot(context, query, system, str(number))
        if answer is not None:
            question = None if asked.slotted is not None else said(query)
            for text, loss, scale in zip(answer.texts, answer.loss or (), answer.scale or ()):
                yield TypedContext(text, answers=True, number=number, loss=loss, scale=scale, query=question)
        elif last and row.prefix:
            yield from _slot(written(row.prefix, asked.message + 1, Part.HEADER), query, system, str(number))
        yield from _behind(row, number, ends)
    if template.auto_add_bos and ends.back:
        owner = _owner(row.rounds[-1][1])
        yield TypedContext(InsertedIds(ends.back, ends.shown(ends.back), owner, Part.TERMINATOR), True, number=count)


def _owner(answer: SwiftTurn | None) -> int:
    """The message of an answer."""
    return NOWHERE if answer is None else answer.message


def _behind(row: RowRounds, number: int, ends: TemplateSurvey) -> Iterator[TypedContext]:
    """What stands behind an answer: the separator, or the suffix behind the last one."""
    answer, template = row.rounds[number][1], ends.options.template
    if number < len(row.rounds) - 1:
        following = row.rounds[number + 1][0]
        if following.slotted is None:
            for slot in template.chat_sep or ():
                yield TypedContext(_ending(slot, _owner(answer), following.message, ends), number=number + 1)
        return
    if answer is None or (ends.back and template.auto_add_bos):
        return
    if answer.texts and said(answer.texts[-1]).endswith(ends.stops):
        return
    for slot in template.suffix:
        yield TypedContext(_ending(slot, answer.message, NOWHERE, ends), True, number=number + 1)


def _slot(context: Context, query: Text | None, system: Text | None, number: str) -> Iterator[TypedContext]:
    """A context with what it has places for."""
    if isinstance(context, InsertedIds):
        if context.ids:
            yield TypedContext(context)
        return
    context = filled(context, SYSTEM, system)
    context = filled(context, QUERY, query)
    if number:
        for place, value in zip(ROUNDS, (number, str(int(number) + 1))):
            context = filled(context, place, written(value, NOWHERE, Part.HEADER))
    if said(context):
        yield TypedContext(context)


def _opening(slot: Slot, owner: int, ends: TemplateSurvey) -> Context:
    """A slot of the prefix: what stands before the system text, and behind it."""
    if not isinstance(slot, str):
        return ends.put(slot, NOWHERE, Part.BOS)
    before, place, behind = slot.partition(SYSTEM)
    if not place:
        return written(slot, NOWHERE, Part.BOS)
    head = Run(before, owner, Part.HEADER)
    return tuple(
        run for run in (head, Run(SYSTEM, owner, Part.CONTENT), *_tail(behind, owner, owner, ends)) if run.text
    )


def _asking(asked: SwiftTurn, answer: SwiftTurn | None, prompt: Slots, ends: TemplateSurvey) -> Iterator[Context]:
    """The slots of a question, the header of its answer with them."""
    owner = begun = asked.message
    answered = _owner(answer) if _owner(answer) >= 0 else begun
    for slot in prompt:
        if not isinstance(slot, str):
            yield ends.put(slot, owner, Part.HEADER)
            continue
        before, place, behind = slot.partition(QUERY)
        if not place:
            yield written(slot, owner, Part.HEADER)
            continue
        owner = answered
        runs = (Run(before, begun, Part.HEADER), Run(QUERY, begun, Part.CONTENT))
        yield tuple(run for run in (*runs, *_tail(behind, begun, answered, ends)) if run.text)


def _slotted(asked: SwiftTurn, ends: TemplateSurvey) -> Iterator[Context]:
    """The results of tools, already in their slots."""
    owner = asked.message
    context: Any
    for context in asked.slotted or ():
        yield ends.put(context, owner, Part.HEADER) if context and not isinstance(context[0], Run) else context


def _ending(slot: Slot, owner: int, after: int, ends: TemplateSurvey) -> Context:
    """A slot behind an answer."""
    if not isinstance(slot, str):
        return ends.put(slot, owner, Part.TERMINATOR)
    return _tail(slot, owner, after if after >= 0 else owner, ends)


def _tail(text: str, owner: int, after: int, ends: TemplateSurvey) -> Text:
    """What follows a content: the end of the turn, white space, and the header of the next message."""
    return after_content(text, ends.stop, owner, after, Part.HEADER)


def _weighed(one: TypedContext, row: RowRounds, options: RowOptions) -> Iterator[WeighedContext]:
    """A context in the parts that the loss scale makes of it."""
    kind = options.strategy
    last = 2 * one.number >= row.last_round
    own = one.answers or one.ends
    by_base = kind == "all" or (own and (kind == "default" or last))
    if not (one.loss or (one.loss is None and by_base)):
        yield WeighedContext(one.context, 0.0, _masked(one, own, kind))
        return
    reason = Reason.FLAG if one.loss else Reason.WHOLE if kind == "all" else Reason.ASSISTANT
    if one.scale is not None:
        weight = _number(one.scale)
        yield WeighedContext(one.context, weight, reason if weight > 0 else Reason.WEIGHT)
    elif isinstance(one.context, InsertedIds) or all(name == "base" for name in options.names):
        yield WeighedContext(one.context, 1.0, reason)
    else:
        parts = weighed(said(one.context), options.names, one.query)
        for text, (_, weight) in zip(parted(one.context, [part for part, _ in parts]), parts):
            yield WeighedContext(text, weight, reason if weight > 0 else Reason.FORCED)


def _number(value: Any) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    raise DroppedRow("the loss_scale of a message is not a number (TypeError)")


def _masked(one: TypedContext, own: bool, kind: str) -> Reason:
    if one.loss is not None:
        return Reason.FLAG_OFF
    if own and kind == "last_round":
        return Reason.EARLIER
    runs = (one.context,) if isinstance(one.context, InsertedIds) else one.context
    return Reason.PROMPT if runs and runs[0].part not in (Part.BOS, Part.HEADER) else Reason.HEADER


def _without_breaks(found: Sequence[WeighedContext]) -> Iterator[WeighedContext]:
    """GLM-4 writes no line break before a call, and none at the end of a prompt."""
    for number, one in enumerate(found):
        context = one.context
        if isinstance(context, InsertedIds):
            yield one
            continue
        text = said(context)
        if text.endswith(("<|assistant|>\n", "<think></think>\n")):
            after = found[number + 1].context if number + 1 < len(found) else None
            if after is None or (not isinstance(after, InsertedIds) and "<|observation|>" in said(after)):
                one = one._replace(context=cut(context, 0, len(text) - 1))
        yield one


def _merged(found: Iterable[WeighedContext]) -> Iterator[WeighedContext]:
    """Texts of one weight that follow each other as one; what is empty stands between none."""
    texts = (one for one in found if isinstance(one.context, InsertedIds) or any(run.text for run in one.context))
    for (ids, weight), group in groupby(texts, lambda one: (isinstance(one.context, InsertedIds), one.weight)):
        some = [*group]
        if ids:
            yield from some
        else:
            runs: list[tuple[Any, Reason]] = [(run, one.reason) for one in some for run in one.context]
            masked = dict((run.message, reason) for run, reason in runs if not weight and reason not in UNANSWERED)
            reason = next((reason for _, reason in runs if reason in UNANSWERED), runs[0][1])
            yield WeighedContext(tuple(run for run, _ in runs), weight, reason, tuple(masked.items()))
