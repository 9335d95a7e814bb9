"""A row of type chat_template → its turns, as Axolotl hands them to the chat template.

Source: axolotl 0.19.0, prompt_strategies/chat_template.py (get_conversation_thread,
transform_message, _convert_content_parts, _get_tools). What raises there stops the whole run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sftui.conversations.messages import DETAIL_KEYS
from sftui.errors import ConversationError
from sftui.model import Conversation, Kind, Message
from sftui.trainers.axolotl.settings import DatasetSettings

STOPS = "Axolotl stops the whole run at this row"
THINKING = (("<think>", "</think>"), ("<reasoning>", "</reasoning>"), ("<|begin_of_thought|>", "<|end_of_thought|>"))
SOLUTION = ("<|begin_of_solution|>", "<|end_of_solution|>")


def read_turns(row: Mapping[str, Any], settings: DatasetSettings, has_system: bool, where: str) -> Conversation:
    """The conversation of a row; ConversationError where Axolotl's own code would raise.

    `has_system` says whether the dataset has a column `system`, which counts for every row of it.
    Messages keep all their keys here; which of them the template gets depends on the template, so
    `turns_of` reads them once more from `extra["row"]` when it is known.
    """
    row = without_none(row)
    read = {settings.field_messages: row.get(settings.field_messages), "system": row.get("system")}
    extra = {"row": read, "has_system": has_system, "where": where}
    turns, origins = _turns(extra, settings, None)
    notes: tuple[str, ...] = ()
    if len(turns) < len(_messages(row.get(settings.field_messages), settings.field_messages, where)):
        notes = ("drop_system_message: the data's system message is dropped",)
    return Conversation(
        Kind.CHAT,
        "messages",
        tuple(_message(turn, origin) for turn, origin in zip(turns, origins)),
        tools=_tools(row.get("tools"), where),
        extra=extra,
        notes=notes,
    )


def turns_of(
    conversation: Conversation, settings: DatasetSettings, template_keys: frozenset[str]
) -> tuple[Mapping[str, Any], ...]:
    """The turns as the chat template gets them: of a message only mapped keys and those the template reads."""
    return tuple(_turns(conversation.extra, settings, template_keys)[0])


def _turns(
    extra: Mapping[str, Any], settings: DatasetSettings, template_keys: frozenset[str] | None
) -> tuple[list[dict[str, Any]], list[str]]:
    row, where, column = extra["row"], extra["where"], settings.field_messages
    messages = _messages(row.get(column), column, where)
    first = _transformed(messages[0], settings, template_keys, f"{where}, {column}[0]")
    if "role" not in first:
        raise _stop("the first message has no role", f"{where}, {column}[0]", "KeyError 'role'")
    origins = [f"{column}[{index}]" for index in range(len(messages))]
    turns = [_turn(one, settings, template_keys, f"{where}, {origin}") for one, origin in zip(messages, origins)]
    if extra["has_system"] and first["role"] != "system":
        turns.insert(0, {"role": "system", "content": row.get("system")})
        origins.insert(0, "system")
    if settings.own.drop_system_message and turns[0].get("role") == "system":
        return turns[1:], origins[1:]
    return turns, origins


def without_none(value: Any) -> Any:
    """The value without mapping entries that are null, at any depth; list items stay."""
    if isinstance(value, Mapping):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [without_none(item) for item in value]
    return value


def _message(turn: Mapping[str, Any], origin: str) -> Message:
    trained = turn.get("training")
    return Message(turn, origin, None if trained is None else bool(trained))


def _messages(value: Any, column: str, where: str) -> Sequence[Mapping[str, Any]]:
    if value is None:
        raise _stop("there are no messages", where, f"the column `{column}` (field_messages) is missing or null")
    if isinstance(value, str):
        value = _json(value, f"`{column}`", where)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise _stop(f"`{column}` is not a list of messages", where, "Axolotl expects a list of mappings, or its JSON")
    if not value:
        raise _stop(f"`{column}` is empty", where, "IndexError at its first message")
    return value


def _turn(
    message: Mapping[str, Any], settings: DatasetSettings, template_keys: frozenset[str] | None, where: str
) -> dict[str, Any]:
    turn = _transformed(message, settings, template_keys, where)
    turn.update({ours: message[key] for ours, key in settings.flags.items() if message.get(key) is not None})
    for key, detail in zip(("content", settings.thinking_key), DETAIL_KEYS):
        if isinstance(turn.get(key), list):
            turn[key], details = _joined_parts(turn[key], where)
            if details is not None:
                turn[detail] = details
    return turn


def _transformed(
    message: Mapping[str, Any], settings: DatasetSettings, template_keys: frozenset[str] | None, where: str
) -> dict[str, Any]:
    turn = {ours: message[theirs] for ours, theirs in settings.mapping.items() if message.get(theirs) is not None}
    if isinstance(turn.get("role"), str):
        turn["role"] = settings.roles.get(turn["role"], turn["role"])
    if settings.own.split_thinking and "role" not in turn:
        raise _stop("the message has no role", where, "split_thinking reads it: KeyError 'role'")
    if settings.own.split_thinking and turn["role"] == "assistant":
        content = turn.get("content")
        if isinstance(content, str):
            _split_thinking(turn, settings.thinking_key)
        elif not isinstance(content, (list, Mapping)):  # parts are joined later, and never split
            raise _stop("the message has no text to split", where, "split_thinking looks for tags in its content")
    sources = set(settings.mapping.values())
    for key, value in message.items():
        # A key that the template reads wins over a mapped one of the same name, as in Axolotl.
        read = key in template_keys if template_keys is not None else key not in turn
        if read and key not in sources and value is not None:
            turn[key] = value
    calls = turn.get("tool_calls")
    if isinstance(calls, list) and template_keys is not None:
        turn["tool_calls"] = [_parsed(call, "arguments", "the arguments of a tool call", where) for call in calls]
    return turn


def _split_thinking(turn: dict[str, Any], thinking_key: str) -> None:
    """The first known pair of tags in the content becomes the thinking, what follows the content."""
    content: str = turn["content"]
    for opening, closing in THINKING:
        if opening in content and closing in content:
            start, end = content.find(opening), content.find(closing)
            turn[thinking_key] = content[start + len(opening) : end].strip()
            rest = content[end + len(closing) :].lstrip()
            if all(mark in rest for mark in SOLUTION):
                rest = rest[rest.find(SOLUTION[0]) + len(SOLUTION[0]) : rest.find(SOLUTION[1])].strip()
            turn["content"] = rest
            return


def _joined_parts(parts: Sequence[Any], where: str) -> tuple[str, list[dict[str, Any]] | None]:
    """Content parts as one text, and their `train` or `weight` as character ranges where any part says so."""
    texts: list[str] = []
    details: list[dict[str, Any]] = []
    stated, offset = False, 0
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        text = part.get("text") or part.get("content") or part.get("value") or ""
        if not isinstance(text, str):
            raise _stop("a part of the message's content is not text", where, "Axolotl joins its parts: TypeError")
        texts.append(text)
        train, weight = part.get("train"), part.get("weight")
        stated = stated or train is not None or weight is not None
        trained = train if train is not None else True if weight is None else weight not in (0, 0.0)
        if text:
            details.append({"begin_offset": offset, "end_offset": offset + len(text) - 1, "train": trained})
            offset += len(text)
    return "".join(texts), details if stated else None


def _parsed(call: Any, key: str, what: str, where: str) -> Any:
    """A tool, or a call of one, with what its function has as JSON text under a key parsed."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get(key), str):
        return call
    return {**call, "function": {**function, key: _json(function[key], what, where)}}


def _tools(tools: Any, where: str) -> Any:
    """The tools; their column is always `tools`, and an empty list is none."""
    if isinstance(tools, str):
        tools = _json(tools, "`tools`", where)
    if tools is None:
        return None
    if not isinstance(tools, list):
        raise _stop("the tools are not a list", where, "Unknown tools format")
    return [_parsed(tool, "parameters", "the parameters of a tool", where) for tool in tools] or None


def _json(text: str, what: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _stop(f"{what} cannot be read", where, "it is text, but not valid JSON") from error


def _stop(what: str, where: str, why: str) -> ConversationError:
    return ConversationError(f"{STOPS}: {what}", where=where, why=why, fix="fix or remove the row")
