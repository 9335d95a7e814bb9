"""The texts of a row: what is said in its messages, beside their content too, and where a text is only spoken of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sftui.findings.look import Look
from sftui.model import Message

REASONING = ("reasoning_content", "thinking", "reasoning")
"""Where messages keep their reasoning beside the content."""

_QUOTES = "\"'‘’“”«»*"
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def texts(look: Look) -> Iterator[tuple[int | None, str, bool]]:
    """Every text of the conversation with its message, and whether it is the content; None for a row that is one
    text."""
    conversation = look.conversation
    for number, message in enumerate(conversation.messages):
        content = message.data.get("content")
        if type(content) is str:
            yield number, content, True
        elif isinstance(content, (list, tuple)):
            yield from ((number, text, True) for part in content for text in part_texts(part))
        for key in (*REASONING, "tool_calls"):
            if message.data.get(key):
                yield from ((number, text, False) for text in words(message.data[key]))
    if conversation.prompt is not None:
        yield 0, conversation.prompt, True
    if conversation.completion is not None:
        yield 1, conversation.completion, True
    if conversation.text is not None:
        yield None, conversation.text, True


def part_texts(part: Any) -> Iterator[str]:
    """The text of a content part, under the key that OpenAI or ShareGPT give it."""
    if isinstance(part, str):
        yield part
    for key in ("text", "value"):
        if isinstance(part, Mapping) and isinstance(part.get(key), str):
            yield part[key]


def said(message: Message) -> Iterator[str]:
    """Every text of a message that a template may print: content, reasoning, and what its calls are given."""
    for key in ("content", *REASONING, "tool_calls"):
        yield from words(message.data.get(key) if key != "content" else message.content)


def words(value: Any) -> Iterator[str]:
    """Every string in nested data, keys of mappings too."""
    return (one for one in walk(value) if isinstance(one, str))


def walk(value: Any) -> Iterator[Any]:
    """Every value inside nested data in order, itself first; keys come before their values. Data may nest deeper than
    calls can."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, Mapping):
            waiting += [item for key, inner in reversed(list(one.items())) for item in (inner, key)]
        elif isinstance(one, (list, tuple)):
            waiting += reversed(one)


def without_code(text: str) -> str:
    """The text with its code, between backticks, blotted out: what stands there is shown and not said."""
    return _CODE.sub(lambda match: "`" * len(match.group()), text) if "`" in text else text


def spoken_of(text: str, start: int, end: int) -> bool:
    """Whether a mark at this place is quoted, or a word among the words of a sentence, and so only a mention."""
    before, after = text[:start].rpartition("\n")[2], text[end:].partition("\n")[0]
    if not before.strip() or not after.strip():
        return False
    if before[-1] in _QUOTES and after[0] in _QUOTES:
        return True
    among = before[-1] in " \t(" and (after.lstrip()[0].islower() or after[0] in ",.;:!?)")
    return among and before.rstrip()[-1] not in ".!?:"
