"""A conversation written out as a row that every trainer knows: `messages` with `tool_calls`, and `tools`.

The shape is that of OpenAI's chat format, as transformers' chat templates take it. Nothing is made up: a call or a
result without an id stays without one, but where a trainer stops at that, and arguments stay text or object as they
were.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sftui.conversations.detected import mistyped, type_word
from sftui.conversations.messages import CALL_ROLE, is_missing, joined_parts, no_text, parse_json
from sftui.errors import ConversationError
from sftui.model import DESIRABLE, SIDES, Conversation, Kind, Message, common_prefix
from sftui.values import value_class

MESSAGES, TOOLS = "messages", "tools"
RESULT = "tool"
LEGACY_RESULT = "function"
"""The role of a function's result besides the key `function_call`, which OpenAI had before tool calls."""
_AROUND = re.compile(r"\s*<tool_call>\s*(.*?)\s*</tool_call>\s*", re.DOTALL)
_THOUGHT = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)


@value_class
class OpenAIRow:
    """The row, and what was done in it besides naming things anew: kinds by the number of places."""

    row: dict[str, Any]
    done: Mapping[str, int]


def openai_row(
    data: Mapping[str, Any],
    conversation: Conversation,
    used: Collection[str],
    *,
    tools_as_text: bool = False,
    arguments_as_text: bool = False,
    empty_tools: bool = False,
    name_calls: bool = False,
    between: str | None = None,
    columns: Mapping[str, str] = {},
    single: bool = False,
) -> OpenAIRow:
    """The row with `messages`, and `tools` where it has some, in place of the columns `used`; all others stay.

    A preference has its parts in `columns` instead: its chosen and its rejected answer, each whole or behind their
    prompt, where that has a column, and as one message where `single`.

    `tools_as_text`: the tool list is JSON text, `arguments_as_text`: those of calls that are written anew are,
    `empty_tools`: a row without tools has an empty list, `name_calls`: results name the calls that they answer,
    `between`: what stands between text parts that become one text (None: parts stay parts). ConversationError for what
    cannot be carried: texts without turns, stored ids, calls that are no calls, parts that are no text, and a column
    that has one of the two names already and was not read.
    """
    if conversation.kind is not Kind.CHAT:
        raise ConversationError("the row has no turns that can become messages", why=_HELD[conversation.kind])
    prompt = conversation.messages[: conversation.prompt_messages or 0]
    if not columns and any(message.role == "assistant" for message in prompt):
        raise ConversationError(
            "the prompt contains answers, which are not trained",
            why="`messages` cannot mark where the prompt ends, so they would be trained",
            fix="keep prompt and completion: trainers that support these columns read them",
        )
    rest = {str(name): value for name, value in data.items() if name not in used}
    legacy = "functions" in rest or any(message.data.get(CALL_ROLE) for message in conversation.messages)
    functions = rest.pop("functions", None) if legacy else None
    for name in (*(columns.values() or (MESSAGES,)), TOOLS):
        if name in rest:
            raise ConversationError(
                f"there is a column `{name}` as well as the one that is read", fix="remove or rename it"
            )
    done = Counter[str]()

    def turns(side: Conversation) -> list[dict[str, Any]]:
        made = [_message(message, legacy, arguments_as_text, done) for message in side.messages]
        if between is not None:
            made = [_as_text(one, message.origin, between, done) for one, message in zip(made, side.messages)]
        return _naming_calls(made, done) if name_calls else made

    sides = [turns(side) for side in conversation.sides]
    made = _parted(sides, columns, single, conversation.prompt_messages) if columns else {MESSAGES: sides[0]}
    if columns and conversation.rejected is None:
        made[columns.get("label", "label")] = conversation.extra[DESIRABLE]
    tools: Any = _tools(conversation.tools or functions, done)
    if tools and tools_as_text:
        tools = _stored(data, used, tools) or json.dumps(tools, ensure_ascii=False)
    return OpenAIRow({**rest, **made, **({TOOLS: tools} if tools or empty_tools else {})}, +done)


def _parted(
    sides: Sequence[Sequence[Any]], columns: Mapping[str, str], single: bool, begin: int | None
) -> dict[str, Any]:
    """The sides of a preference by column, what both begin with under that of the prompt, where there is one.

    The prompt is the first `begin` messages, or all that both begin with (None). ConversationError where they share no
    question, or an answer is not the one message that it must be.
    """
    if "prompt" not in columns:
        return {columns.get(name, name): side for name, side in zip(SIDES, sides)}
    if begin is None:
        begin = min(common_prefix(sides[0], sides[-1]), *(len(side) - 1 for side in sides))
    if not begin:
        what, why = "its two sides share no message", "without a column of its own, the prompt is what both begin with"
        raise ConversationError(what, why=why, fix="drop the row")
    answers = [side[begin:] for side in sides]
    longest = max(map(len, answers))
    if single and longest != 1:
        raise ConversationError(f"an answer has {longest} messages, where the trainer reads one", fix="drop the row")
    named = {columns.get(name, name): one[0] if single else one for name, one in zip(SIDES, answers)}
    return {columns["prompt"]: sides[0][:begin], **named}


def _as_text(message: dict[str, Any], where: str, between: str, done: Counter[str]) -> dict[str, Any]:
    parts = message.get("content")
    if not isinstance(parts, (list, tuple)) or not parts:
        return message
    text = joined_parts(parts, between)
    if text is None:
        raise no_text(parts, where)
    done["content"] += 1
    return {**message, "content": text}


