"""Repairs of what messages say: JSON stored as text, white space at the edges, missing content, control tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sftui.conversations.messages import joined_parts, no_text, printed_list
from sftui.findings.words import REASONING, WANTED, without_code
from sftui.repairs.model import Controls, Data, Item, Repair, RepairLayout, RepairLog, each, put, quote
from sftui.repairs.splice import lossless
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


def parse_json(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """Messages, the tool list and arguments of tool calls that are stored as JSON text become what the text says."""
    lists = dict.fromkeys((*layout.columns, layout.tools), Mapping) | {layout.history: list}
    for column, kind in lists.items():
        found = _loaded(data.get(column), list) if column else None
        if not column or found is None or not all(isinstance(one, kind) for one in found):
            continue
        if kind is Mapping or (found and all(len(pair) == 2 for pair in found)):
            data = put(data, column, found)
            log.note(column, f"JSON text became a list of {len(found)}")

    def repair(place: str, item: Item) -> Item:
        calls = item.get("tool_calls")
        whole = _loaded(calls, list)
        if whole is not None:
            log.note(f"{place}.tool_calls", "JSON text became a list")
            return put(item, "tool_calls", whole)
        return item

    data = layout.each_item(data, repair)
    return _each_call(data, layout, log, _call, ".arguments", "JSON text became a mapping")


def wrap_calls(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """Tool calls that hold name and arguments themselves hold them under `function`, as OpenAI writes them."""

    def wrapped(call: Any) -> Any:
        if not isinstance(call, Mapping) or "function" in call or not isinstance(call.get("name"), str):
            return None
        function = {key: call[key] for key in ("name", "arguments", "parameters") if key in call}
        rest = {key: value for key, value in call.items() if key not in function}
        return {"type": "function", **rest, "function": function}

    return _each_call(data, layout, log, wrapped, "", "was put under `function`")


def _each_call(
    data: Data, layout: RepairLayout, log: RepairLog, made: Callable[[Any], Any], place_in: str, what: str
) -> Data:
    """The data with each tool call as it is made anew; a call of which None is made stays."""

    def repair(place: str, item: Item) -> Item:
        calls = item.get("tool_calls")
        if not isinstance(calls, (list, tuple)):
            return item

        def of_call(number: int, call: Any) -> Any:
            new = made(call)
            if new is not None:
                log.note(f"{place}.tool_calls[{number}]{place_in}", what)
            return call if new is None else new

        return put(item, "tool_calls", each(calls, of_call))

    return layout.each_item(data, repair)


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


def join_parts(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """Contents that are lists of text parts become one text, the parts end to end, as published templates print them.

    ConversationError where a part is an image, a call or anything else that is no text.
    """

    def joined(place: str, content: Any) -> Any:
        if not isinstance(content, (list, tuple)) or not content:
            return content
        text = joined_parts(content)
        if text is None:
            raise no_text(content, place)
        log.note(place, f"{many(len(content), 'part')} became one text")
        return text

    return layout.each_content(data, (), joined)


def trim(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """White space at the edges of every message goes; a message of white space only stays: emptied it would say
    nothing.

    So it does in columns that become messages (`RepairLayout.said`), and in the history.
    """

    def cut(place: str, text: Any) -> Any:
        if not isinstance(text, str) or text.strip() in ("", text):
            return text
        inner = text.strip()
        head, _, tail = text.partition(inner)
        gone = [f"{quote(edge)} at the {where}" for edge, where in ((head, "start"), (tail, "end")) if edge]
        log.note(place, f"cut {' and '.join(gone)}")
        return inner

    return layout.each_content(data, layout.said, cut)


def fill_content(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """Content that is null or missing becomes "", but for an answer that says nothing else: that is one to drop.

    A number or a truth value becomes its JSON text. In the history only a question can be missing.
    """

    def fill(place: str, content: Any, empty: bool) -> Any:
        """The content as text; "" in place of None where it may be `empty`."""
        if (text := _number(content)) is not None:
            log.note(place, f"the value {text} became text")
            return text
        if content is not None or not empty:
            return content
        log.note(place, "a missing value became empty text")
        return ""

    def repair(place: str, item: Item) -> Item:
        says = any(item.get(key) for key in ("tool_calls", *REASONING))
        empty = says or layout.role_of(item) != "assistant"
        return put(item, layout.content, fill(f"{place}.{layout.content}", item.get(layout.content), empty))

    data = layout.each_item(data, repair)
    return layout.each_turn(data, lambda place, turn: fill(place, turn, place.endswith("[0]")))


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

    def apply(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
        def of_text(place: str, content: str) -> str:
            text, gone = cleaned(content)
            if gone:
                log.note(place, "removed " + ", ".join(map(quote, gone)))
            return text if gone else content

        def of_content(place: str, content: Any) -> Any:
            def of_part(number: int, part: Any) -> Any:
                said = part.get("text") if isinstance(part, Mapping) else None
                return put(part, "text", of_text(f"{place}[{number}].text", said)) if isinstance(said, str) else part

            if isinstance(content, str):
                return of_text(place, content)
            return each(content, of_part) if isinstance(content, list) else content

        return layout.each_content(data, layout.texts, of_content)

    return Repair("strip-tokens", "remove control tokens from the text", apply)
