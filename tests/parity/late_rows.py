"""Rows of which one late one brings what those before it lack: a column, a key of a message, a kind of value.

`late_KIND_N`: N rows that are all alike, the late one, and three more like the first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Rows = list[dict[str, Any]]

BEFORE = (31, 32, 33, 1000)
"""How many rows come before the late one."""
TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Finds a word.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
}
TOOL_TEXT = json.dumps([TOOL])
CALL = {"type": "function", "id": "c1", "function": {"name": "find", "arguments": '{"word": "a"}'}}


def _chat(number: int) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": f"Ask {number}?"}, {"role": "assistant", "content": f"Say {number}."}]
    }


def _sharegpt(number: int) -> dict[str, Any]:
    return {"conversations": [{"from": "human", "value": f"Ask {number}?"}, {"from": "gpt", "value": f"Say {number}."}]}


def _alpaca(number: int) -> dict[str, Any]:
    return {"instruction": f"Ask {number}.", "output": f"Say {number}."}


def _query(number: int) -> dict[str, Any]:
    return {"query": f"Ask {number}?", "response": f"Say {number}."}


def _pair(number: int) -> dict[str, Any]:
    return {"prompt": f"Ask {number}? ", "completion": f"Say {number}."}


def _text(number: int) -> dict[str, Any]:
    return {"text": f"This is text {number}."}


def _nested(number: int) -> dict[str, Any]:
    """A chat that names tools and a system text where no column is."""
    return {**_chat(number), "meta": {"tools": [str(number)], "system": "none"}}


def _with(more: Mapping[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda row: {**row, **more}


def _said(**more: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The last message with more keys, or other values."""
    return lambda row: {**row, "messages": [*row["messages"][:-1], {**row["messages"][-1], **more}]}


def _called(row: dict[str, Any]) -> dict[str, Any]:
    asked, answer = row["messages"]
    call = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    return {**row, "messages": [asked, call, {"role": "tool", "content": "found"}, answer]}


HISTORY = [["Ask before?", "Said before."]]
KINDS: Mapping[str, tuple[Callable[[int], dict[str, Any]], Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "tools": (_chat, _with({"tools": [TOOL]})),
    "tools_text": (_chat, _with({"tools": TOOL_TEXT})),
    "tools_null": (_chat, _with({"tools": None})),
    "system": (_chat, _with({"system": "Be brief."})),
    "kwargs": (_chat, _with({"chat_template_kwargs": {"enable_thinking": False}})),
    "thinking": (_chat, _with({"enable_thinking": True})),
    "images": (_chat, _with({"images": []})),
    "text_beside": (_chat, _with({"text": "Beside."})),
    "prompt_beside": (_chat, _with({"prompt": "Beside.", "completion": "It."})),
    "nested": (_nested, _with({"tools": TOOL_TEXT, "system": "Be brief."})),
    "name": (_chat, _said(name="bob")),
    "reasoning": (_chat, _said(reasoning_content="Because.")),
    "calls": (_chat, _called),
    "parts": (_chat, _said(content=[{"type": "text", "text": "Said in parts."}])),
    "number": (_chat, _said(content=7)),
    "null_content": (_chat, _said(content=None)),
    "sharegpt_system": (_sharegpt, _with({"system": "Be brief."})),
    "sharegpt_tools": (_sharegpt, _with({"tools": TOOL_TEXT})),
    "input": (_alpaca, _with({"input": "More."})),
    "alpaca_system": (_alpaca, _with({"system": "Be brief."})),
    "alpaca_history": (_alpaca, _with({"history": HISTORY})),
    "alpaca_all": (_alpaca, _with({"input": "More.", "system": "Be brief.", "history": HISTORY})),
    "query_system": (_query, _with({"system": "Be brief."})),
    "query_history": (_query, _with({"history": HISTORY})),
    "query_messages": (_query, _with(_chat(0))),
    "pair_tools": (_pair, _with({"tools": [TOOL]})),
    "pair_messages": (_pair, _with(_chat(0))),
    "pair_number": (_pair, _with({"completion": 7})),
    "pair_ids": (_pair, _with({"input_ids": [5, 6]})),
    "text_pair": (_text, _with({"prompt": "Ask?", "completion": "Say."})),
    "text_labels": (_text, _with({"labels": [1]})),
    "text_number": (_text, _with({"text": 7})),
    "rejected": (_query, _with({"rejected_response": "No."})),
    "rejected_chat": (_chat, _with({"rejected_response": "No."})),
}


def _made(kind: str, before: int) -> Rows:
    row, late = KINDS[kind]
    rows = [row(number) for number in range(before + 4)]
    rows[before] = late(rows[before])
    return rows


def _rejected(kind: str) -> Rows:
    """Rows with a rejected answer each, of which some are null, empty, or the answer itself."""
    make = {"chat": _chat, "query": _query}[kind]
    rejected: list[Any] = ["No.", "Never.", "Say 2.", None, "", "say 5.", " Say 6.", ["No."], "No.", "Say 9."]
    return [{**make(number), "rejected_response": one} for number, one in enumerate(rejected)]


SETS: dict[str, Callable[[], Rows]] = {
    **{f"late_{kind}_{before}": partial(_made, kind, before) for kind in KINDS for before in BEFORE},
    **{f"rejected_{kind}": partial(_rejected, kind) for kind in ("chat", "query")},
    "rejected_texts_chat": lambda: [row for row in _rejected("chat") if isinstance(row["rejected_response"], str)],
    "rejected_texts_query": lambda: [row for row in _rejected("query") if isinstance(row["rejected_response"], str)],
    "rejected_one_null": lambda: [
        *({**_query(n), "rejected_response": "No."} for n in range(120)),
        {**_query(120), "rejected_response": None},
    ],
}