def _naming_calls(messages: list[dict[str, Any]], done: Counter[str]) -> list[dict[str, Any]]:
    """Results that name no call answer those before them, in order."""
    named, waiting = list[dict[str, Any]](), list[str]()
    for message in messages:
        if message.get("role") != RESULT:
            calls = enumerate(message.get("tool_calls") or ())
            waiting = [str(call.get("id") or f"call_{number}") for number, call in calls]
        elif waiting:
            answered = waiting.pop(0)
            if not message.get("tool_call_id"):
                message = {**message, "tool_call_id": answered}
                done["tool_call_id"] += 1
        named.append(message)
    return named


def _stored(data: Mapping[str, Any], used: Collection[str], tools: Any) -> str | None:
    """The text by which a row has a tool list already; None where it has none."""
    return next(
        (text for column in used if isinstance(text := data.get(column), str) and parse_json(text) == tools), None
    )


_HELD = {
    Kind.STRINGS: "it has a plain-text prompt and completion",
    Kind.TEXT: "it is already text to train on",
    Kind.TOKENS: "it contains ids that are ready to train on",
}


def _message(message: Message, legacy: bool, as_text: bool, done: Counter[str]) -> dict[str, Any]:
    data, place = dict(message.data), message.origin
    calls = data.get("tool_calls")
    if data.get("role") == CALL_ROLE:
        data["role"] = "assistant"
        data["content"], calls = _turn_of_calls(data.get("content"), place, as_text)
        done["tool_calls"] += len(calls)
    elif data.get(CALL_ROLE):
        if calls:
            raise ConversationError("the message has both `function_call` and `tool_calls`", where=place)
        calls = [_call(_parsed(data[CALL_ROLE], "`function_call`", place), place, as_text)]
        data.setdefault("content", None)
        done["tool_calls"] += 1
    elif calls:
        made = _calls(calls, place, as_text)
        done["tool_calls"] += sum(before is not after for before, after in zip(calls, made))
        calls = made
    if legacy:
        data.pop(CALL_ROLE, None)
        if data.get("role") == LEGACY_RESULT:
            data["role"] = RESULT
    if calls:
        data["tool_calls"] = calls
    return data


def _turn_of_calls(content: Any, where: str, as_text: bool) -> tuple[str, list[Any]]:
    """The text and the calls of a turn whose role says that it is a call: JSON, a thought before it, tags around it."""
    if not isinstance(content, str):
        return "", _calls(content if isinstance(content, list) else [content], where, as_text)
    tagged = list(_AROUND.finditer(content))
    if tagged:
        text = _AROUND.sub("", content)
        held = [parse_json(one.group(1)) for one in tagged]
    else:
        thought = _THOUGHT.match(content)
        text = thought.group() if thought is not None else ""
        held = [parse_json(content[len(text) :])]
    calls = [call for one in held for call in (one if isinstance(one, list) else [one])]
    if not calls or any(is_missing(one) for one in held):
        raise ConversationError(
            "a turn that should be a call is not JSON", where=where, fix="fix the row, or give the turn another role"
        )
    return text, _calls(calls, where, as_text)


def _calls(calls: Any, where: str, as_text: bool) -> list[Any]:
    held = _parsed(calls, "`tool_calls`", where)
    if not isinstance(held, (list, tuple)):
        raise mistyped("tool_calls", held, "a list", where, "store a list")
    return [_call(_parsed(one, "a tool call", where), where, as_text) for one in held]


def _call(call: Any, where: str, as_text: bool) -> Any:
    """One call with its name and arguments under `function`; the very same where it has them there."""
    if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping):
        if isinstance(call["function"].get("name"), str):
            return call
    elif isinstance(call, Mapping) and isinstance(call.get("name"), str):
        named = {key: value for key, value in call.items() if key in ("name", "arguments")}
        if as_text and isinstance(named.get("arguments"), Mapping):
            named["arguments"] = json.dumps(named["arguments"], ensure_ascii=False)
        around = {key: value for key, value in call.items() if key not in (*named, "type")}
        return {**around, "type": "function", "function": named}
    raise ConversationError("a call has no name", where=where, fix="give it a name and arguments")


def _tools(tools: Any, done: Counter[str]) -> list[Any]:
    if not tools:
        return []
    listed, made = _parsed(tools, "`tools`", TOOLS), []
    if not isinstance(listed, (list, tuple)):
        raise mistyped("tools", listed, "a list", TOOLS, "store a list of tools")
    for tool in listed:
        held = _parsed(tool, "a tool", TOOLS)
        if not isinstance(held, Mapping):
            raise ConversationError(f"a tool is {type_word(held)}, not an object", where=TOOLS, fix="fix the row")
        bare = "function" not in held and "name" in held
        made.append({"type": "function", "function": held} if bare else held)
        done["tools"] += bare or isinstance(tool, str)
    return made


def _parsed(value: Any, what: str, where: str) -> Any:
    """The value, or what a text of it says in JSON."""
    if not isinstance(value, str):
        return value
    parsed = parse_json(value)
    if is_missing(parsed):
        raise ConversationError(f"{what} is text that is not JSON", where=where, fix="store it as JSON")
    return parsed


def columns_of(fields: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that a conversation is made of, as `Detection.fields` names them; template variables are none."""
    return tuple(column for name, column in fields.items() if column and name != "template_kwargs")
