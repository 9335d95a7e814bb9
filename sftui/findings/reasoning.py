"""Reasoning: whether it survives the template, and whether its tags are whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sftui.findings.checks import Checks
from sftui.findings.look import Look, shown
from sftui.findings.model import Finding

_THINK = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_QUOTES = "\"'‘’“”«»*"
KEYS = ("reasoning_content", "thinking", "reasoning")
"""Where messages keep their reasoning beside the content."""


def lost(look: Look) -> Iterator[Finding]:
    """THK001, THK003 and THK004: reasoning whose text is nowhere in the rendering."""
    rendered = look.inspection.rendered
    if rendered is None:
        return
    last = max((number for number, role in enumerate(look.roles) if role == "assistant"), default=-1)
    stripped: list[int] = []
    for number, message in enumerate(look.messages):
        if message.role != "assistant":
            continue
        key = next((key for key in KEYS if isinstance(message.data.get(key), str) and message.data[key].strip()), None)
        if key is not None and not _stands(message.data[key], rendered.text):
            source = look.context.template.source if look.context.template is not None else ""
            if not any(name in source for name in KEYS):
                yield look.finding(
                    "THK003",
                    f"the `{key}` of message {number} does not appear in the rendered text",
                    message=number,
                    evidence=shown(message.data[key]),
                )
                return
            stripped.append(number)
        match = _THINK.search(look.text_of(message))
        if match and match.group(1).strip() and not _stands(match.group(1), rendered.text):
            stripped.append(number)
    if not stripped:
        return
    number = stripped[0]
    if last in stripped:
        yield look.finding(
            "THK004", f"the template removes the reasoning of message {last}, the last answer", message=last, evidence=_reason(look, last)
        )
    elif stripped:
        some = f"{len(stripped)} earlier answers" if len(stripped) > 1 else f"message {number}"
        yield look.finding("THK001", f"the template strips the reasoning of {some}", message=number, evidence=_reason(look, number))


def _reason(look: Look, number: int) -> str:
    message = look.messages[number]
    match = _THINK.search(look.text_of(message))
    said = match.group(1) if match else next((str(message.data[key]) for key in KEYS if message.data.get(key)), "")
    return shown(said.strip())


def _stands(said: str, text: str) -> bool:
    return said.strip() in text


def unbalanced(look: Look) -> Iterator[Finding]:
    """THK005: opening and closing tags of one answer differ in number; a mention in prose or code is none."""
    for number, message in enumerate(look.messages):
        text = look.text_of(message)
        if message.role != "assistant" or "think>" not in text:
            continue
        plain = re.sub(r"`[^`]*`", "", text)
        opened, closed = plain.count("<think>"), plain.count("</think>")
        if opened == closed:
            continue
        # A tag in the middle of a sentence is talked about; one at an edge of the text, a line or a sentence is meant.
        if closed > opened and sum(_closes(plain, match) for match in re.finditer("</think>", plain)) <= opened:
            continue
        if opened > closed and not re.search(r"(^|\n)\s*<think>", plain):
            continue
        what = "opens a think block and never closes it" if opened > closed else "closes a think block that it never opened"
        at = text.find("<think>" if opened > closed else "</think>")
        yield look.finding("THK005", f"message {number} {what}", message=number, evidence=shown(text[max(0, at - 20) : at + 40]))
        return


def _closes(text: str, tag: re.Match[str]) -> bool:
    """Whether a closing tag ends a thought; one that is quoted, or a word among the words of a sentence, is a mention."""
    before, after = text[: tag.start()].rpartition("\n")[2], text[tag.end() :].partition("\n")[0]
    if not before.strip() or not after.strip():
        return True
    if before[-1] in _QUOTES and after[0] in _QUOTES:
        return False
    among = before[-1].isspace() and (after.lstrip()[0].islower() or after[0] in ",.;:!?)")
    return not among or before.rstrip()[-1] in ".!?:"


CHECKS = Checks(conversation=(lost, unbalanced))
