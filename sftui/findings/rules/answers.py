"""What answers say: the same over and over, no JSON where it is asked for, or something to an empty question."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sftui.findings.checks import CHATS, CONVERSATION, Fault, row_check
from sftui.findings.dataset import SPOKEN
from sftui.findings.look import JSON, RowLook, shown
from sftui.findings.rule import DROP, GOOD, case, chat, major
from sftui.findings.rules.roles import raw_message
from sftui.findings.words import text_of, without_code, without_thoughts

CON019 = major(
    "answer-in-a-loop",
    "an answer repeats itself over and over",
    "Generators loop like this until they hit their length limit, and a model trained on it learns to loop.",
    data="generate the answer again",
    repair=(DROP,),
    inherent=True,
    bad=case(chat("Why?", "It is so. " + "And then it goes on. " * 40)),
    good=case(chat("Why?", "".join(f"It is so for reason {i}. " for i in range(40)))),
)
_PIECE, _TIMES, _RUN = 32, 6, 300
"""Characters that are looked for again, how often a piece has to stand, and characters from which on it is a loop."""


@row_check(CONVERSATION, CON019, kinds=SPOKEN)
def in_a_loop(look: RowLook) -> Iterator[Fault]:
    """CON019: a piece with letters that follows itself; loops of code are none."""
    for number, text in look.written:
        if len(text) < _RUN:
            continue
        for at in (len(text) - _PIECE, len(text) // 2, len(text) * 3 // 4):
            if text.count(text[at : at + _PIECE]) < _TIMES:
                continue
            start, end, period = _run(text, at)
            unit = without_code(text)[start : start + period]
            if end - start >= max(_RUN, _TIMES * period) and any(map(str.isalpha, unit)):
                what = f"{look.name(number)} repeats {shown(unit.strip(), 40)} {(end - start) // period} times in a row"
                yield Fault(what, shown(text[start : start + 80]), message=number)


def _run(text: str, at: int) -> tuple[int, int, int]:
    """The stretch around a place in which a text repeats itself, and after how many characters it does."""
    again = text.find(text[at : at + _PIECE], at + 1)
    if again < 0:
        at, again = text.rfind(text[at : at + _PIECE], 0, at + _PIECE - 1), at
    period, start, end = again - at, at, again
    unit = text[at:again]
    while text.startswith(unit, end):
        end += period
    while start >= period and text.startswith(unit, start - period):
        start -= period
    return start, end, period


CON020 = major(
    "question-empty",
    "a user message is empty",
    "It has no text and no image, so the model learns to answer an empty message.",
    data="fill the message",
    repair=(DROP,),
    inherent=True,
    bad=case(chat("", "Hello.")),
)


@row_check(CONVERSATION, CON020, shape=lambda shape, _: shape.manner.mute and "user" in shape.roles, kinds=CHATS)
def asked_nothing(look: RowLook) -> Iterator[Fault]:
    """CON020: a user's message of white space, in the row as well as to the trainer; null is CON001's."""
    for number in look.read.manner.mute:
        content = look.messages[number].content
        stored = raw_message(look, number).get("content", content if isinstance(content, str) else None)
        if look.roles[number] == "user" and _bare(content) and _bare(stored):
            yield Fault(f"user message {number} is empty", message=number)


def _bare(content: Any) -> bool:
    """Whether there is neither text nor anything else in it."""
    parts = content if isinstance(content, (list, tuple)) else [content]
    texts = [
        one.get("text") if isinstance(one, Mapping) and one.get("type") in (None, "text") else one for one in parts
    ]
    return all(isinstance(one, str) and not one.strip() for one in texts)


CON021 = major(
    "answer-no-json",
    "an answer should be JSON but is not",
    "The system or user message asks for JSON only, or the row has a response_format, but the answer cannot be"
    " parsed. Programs that read such answers will fail.",
    data="write the answer as JSON",
    repair=(DROP,),
    inherent=True,
    bad=case(chat("Name him. Reply only with valid JSON.", "{'name': 'Ann', 'old': True}")),
    good=case(chat("Name him. Reply only with valid JSON.", '```json\n{"name": "Ann"}\n```')),
    more=(case({**GOOD, "response_format": {"type": "json_object"}}),),
)
_ASKED = re.compile(
    r"(?:^|[.!?:;\n])(?P<said>[^.!?:;\n]*\b(?:respond|reply|answer|return|output|produce|generate|write)\b[^.!?:;\n]*)",
    re.IGNORECASE,
)
_STRICT = re.compile(
    r"\b(?:only|valid|strictly|exclusively|nothing but|just)\b[^.]{0,30}\bJSON\b"
    r"|\bJSON\b[^.]{0,30}\b(?:only|alone|nothing (?:else|more))\b",
    re.IGNORECASE,
)
_UNLESS = re.compile(r"\b(?:if|when|unless|not|never|don't|tool|tools|function|functions|each)\b", re.IGNORECASE)
_FORMATS = ("json_object", "json_schema", "json")
_LINES = re.compile(r"(?:\{.*\}[ \t]*\n)+\{.*\}")
"""A value on each line, as in JSON Lines."""


@row_check(
    CONVERSATION,
    CON021,
    of=lambda shape: not shape.tools,
    kinds=CHATS,
    signs=lambda shape, _: "" if "response_format" in shape.columns else JSON,
)
def no_json(look: RowLook) -> Iterator[Fault]:
    """CON021: of answers that call nothing, those that a sentence or the row's response_format wants as JSON."""
    if look.calls:
        return
    form = (look.inspection.row.data or {}).get("response_format")
    form = form.get("type") if isinstance(form, Mapping) else form
    always = asked = form in _FORMATS
    for number, (role, message) in enumerate(zip(look.roles, look.messages)):
        said = text_of(message)
        if role == "system":
            always = asked = always or _wants_json(said)
        elif role == "user":
            asked = always or _wants_json(said)
        elif role == "assistant" and asked and said.strip():
            fault = _why_no_json(said)
            if fault:
                yield Fault(f"message {number} should be JSON but {fault}", shown(said.strip()), message=number)


def _wants_json(text: str) -> bool:
    found = _ASKED.finditer(text) if "JSON" in text else ()
    return any(_STRICT.search(one["said"]) and not _UNLESS.search(one["said"]) for one in found)


def _why_no_json(text: str) -> str:
    text = without_thoughts(text).strip()
    named, _, inside = text.partition("\n")
    if named.strip().lower() in ("```", "```json") and text.endswith("```"):
        text = inside[:-3].strip()
    text = f"[{','.join(text.splitlines())}]" if _LINES.fullmatch(text) else text
    try:
        json.loads(text)
    except RecursionError:
        return ""
    except ValueError as error:
        at = error.pos if isinstance(error, json.JSONDecodeError) else 0
        if text[:1] not in "{[":
            return "is plain text"
        if text.startswith(("'", "True", "False", "None"), at):
            return "is a Python literal"
        return f"stops being JSON at {shown(text[at : at + 12])}" if at < len(text) else "ends before it is closed"
    return ""
