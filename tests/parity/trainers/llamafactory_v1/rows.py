"""Rows as LLaMA-Factory's v1 engine keeps them: contents as lists of parts, a loss_weight a message, tools as text.

Made from chats with role and content, or from a seed; the same each time.
"""

from __future__ import annotations

import json
import random
from typing import Any

Rows = list[dict[str, Any]]
WEIGHTS = (1.0, 0.5, 0.25, 2.0, 0.0, 0.1, 1e-7, 1.0)
WORDS = (
    *("the", "river", "count", "42", "naïve", "İstanbul", "çay", "你好", "世界", "東京", "строка", "😀", "a", "I"),
    *("def f(x):", "return", "x*2", "…", "e\u0301", "-", "(maybe)", "yes.", "No,", "\n", "\n\n", "  ", "http://a.b/c"),
)
SPECIAL = (
    "<|im_end|>",
    "<|im_start|>assistant",
    "<|eot_id|>",
    "<s>",
    "</s>",
    "<|end|>",
    "<think>",
    "</think>",
    "[SEP]",
)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look_up",
            "description": "Finds a word, “quoted”",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        },
    },
    {"type": "function", "function": {"name": "add", "description": "Adds", "parameters": {"type": "object"}}},
]


def samples(found: Rows) -> Rows:
    """Chats of role and content as samples, every answer with weight 1."""
    return _samples(found, lambda row, turn: 1.0)


def weighted(found: Rows) -> Rows:
    """The same with other weights, of 0 too."""
    return _samples(found, lambda row, turn: WEIGHTS[(3 * row + turn) % len(WEIGHTS)])


def _samples(found: Rows, weight: Any) -> Rows:
    out = []
    for number, row in enumerate(found):
        messages = [
            _said(one["role"], [_text(one["content"])], weight(number, at) if one["role"] == "assistant" else 0.0)
            for at, one in enumerate(row["messages"])
        ]
        out.append({"messages": messages})
    return out


def unweighted(found: Rows) -> Rows:
    """Samples that say no weight at all."""
    return [
        {**row, "messages": [{k: v for k, v in one.items() if k != "loss_weight"} for one in row["messages"]]}
        for row in found
    ]


def few(found: Rows) -> Rows:
    """One row of thirty-one."""
    return found[::31]


def made() -> Rows:
    """1,200 samples of every shape that the engine takes: system or none, several turns, calls and their results,
    thoughts, several parts, empty answers, special tokens in texts, weights; every row ends in an answer somewhere."""
    draw = random.Random(20261124)
    return [_row(draw) for _ in range(1200)]


def broken() -> Rows:
    """300 samples, of which many stop the engine: no answer, an answer alone, bad calls, bad tools, odd roles."""
    draw = random.Random(20261125)
    out = []
    for number in range(300):
        row = _row(draw)
        messages = row["messages"]
        match number % 10:
            case 0:
                messages.clear()
            case 1:
                messages[:] = [one for one in messages if one["role"] == "user"][:2]
            case 2:
                messages[:] = [one for one in messages if one["role"] == "assistant"][:1]
            case 3:
                messages[-1]["content"].append(_call("{not json"))
            case 4:
                messages[0]["content"].append(_call(draw.choice(('{"name": "x"}', "[1]", '"text"', "null"))))
            case 5:
                row["tools"] = draw.choice(("no json", "[]", "{}", "null", '["x"]', ""))
            case 6:
                messages.append(_said("user", [_text("and then?")], 0.0))
            case 7:
                for one in messages:
                    one["loss_weight"] = 0.0
            case 8:
                messages.insert(0, _said(draw.choice(("narrator", "tool", "assistant")), [_text("hm")], 1.0))
        out.append(row)
    return out


