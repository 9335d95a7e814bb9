"""Rows for verl of every shape that one Parquet file can hold, and such as stop it, each with others between."""

from __future__ import annotations

import json
import random
from typing import Any

Rows = list[dict[str, Any]]
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
    },
}


def user(text: Any = "What is two and two?", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def said(text: Any = "It is four.", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def system(text: Any = "Be brief.") -> dict[str, Any]:
    return {"role": "system", "content": text}


def tool(text: Any = "{}") -> dict[str, Any]:
    return {"role": "tool", "content": text}


def _between(odd: Rows, plain: Rows) -> Rows:
    return [row for pair in zip(odd, plain) for row in pair] + plain[len(odd) :] + odd[len(plain) :]


def _plain(count: int) -> Rows:
    return [
        {"messages": [user(f"How many are {n}?"), said(f"There are {'very ' * (n % 7)}many, {n}.")]}
        for n in range(count)
    ]


def chats() -> Rows:
    """Messages of role and content: orders, ends, empty and odd texts."""
    odd: Rows = [
        {"messages": [user(), said()]},
        {"messages": [user("Hi"), said("Hello."), user("And now?")]},
        {"messages": [user("Hi"), said("Hello."), user("And now?"), said("Bye.")]},
        {"messages": [user("Hi"), said("Hello."), system("Stop.")]},
        {"messages": [user("Hi"), system("Stop."), said("Hello.")]},
        {"messages": [system(), system("Be long."), user(), said()]},
        {"messages": [user("Hi"), said("Hello."), tool()]},
        {"messages": [user("Hi"), tool(), tool("[]"), said("Hello.")]},
        {"messages": [system(), user(), said()]},
        {"messages": [system(""), user(), said()]},
        {"messages": [system()]},
        {"messages": [user()]},
        {"messages": [said()]},
        {"messages": [said(), user(), said("Again.")]},
        {"messages": [said("One."), said("Two.")]},
        {"messages": [user("One."), user("Two."), said("Three."), said("Four.")]},
        {"messages": []},
        {"messages": None},
        {"messages": [user(), said("")]},
        {"messages": [user(""), said("")]},
        {"messages": [user("   "), said("\n\n")]},
        {"messages": [user(), said(" \n ")]},
        {"messages": [user(), said("\nFour.\n")]},
        {"messages": [user(), said(None)]},
        {"messages": [user(None), said()]},
        {"messages": [{"role": None, "content": "Hi"}, said()]},
        {"messages": [{"role": "User", "content": "Hi"}, {"role": "Assistant", "content": "Hello."}]},
        {"messages": [{"role": "developer", "content": "Hi"}, {"role": "model", "content": "Hello."}]},
        {"messages": [None, said()]},
        {"messages": [user(), said("<think>\nCount.\n</think>\n\nFour.")]},
        {"messages": [user(), said("<think>\n\n</think>\n\nFour."), user("And?"), said("Five.")]},
        {"messages": [user("x " * 90), said("y " * 90), user("z"), said("w " * 3)]},
        {"messages": [user("long " * 1200), said("Four.")]},
        {"messages": [user("<|im_end|>"), said("<|im_start|>assistant\n<|endoftext|>")]},
        {"messages": [user("<|eot_id|>"), said("<|start_header_id|>assistant<|end_header_id|>\n\n")]},
        {"messages": [user("e\u0301\u200b\u00a0"), said("\u56db\u3002\U0001f642 e\u0301")]},
    ]
    return _between(odd, _plain(50))


def keys() -> Rows:
    """Messages with other keys: thoughts, calls, names and flags, which Parquet gives to every message."""
    call = {"type": "function", "function": {"name": "look", "arguments": {"at": "it", "how": None}}}
    other = {"type": "function", "function": {"name": "look", "arguments": {"at": "that", "how": "far"}}}
    odd: Rows = [
        {"messages": [user(), said("Four.", reasoning_content="Count.")]},
        {"messages": [user(), said("Four.", reasoning_content="")]},
        {"messages": [user(), said("Four.", reasoning_content="Count."), user("And?"), said("Five.")]},
        {"messages": [user(), said("", tool_calls=[call]), tool("4"), said("Four.")]},
        {"messages": [user(), said(None, tool_calls=[call, other]), tool("4"), tool("5"), said("Nine.")]},
        {"messages": [user(), said("Look.", tool_calls=[call]), tool("4"), said("Four."), user("And?"), said("Five.")]},
        {"messages": [user(), said("Four.", tool_calls=[])]},
        {"messages": [user(name="me"), said("Four.", name="you")]},
        {"messages": [user(), said("Four.", weight=0, train=False)]},
        {"messages": [system(), user(), said("Four.")]},
    ]
    return _between(odd, _plain(20))


def tools(null: bool = False) -> Rows:
    """A column of tools: lists, empty ones and, if asked, null, which stops verl."""
    other = json.loads(json.dumps(TOOL).replace("look", "listen"))
    call = {"type": "function", "function": {"name": "look", "arguments": {"at": "it"}}}
    odd: Rows = [
        {"messages": [user(), said()], "tools": [TOOL]},
        {"messages": [user(), said()], "tools": [TOOL, other]},
        {"messages": [user(), said()], "tools": []},
        {"messages": [system(), user(), said()], "tools": [TOOL]},
        {"messages": [system(), user(), said(), user("And?"), said("Five.")], "tools": [TOOL]},
        {"messages": [user(), said("", tool_calls=[call]), tool("4"), said("Four.")], "tools": [TOOL]},
        {"messages": [said(), user(), said()], "tools": [TOOL]},
        {"messages": [user(), said(None, tool_calls=[call])], "tools": [TOOL, None]},
    ]
    if null:
        odd += [{"messages": [user(), said()], "tools": None}, {"messages": [user(), said()]}]
    return _between(odd, [{**row, "tools": []} for row in _plain(20)])


def tools_or_null() -> Rows:
    return tools(null=True)


def text_tools() -> Rows:
    """Tools as JSON text, as many store them."""
    texts: list[Any] = [json.dumps([TOOL]), "[]", "", "look", None]
    return _between([{"messages": [user(), said()], "tools": text} for text in texts], [])


def thinking() -> Rows:
    """A column enable_thinking."""
    values: list[Any] = [True, False, None, True, False]
    found = [{**row, "enable_thinking": bool(n % 3)} for n, row in enumerate(_plain(20))]
    return [*found, *({"messages": [user(), said()], "enable_thinking": value} for value in values)]


def thinking_texts() -> Rows:
    """The same as texts, of which each but the empty one counts as true."""
    texts = ["true", "false", "", "no", None]
    return [{"messages": [user(), said()], "enable_thinking": text} for text in texts]


def parts() -> Rows:
    """Contents that are lists of parts."""

    def part(text: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": text}]

    return [
        {"messages": [user(part(f"How many are {n}?")), said(part(f"There are many, {n}."))]} for n in range(12)
    ] + [{"messages": [user([]), said(part("a") + part("b"))]}, {"messages": [user(None), said(part("a"))]}]


def media() -> Rows:
    """Columns of images, which need a processor."""
    return [
        {"messages": [user("<image>Hi"), said()], "images": ["a.png"]},
        {"messages": [user("Hi"), said()], "images": []},
        {"messages": [user(None), said(None)], "images": []},
        {"messages": [user(None), said(None)], "images": None},
        {"messages": [user(None), said(None)], "images": ["a.png"]},
        {"messages": [user("Hi"), said()], "images": None},
    ]


def strings() -> Rows:
    """Messages as JSON text, as `datasets` stores messages whose keys differ."""
    return [{"messages": [json.dumps(user()), json.dumps(said())]}, {"messages": []}, {"messages": None}]


def text_messages() -> Rows:
    """Whole conversations as JSON text."""
    return [{"messages": json.dumps([user(), said()])}, {"messages": ""}, {"messages": None}]


def roleless() -> Rows:
    """Messages of another shape."""
    return [{"messages": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello."}]}]


def contents() -> Rows:
    """Messages with a content and no role."""
    return [{"messages": [{"content": "Hi"}, {"content": "Hello."}]}]


def numbers() -> Rows:
    """Contents that are numbers."""
    return [{"messages": [user(1.5), said(2.0)]}, {"messages": [user(3.0), said(None)]}]


def mixed() -> Rows:
    """Contents of two kinds, which no Parquet column holds."""
    return [{"messages": [user(1), said("one")]}, {"messages": [user(), said()]}]


def wild() -> Rows:
    """900 rows of drawn roles, turns and texts, in which parts of templates stand."""
    chance = random.Random(1125)
    bits = [
        "word ",
        "\n",
        " ",
        "<|im_end|>",
        "<|im_start|>",
        "<|eot_id|>",
        "</s>",
        "\u56db",
        "\U0001f642",
        "\t",
        "e\u0301",
    ]
    bits += [
        "<think>",
        "</think>",
        "assistant\n",
        "<|endoftext|>",
        "12345",
        "  ",
        "It is so.",
        "'",
        "\u00a0",
        "<|end|>\n",
    ]
    found: Rows = []
    for _ in range(900):
        turns: list[dict[str, Any]] = []
        if chance.random() < 0.3:
            turns.append(system("".join(chance.choices(bits, k=chance.randint(0, 4)))))
        roles = ["user", "assistant"] * chance.randint(1, 4)
        if chance.random() < 0.15:
            chance.shuffle(roles)
        turns += [{"role": role, "content": "".join(chance.choices(bits, k=chance.randint(0, 9)))} for role in roles]
        found.append({"messages": turns})
    return found


def with_lists(found: Rows) -> Rows:
    """Tools as lists instead of JSON text, arguments of calls as text; rows without tools have an empty list."""
    out: Rows = []
    for row in found:
        given = row.get("tools")
        listed = json.loads(given) if isinstance(given, str) and given.strip() else given
        messages = []
        for message in row["messages"]:
            calls = [
                {
                    "type": "function",
                    "function": {
                        "name": call["function"]["name"],
                        "arguments": json.dumps(call["function"]["arguments"])
                        if not isinstance(call["function"]["arguments"], str)
                        else call["function"]["arguments"],
                    },
                }
                for call in message.get("tool_calls") or ()
            ]
            messages.append({**message, **({"tool_calls": calls} if "tool_calls" in message else {})})
        out.append({**row, "messages": messages, "tools": _wrapped(listed)})
    return out


def chat_pairs(found: Rows) -> Rows:
    """A prompt and a completion as a question and an answer."""
    return [{"messages": [user(row["prompt"]), said(row["completion"])]} for row in found]


def _wrapped(listed: Any) -> list[Any]:
    """Tools in OpenAI's shape, their parameters' properties as JSON text: one Parquet column has one shape."""
    found = []
    for one in listed or ():
        function = one.get("function", one) if isinstance(one, dict) else {"name": str(one)}
        found.append(
            {
                "type": "function",
                "function": {
                    "name": function.get("name", ""),
                    "description": function.get("description", ""),
                    "parameters": {"type": "object", "properties": json.dumps(function.get("parameters", {}))},
                },
            }
        )
    return found


MADE = (
    *(chats, keys, tools, tools_or_null, text_tools, thinking, thinking_texts, parts, media, strings, text_messages),
    *(roleless, contents, numbers, mixed, wild),
)
SETS = {f"verl_{made.__name__}": made for made in MADE}
STEPS = {"with_lists": with_lists, "chat_pairs": chat_pairs}
