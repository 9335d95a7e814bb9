"""Rows of every shape that becomes messages, and what a conversation says however it is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sftui.conversations import as_chat, convert, detect
from sftui.conversations.messages import ROLE_ALIASES
from sftui.model import Conversation, Row
from sftui.recipe import Data

WEATHER = {
    "name": "weather",
    "description": "Weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
WRAPPED = {"type": "function", "function": WEATHER}
PARIS = {"name": "weather", "arguments": {"city": "Paris"}}
CALL = {"type": "function", "function": PARIS}
ASKED = {"role": "user", "content": "Weather in Paris?"}
TOLD = {"role": "assistant", "content": "It is sunny."}
CALLING = {"role": "assistant", "content": "", "tool_calls": [CALL]}
FOUND = {"role": "tool", "content": '{"sky": "sunny"}'}
TURNS = [ASKED, CALLING, FOUND, TOLD]


def turn(role: str, text: Any, **more: Any) -> dict[str, Any]:
    return {"from": role, "value": text, **more}


SHAPES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    # shape → the row, and the row that hf-trainer, or a trainer that cannot read it, gets of it
    "sharegpt": (
        {"id": 7, "conversations": [turn("system", "Be short."), turn("human", "hi"), turn("gpt", "Hello.")]},
        {
            "id": 7,
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "Hello."},
            ],
        },
    ),
    "sharegpt, system beside": (
        {"system": "Be short.", "conversations": [turn("human", "hi"), turn("gpt", "Hello.")], "source": "x"},
        {
            "source": "x",
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "Hello."},
            ],
        },
    ),
    "sharegpt, marks of turns": (
        {"conversations": [turn("human", "hi"), turn("gpt", "Hello.", weight=0, train=False, reasoning_content="Hm.")]},
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": "Hello.",
                    "weight": 0,
                    "train": False,
                    "reasoning_content": "Hm.",
                },
            ]
        },
    ),
    "function_call and observation": (
        {
            "conversations": [
                turn("human", ASKED["content"]),
                turn("function_call", json.dumps(PARIS)),
                turn("observation", FOUND["content"]),
                turn("gpt", TOLD["content"]),
            ],
            "tools": json.dumps([WEATHER]),
        },
        {"messages": TURNS, "tools": [WRAPPED]},
    ),
    "two calls behind a thought": (
        {
            "conversations": [
                turn("human", ASKED["content"]),
                turn("function_call", "<think>\nTwo.\n</think>\n" + json.dumps([PARIS, PARIS])),
                turn("observation", FOUND["content"]),
                turn("observation", FOUND["content"]),
                turn("gpt", TOLD["content"]),
            ],
        },
        {
            "messages": [
                ASKED,
                {"role": "assistant", "content": "<think>\nTwo.\n</think>\n", "tool_calls": [CALL, CALL]},
                FOUND,
                FOUND,
                TOLD,
            ],
        },
    ),
    "calls in tags": (
        {
            "conversations": [
                turn("human", ASKED["content"]),
                turn("function_call", f"I look.\n<tool_call>\n{json.dumps(PARIS)}\n</tool_call>"),
                turn("observation", FOUND["content"]),
                turn("gpt", TOLD["content"]),
            ],
        },
        {"messages": [ASKED, {**CALLING, "content": "I look."}, FOUND, TOLD]},
    ),
    "alpaca": (
        {"instruction": "Add.", "input": "", "output": "3"},
        {"messages": [{"role": "user", "content": "Add."}, {"role": "assistant", "content": "3"}]},
    ),
    "alpaca, input and history": (
        {
            "instruction": "Add.",
            "input": "1, 2",
            "output": "3",
            "system": "Be short.",
            "history": [["hi", "Hello."]],
            "id": "a",
        },
        {
            "id": "a",
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "Hello."},
                {"role": "user", "content": "Add.\n1, 2"},
                {"role": "assistant", "content": "3"},
            ],
        },
    ),
    "question and answer": (
        {"question": "1 + 2?", "answer": "3", "level": 1},
        {"level": 1, "messages": [{"role": "user", "content": "1 + 2?"}, {"role": "assistant", "content": "3"}]},
    ),
    "prompt and completion": (
        {"prompt": "1 + 2?", "completion": "3"},
        {"messages": [{"role": "user", "content": "1 + 2?"}, {"role": "assistant", "content": "3"}]},
    ),
    "prompt and completion of messages": (
        {"prompt": [ASKED], "completion": [TOLD]},
        {"messages": [ASKED, TOLD]},
    ),
    "another column and keys": (
        {"dialog": [{"speaker": "human", "text": "hi"}, {"speaker": "bot", "text": "Hello."}]},
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]},
    ),
    "messages as text": (
        {"messages": json.dumps([ASKED, TOLD])},
        {"messages": [ASKED, TOLD]},
    ),
    "calls and tools as text": (
        {
            "messages": [ASKED, {**CALLING, "tool_calls": json.dumps([CALL])}, FOUND, TOLD],
            "tools": json.dumps([json.dumps(WEATHER)]),
        },
        {"messages": TURNS, "tools": [WRAPPED]},
    ),
    "bare calls with ids": (
        {
            "messages": [
                ASKED,
                {**CALLING, "tool_calls": [{"id": "c1", **PARIS}]},
                {**FOUND, "tool_call_id": "c1"},
                TOLD,
            ],
            "tools": [WEATHER],
        },
        {
            "messages": [
                ASKED,
                {**CALLING, "tool_calls": [{"id": "c1", **CALL}]},
                {**FOUND, "tool_call_id": "c1"},
                TOLD,
            ],
            "tools": [WRAPPED],
        },
    ),
    "functions of OpenAI before tools": (
        {
            "messages": [
                ASKED,
                {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}},
                {"role": "function", "name": "weather", "content": "sunny"},
                TOLD,
            ],
            "functions": [WEATHER],
        },
        {
            "messages": [
                ASKED,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": "{}"}}],
                },
                {"role": "tool", "name": "weather", "content": "sunny"},
                TOLD,
            ],
            "tools": [WRAPPED],
        },
    ),
}

STAYS: Mapping[str, Mapping[str, Any]] = {
    "OpenAI JSONL": {"messages": [ASKED, TOLD], "weight": 1},
    "OpenAI JSONL with tools": {
        "messages": [
            ASKED,
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
            TOLD,
        ],
        "tools": [WRAPPED],
        "parallel_tool_calls": False,
    },
    "parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image"}]}, TOLD]},
}
"""Rows that are in OpenAI's shape already: not a byte of them changes."""