def sharegpt() -> Rows:
    """800 rows for the converter sharegpt: system, calls and results, roles that it does not know, calls that are no
    JSON, tools that are no JSON."""
    draw = random.Random(7)
    out = []
    for _ in range(800):
        turns: list[dict[str, str]] = []
        if draw.random() < 0.3:
            turns.append({"from": "system", "value": _words(draw, 8)})
        for _ in range(draw.randint(1, 4)):
            turns.append({"from": "human", "value": _words(draw, 12)})
            if draw.random() < 0.25:
                call: Any = {"name": "add", "arguments": {"a": draw.randint(0, 9), "s": _words(draw, 3)}}
                if draw.random() < 0.3:
                    call = [call, {"name": "look_up", "arguments": {"word": draw.choice(WORDS)}}]
                value = json.dumps(call, ensure_ascii=draw.random() < 0.5) if draw.random() < 0.9 else "no json"
                turns.append({"from": "function_call", "value": value})
                turns.append({"from": "observation", "value": _words(draw, 6)})
            if draw.random() < 0.05:
                turns.append({"from": "narrator", "value": "meanwhile"})
            turns.append({"from": "gpt", "value": _words(draw, 25)})
        if draw.random() < 0.1:
            turns.append({"from": "human", "value": "one more?"})
        tools = (
            json.dumps(TOOLS, ensure_ascii=False) if draw.random() < 0.3 else draw.choice(("", "", "not json", "[]"))
        )
        out.append({"conversations": turns, "tools": tools})
    return out


def alpaca() -> Rows:
    """600 rows for the converter alpaca, each with a system text, some of them empty."""
    draw = random.Random(11)
    return [
        {
            "system": "" if draw.random() < 0.4 else _words(draw, 6),
            "instruction": _words(draw, 10),
            "input": _words(draw, 6) if draw.random() < 0.4 else "",
            "output": "" if draw.random() < 0.05 else _words(draw, 30),
            "history": [],
        }
        for _ in range(600)
    ]


def _row(draw: random.Random) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    tools = draw.random() < 0.3
    if draw.random() < 0.4:
        messages.append(_said("system", [_text(_words(draw, 10))], 0.0))
    for _ in range(draw.choice((1, 1, 2, 2, 3, 5))):
        messages.append(_said("user", _some(draw, 14), 0.0))
        if tools and draw.random() < 0.6:
            calls = [
                _call(json.dumps({"name": "look_up", "arguments": {"word": _words(draw, 2), "n": draw.randint(0, 9)}}))
                for _ in range(draw.choice((1, 1, 2)))
            ]
            said = [_text(_words(draw, 5))] if draw.random() < 0.4 else []
            thought = [_reasoning(_words(draw, 9))] if draw.random() < 0.4 else []
            messages.append(_said("assistant", [*thought, *said, *calls], _weight(draw)))
            messages += [_said("tool", [_text(_words(draw, 7))], 0.0) for _ in calls]
        answer = _some(draw, 40) if draw.random() < 0.93 else [_text(draw.choice(("", " ", "\n")))]
        if draw.random() < 0.3:
            answer.insert(0, _reasoning(_words(draw, 20)))
        messages.append(_said("assistant", answer, _weight(draw)))
    given = json.dumps(TOOLS[: draw.randint(1, 2)], ensure_ascii=False) if tools else None
    return {"messages": messages, "tools": given}


def _weight(draw: random.Random) -> float:
    return 1.0 if draw.random() < 0.6 else draw.choice(WEIGHTS)


def _some(draw: random.Random, most: int) -> list[dict[str, str]]:
    return [_text(_words(draw, most)) for _ in range(draw.choice((1, 1, 1, 2, 3)))]


def _words(draw: random.Random, most: int) -> str:
    words = [draw.choice(WORDS) for _ in range(draw.randint(1, most))]
    if draw.random() < 0.06:
        words.insert(draw.randrange(len(words) + 1), draw.choice(SPECIAL))
    return draw.choice(("", "", "", " ", "\n")) + " ".join(words) + draw.choice(("", "", "", " ", "\n"))


def _text(value: str) -> dict[str, str]:
    return {"type": "text", "value": value}


def _reasoning(value: str) -> dict[str, str]:
    return {"type": "reasoning", "value": value}


def _call(value: str) -> dict[str, str]:
    return {"type": "tool_call", "value": value}


def _said(role: str, content: list[dict[str, str]], weight: float) -> dict[str, Any]:
    return {"role": role, "content": content, "loss_weight": weight}


SETS = {"v1_made": made, "v1_broken": broken, "v1_sharegpt": sharegpt, "v1_alpaca": alpaca}
STEPS = {"v1": samples, "few": few, "v1_weighted": weighted, "v1_unweighted": unweighted}
