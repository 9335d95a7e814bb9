"""Repairs of what messages say: JSON stored as text, white space at the edges, missing content, control tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sftui.conversations.messages import joined_parts, no_text, printed_list
from sftui.findings.words import WANTED, without_code
from sftui.repairs.literals import lossless
from sftui.repairs.model import (
    Controls,
    Data,
    Item,
    Repair,
    RepairLayout,
    RowChange,
    each_content,
    each_item,
    each_turn,
    quote,
)
from sftui.text import many

# Special tokens by their looks; what data is meant to hold (reasoning, tools, code) is none of them.
_CONTROL = re.compile(
    r"<\|[^|<>\s]{1,60}\|>|<｜[^｜<>\s]{1,60}｜>|<(?:start|end)_of_turn>|<end_of_utterance>|<\|turn>|<turn\|>|</?s>|<(?:bos|eos|pad|unk|EOS)>"
    r"|\[(?:/?(?:INST|SYSTEM_PROMPT)|EOS)\]"
)
# What HTML strikes through inside a line; behind a mark `<s>` begins a text of the Llama 2 family.
_STRUCK = re.compile(r"(?<=[^\n>])<s>(?:(?!</?s>|\[/?INST)[^\n])*</s>")

_EXACT = 2.0**63
"""Larger integers were read as floats, and lost digits."""


def parse_json(data: Data, layout: RepairLayout) -> tuple[Data, tuple[RowChange, ...]]:
    """Messages, the tool list and arguments of tool calls that are stored as JSON text become what the text says."""
    changes: list[RowChange] = []
    new = dict(data)
    for column in (*layout.columns, *([layout.tools] if layout.tools else [])):
        found = _loaded(new.get(column), list)
        if found is not None and all(isinstance(one, Mapping) for one in found):
            new[column] = found
            changes.append(RowChange("parse-json", column, f"JSON text became a list of {len(found)}"))
    pairs = _loaded(new.get(layout.history), list) if layout.history else None
    if pairs and layout.history and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        new[layout.history] = pairs
        changes.append(RowChange("parse-json", layout.history, f"JSON text became a list of {len(pairs)}"))

    def repair(place: str, item: Item) -> tuple[Item, list[RowChange]]:
        calls = item.get("tool_calls")
        whole = _loaded(calls, list)
        some = [RowChange("parse-json", f"{place}.tool_calls", "JSON text became a list")] if whole is not None else []
        calls = calls if whole is None else whole
        if not isinstance(calls, (list, tuple)):
            return item, []
        out = []
        for number, call in enumerate(calls):
            made = _call(call)
            if made is not None:
                some.append(
                    RowChange("parse-json", f"{place}.tool_calls[{number}].arguments", "JSON text became a mapping")
                )
            out.append(call if made is None else made)
        return ({**item, "tool_calls": out} if some else item), some

    repaired, inner = each_item(new, layout, repair)
    changes += inner
    return (repaired, tuple(changes)) if changes else (data, ())


def _call(call: Any) -> dict[str, Any] | None:
    """A tool call with its arguments parsed, or None where they are no JSON text of a mapping."""
    if not isinstance(call, Mapping):
        return None
    function = call.get("function")
    if isinstance(function, Mapping):
        arguments = _loaded(function.get("arguments"), dict)
        return None if arguments is None else {**call, "function": {**function, "arguments": arguments}}
    arguments = _loaded(call.get("arguments"), dict)
    return None if arguments is None else {**call, "arguments": arguments}


def _loaded(value: Any, kind: type) -> Any:
    if not isinstance(value, str):
        return None
    try:
        found = lossless(value)
    except (ValueError, RecursionError):
        found = printed_list(value)
    return found if isinstance(found, kind) else None


def join_parts(data: Data, layout: RepairLayout) -> tuple[Data, tuple[RowChange, ...]]:
    """Contents that are lists of text parts become one text, the parts end to end, as published templates print them.

    ConversationError where a part is an image, a call or anything else that is no text.
    """

    def joined(place: str, content: Any) -> tuple[Any, list[RowChange]]:
        if not isinstance(content, (list, tuple)) or not content:
            return content, []
        text = joined_parts(content)
        if text is None:
            raise no_text(content, place)
        return text, [RowChange("join-parts", place, f"{many(len(content), 'part')} became one text")]

    return each_content(data, layout, (), joined)


def trim(data: Data, layout: RepairLayout) -> tuple[Data, tuple[RowChange, ...]]:
    """White space at the edges of every message goes; a message of white space only stays: emptied it would say
    nothing.

    So it does in columns that become messages (`RepairLayout.said`), and in the history.
    """

    def cut(place: str, text: Any) -> tuple[Any, list[RowChange]]:
        if not isinstance(text, str) or text.strip() in ("", text):
            return text, []
        inner = text.strip()
        head, tail = text[: text.index(inner)], text[text.index(inner) + len(inner) :]
        gone = " and ".join(
            [*([f"{quote(head)} at the start"] if head else []), *([f"{quote(tail)} at the end"] if tail else [])]
        )
        return inner, [RowChange("trim", place, f"cut {gone}")]

    return each_content(data, layout, layout.said, cut)


def fill_content(data: Data, layout: RepairLayout) -> tuple[Data, tuple[RowChange, ...]]:
    """Content that is null or missing becomes "", but for an answer that says nothing else: that is one to drop.

    A number or a truth value becomes its JSON text. In the history only a question can be missing.
    """

    def repair(place: str, item: Item) -> tuple[Item, list[RowChange]]:
        content = item.get(layout.content)
        if (text := _number(content)) is not None:
            return {**item, layout.content: text}, [
                RowChange("fill-content", f"{place}.{layout.content}", f"the value {text} became text")
            ]
        says = any(item.get(key) for key in ("tool_calls", "reasoning_content", "thinking", "reasoning"))
        if content is not None or (layout.role_of(item) == "assistant" and not says):
            return item, []
        return {**item, layout.content: ""}, [
            RowChange("fill-content", f"{place}.{layout.content}", "nothing became empty text")
        ]

    def fill(place: str, text: Any) -> tuple[Any, list[RowChange]]:
        if (made := _number(text)) is not None:
            return made, [RowChange("fill-content", place, f"the value {made} became text")]
        empty_prompt = text is None and place.endswith("[0]")
        return ("", [RowChange("fill-content", place, "nothing became empty text")]) if empty_prompt else (text, [])

    repaired, changes = each_item(data, layout, repair)
    repaired, more = each_turn(repaired, layout, fill)
    return repaired, (*changes, *more)


def _number(value: Any) -> str | None:
    """A number or a truth value as JSON text; None for anything else, and where the value is not the one that was
    stored."""
    if not isinstance(value, (int, float)) or (isinstance(value, float) and not abs(value) < _EXACT):
        return None
    return json.dumps(value)


def looks_like_control(text: str) -> Sequence[str]:
    """What in a text is a control token of some model family, by its looks alone; what code shows and HTML strikes
    through is none."""
    bare = _STRUCK.sub("", without_code(text))
    return [found for found in _CONTROL.findall(bare) if not any(word in found.lower() for word in WANTED)]


def strip_tokens(controls: Controls) -> Repair:
    """The repair that takes control tokens out of messages and text columns; `controls` finds them in a text."""

    def cleaned(text: str) -> tuple[str, list[str]]:
        gone: list[str] = []
        while found := [token for token in dict.fromkeys(controls(text)) if token and token in text]:
            for token in found:  # taking one out may put another together
                text = text.replace(token, "")
            gone += found
        return text, gone

    def change_of(place: str, gone: Sequence[str]) -> RowChange:
        return RowChange("strip-tokens", place, "took out " + ", ".join(quote(token) for token in gone))

    def of_content(place: str, content: Any) -> tuple[Any, list[RowChange]]:
        if isinstance(content, str):
            text, gone = cleaned(content)
            return text, [change_of(place, gone)] if gone else []
        if not isinstance(content, list):
            return content, []
        parts, some = [], []
        for number, part in enumerate(content):
            text, gone = (
                cleaned(part["text"]) if isinstance(part, Mapping) and isinstance(part.get("text"), str) else ("", [])
            )
            if gone:
                some.append(change_of(f"{place}[{number}].text", gone))
            parts.append({**part, "text": text} if gone else part)
        return parts, some

    def apply(data: Data, layout: RepairLayout) -> tuple[Data, tuple[RowChange, ...]]:
        return each_content(data, layout, layout.texts, of_content)

    return Repair("strip-tokens", "take control tokens out of the text", apply)
