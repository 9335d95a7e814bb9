"""Sets of which some answers think and others do not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sftui.findings.checks import Fault, chats, setup_check
from sftui.findings.context import Context
from sftui.findings.model import Severity
from sftui.findings.rule import case, chat, major
from sftui.findings.words import REASONING, text_of, thought_in
from sftui.model import Inspection, Message

_SWITCHES = ("enable_thinking", "thinking", "think", "reasoning_effort", "chat_template_kwargs", "system")
"""Columns that may say of a row whether it thinks."""
_WORD = re.compile(r"/(?:no_?)?think\b|\b(?:thinking|reasoning|step by step)\b", re.IGNORECASE)
_TELLS = 0.5
"""What tells the two kinds apart is in so much larger a share of the rows of one of them."""
_EMPTY = re.compile(r"<think>\s*</think>")
_FEW, _SHARE = 3, 0.05
_THOUGHT = "<think>They ask who.</think>Me."

THK007 = major(
    "reasoning-mixed",
    "some answers contain a thought and others do not, and nothing says which should",
    "The prompts are alike, so whether the model thinks is left to chance. Model families that do both rely on a"
    " switch in the prompt, or on an empty thought.",
    data="add a switch to the prompts, or train on rows of one kind only",
    bad=case(*[chat(f"Who? {n}", _THOUGHT) for n in range(3)], *[chat(f"Who? {n}", "Me.") for n in range(3, 6)]),
    good=case(*[chat("Who?", _THOUGHT)] * 3, *[chat("Who? /no_think", "Me.")] * 3),
)


@setup_check(THK007)
def mixed(context: Context, sample: Sequence[Inspection]) -> Iterator[Fault]:
    """THK007: rows of both kinds that no system prompt, word of a prompt, column or empty thought tells apart."""
    kinds: dict[bool, list[Inspection]] = {True: [], False: []}
    for row in chats(sample):
        thoughts = [one for one in map(_thought, _messages(row)) if one]
        if row.rendered is not None and any(one.role == "assistant" for one in _messages(row)):
            kinds[any(one in row.rendered.text for one in thoughts)].append(row)
    thinking, rest = kinds[True], kinds[False]
    if min(map(len, kinds.values())) < max(_FEW, _SHARE * (len(thinking) + len(rest))):
        return
    told = [Counter(sign for row in rows for sign in _signs(row)) for rows in (thinking, rest)]
    if any(abs(told[0][one] / len(thinking) - told[1][one] / len(rest)) >= _TELLS for one in told[0] | told[1]):
        return
    emptied = all(row.rendered is not None and _EMPTY.search(row.rendered.text) for row in rest)
    yield Fault(
        f"{len(thinking)} of {len(thinking) + len(rest)} rows checked have a thought before the answer and"
        f" {len(rest)} do not" + (", but have an empty one" if emptied else ", after prompts of the same kind"),
        "",
        Severity.INFO if emptied else None,
        of=rest,
    )


def _messages(row: Inspection) -> Sequence[Message]:
    return row.conversation.messages if row.conversation is not None else ()


def _thought(message: Message) -> str:
    beside = (one for key in REASONING if isinstance(one := message.data.get(key), str))
    return (next(beside, "") or thought_in(text_of(message)) or "").strip()


def _signs(row: Inspection) -> set[str]:
    """What a model may be told by whether to think: the system prompt, words of the prompts, and columns."""
    asked = [one for one in _messages(row) if one.role in ("system", "developer", "user")]
    system = next((text_of(one) for one in asked[:1] if one.role != "user"), "")
    words = {word.lower() for one in asked for word in _WORD.findall(text_of(one))}
    return {f"system {system}", *words, *(f"{name} {(row.row.data or {}).get(name)}" for name in _SWITCHES)}
