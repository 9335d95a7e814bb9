"""Answers in which the answer is missing: a thought and nothing behind it, or how a program writes a missing value."""

from __future__ import annotations

from collections.abc import Iterator

from sftui.findings.checks import CONVERSATION, LABELLED, Fault, row_check
from sftui.findings.dataset import SPOKEN
from sftui.findings.look import TAG, RowLook, shown
from sftui.findings.model import Severity
from sftui.findings.rule import DROP, GOOD, case, chat, major
from sftui.findings.words import REASONING, THOUGHT_TAGS
from sftui.model import Message

_ALONE = "<think>They ask who.</think>"
_SURE = frozenset(("nan", "NaN", "NaT", "<NA>", "#N/A"))
_LIKELY = frozenset(("None", "null", "NULL", "N/A", "n/a", "undefined"))
"""What pandas, Excel, Python, SQL and JavaScript write where there is no value; the latter may be answers, too."""
_LONGEST = max(map(len, _SURE | _LIKELY))

THK008 = major(
    "thought-alone",
    "an answer is only a thought",
    "The model learns to stop after thinking. Such rows come from generators that reached their limit after the"
    " thought, or parsers that lost the answer.",
    data="drop the row, or generate the answer again",
    repair=(DROP,),
    inherent=True,
    bad=case(chat("Who?", _ALONE)),
    good=case(chat("Who?", f"{_ALONE}Me.")),
)


@row_check(
    LABELLED,
    THK008,
    of=lambda shape: shape.trains,
    signs=lambda shape, _: "" if shape.manner.reasoned else TAG,
    kinds=SPOKEN,
    several=True,
)
def thought_alone(look: RowLook) -> Iterator[Fault]:
    """THK008: of answers that are trained, where no other one and no call follows."""
    answering = look.context.traits.answering
    trained = {stretch[2] for stretch, count in zip(look.stretches, look.mask.trained_in) if count}
    masked = {stretch[2] for stretch in look.stretches} - trained
    if look.conversation.completion is not None:
        alone = {1: _thought(look.conversation.completion, look.conversation.prompt or "")}
    else:
        ends = [number for number, role in enumerate(look.roles) if role in answering]
        alone = {n: _beside(look.messages[n]) for n in ends if answering.isdisjoint(look.roles[n + 1 : n + 2])}
    for number, thought in alone.items():
        if thought is not None and number not in masked and thought in look.rendered.text:
            what = f"{look.name(number)} is only {'a' if thought else 'an empty'} thought"
            yield Fault(what, shown(thought[-60:]), message=number)


def _beside(message: Message) -> str | None:
    """The thought of a message that says and calls nothing else."""
    content = message.data.get("content")
    if message.data.get("tool_calls"):
        return None
    if content is None or (isinstance(content, str) and not content.strip()):
        beside = (one.strip() for key in REASONING if isinstance(one := message.data.get(key), str))
        return next(filter(None, beside), None)
    return _thought(content) if isinstance(content, str) else None


def _thought(text: str, prompt: str = "") -> str | None:
    """What a text thinks that does nothing else; its prompt may have opened the thought."""
    said, asked = text.strip(), prompt.rstrip()
    for opening, closing in THOUGHT_TAGS:
        start = len(opening) if said.startswith(opening) else 0
        if said.find(closing) == len(said) - len(closing) and (start or asked.endswith(opening)):
            return said[start : -len(closing)].strip()
    return None


CON023 = major(
    "missing-value-as-text",
    "a message is a placeholder for a missing value",
    "For a missing value, pandas writes `nan`, Python `None` and JSON `null`. If `None` or `N/A` is the right"
    " answer, nothing is wrong.",
    data="drop the row, or fill in the missing value",
    repair=(DROP,),
    inherent=True,
    bad=case(chat("Who?", "nan")),
    good=case(GOOD, chat("Who?", "Nan.")),
    more=(case(chat("Who?", "None"), GOOD),),
)


def _short(look: RowLook) -> bool:
    completion = look.conversation.completion
    said = look.read.said if completion is None else (completion, look.conversation.prompt or "")
    return min(map(len, said), default=_LONGEST) <= _LONGEST + 2


@row_check(CONVERSATION, CON023, kinds=SPOKEN, row=_short)
def missing_value(look: RowLook) -> Iterator[Fault]:
    """CON023: questions and answers that are nothing else; an information where the word may be meant."""
    conversation = look.conversation
    texts = [conversation.prompt, conversation.completion] if not look.messages else []
    for number, text in enumerate(texts or [message.content for message in look.messages]):
        said = text.strip() if isinstance(text, str) else ""
        if said in _SURE or said in _LIKELY:
            severity = None if said in _SURE else Severity.INFO
            yield Fault(f"{look.name(number)} is `{said}`", said, severity, message=number)