def row_of(data: Mapping[str, Any], index: int = 0) -> Row:
    return Row(index, data, json.dumps(data), f"rows.jsonl line {index + 1}")


def read(data: Mapping[str, Any], style: str = "newline") -> Conversation:
    """A row by no trainer's rules, calls told as such."""
    rules = Data(function_calls="tool_calls", alpaca_prompt=style)
    row = row_of(data)
    return as_chat(convert(row, detect([row], rules), rules))


def told(conversation: Conversation) -> list[Any]:
    """Roles, contents, calls and whatever else messages hold, in order, and the tools; JSON text as what it says,
    parts of text as the one text that a template prints."""
    messages = []
    for message in conversation.messages:
        held = {key: _said(value) for key, value in message.data.items()}
        if held.pop("function_call", None) and (call := message.data["function_call"]):
            held["tool_calls"] = [{"type": "function", "function": call}]
        if calls := held.get("tool_calls"):
            held["tool_calls"] = [_call(_said(call)) for call in calls]
        held["role"] = ROLE_ALIASES.get(message.role, message.role)
        parts = message.data.get("content")
        if isinstance(parts, list) and all(part.get("type") == "text" for part in parts):
            held["content"] = "".join(part.get("text", part.get("value")) for part in parts)
        messages.append(held)
    tools = [_said(tool) for tool in _said(conversation.tools) or ()]
    return [*messages, *(tool.get("function", tool) for tool in tools)]


def _said(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in "[{" else value
    except ValueError:
        return value


def _call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    held = call.get("function", call)
    return {"id": call.get("id"), "name": held["name"], "arguments": _said(held["arguments"])}
