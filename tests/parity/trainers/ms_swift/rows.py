"""Rows of every shape that ms-swift reads, and such as it leaves out."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Rows = list[dict[str, Any]]

CALL = {"name": "weather", "arguments": {"city": "Zürich", "days": 2}}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": None}},
            "required": ["city"],
        },
    },
}
BARE: dict[str, Any] = {"name": "add", "description": "Adds", "parameters": {"type": "object", "properties": {}}}


def said(*turns: tuple[Any, Any], **more: Any) -> dict[str, Any]:
    """A row of messages."""
    return {"messages": [{"role": role, "content": content} for role, content in turns], **more}


U, A, S, T, C, R = "user", "assistant", "system", "tool", "tool_call", "tool_response"


def chats() -> Rows:
    """Conversations: turns that repeat, begin or end otherwise, thoughts, placeholders, marks of loss."""
    think = "<think>\nfirst this\n</think>\n\nso that"
    rows = [
        said((U, "Hi"), (A, "Hello")),
        said((S, "Be brief."), (U, "Hi"), (A, "Hello"), (U, "More"), (A, "No.")),
        said((S, ""), (U, "Hi"), (A, "Hello")),
        said((U, "one"), (U, "two"), (A, "three"), (A, "four"), (U, "five"), (A, "six")),
        said((A, "I begin"), (U, "and I"), (A, "end")),
        said((A, "a text to learn")),
        said((U, "a question alone")),
        said((U, "q"), (A, "a"), (U, "and a question last")),
        said((S, "only a system text")),
        said((U, "q"), (S, "late"), (A, "a")),
        said((U, "q"), (A, "")),
        said((U, ""), (A, "a")),
        said((U, ""), (A, ""), (U, ""), (A, "")),
        said((U, "  spaces  "), (A, "\nlines\n\n"), (U, "x"), (A, " y ")),
        said((U, "q"), (A, "ends <|im_end|>")),
        said((U, "q"), (A, "ends itself<|im_end|>")),
        said((U, "q"), (A, "ends itself<|eot_id|>"), (U, "q"), (A, "ends itself<|eot_id|>")),
        said((U, "{{QUERY}} and {{SYSTEM}}"), (A, "{{RESPONSE}}")),
        said((S, "{{QUERY}}"), (U, "round {{ROUND0}} of {{ROUND1}}"), (A, "{{ROUND1}}"), (U, "{{ROUND0}}"), (A, "x")),
        said((U, "see <image> and <bbox>"), (A, "<video> <ref-object> <start-image>")),
        said((U, "q"), (A, think)),
        said((U, "q"), (A, think), (U, "again"), (A, think), (U, "once more"), (A, "without")),
        said((U, "q"), (A, "<think>\n\n</think>\n\nplain"), (U, "q"), (A, "<think></think>plain")),
        said((U, "q"), (A, "</think>plain"), (U, "q"), (A, "<think>open")),
        said((U, "q"), (A, "<think>\n\n</think>\n\n<think></think>twice")),
        said((U, "q"), (A, think), (A, think), (U, "q"), (A, "x"), (A, "y")),
        said((U, "汉字 und Ümläute 🎉"), (A, "e\u0301 ½ \u200b\u202e")),
        said((U, "a" * 300), (A, "b" * 500)),
        said((U, "Action: x Action Input: y"), (A, "Thought: I\nAction: go\nAction Input: {}\nObservation:")),
        said((U, [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]), (A, "yes")),
        said((U, []), (A, "empty list")),
        said((U, [{"type": "foo"}]), (A, "unknown part")),
        said((U, "q"), (A, "a"), chat_template_kwargs={"preserve_thinking": False, "enable_thinking": True}),
        said(
            (U, "q"), (A, think), (U, "q"), (A, think), (U, "last"),
            chat_template_kwargs={"preserve_thinking": False, "enable_thinking": True},
        ),
        said((U, "q"), (A, think), (U, "q"), chat_template_kwargs={"response_prefix": "So: "}),
    ]  # fmt: skip
    lossy: list[list[tuple[str, str, dict[str, Any]]]] = [
        [(U, "q", {}), (A, "not this", {"loss": False}), (U, "q", {}), (A, "this", {"loss": True})],
        [(U, "q", {}), (A, "this", {"loss": None}), (U, "q", {}), (A, "half", {"loss_scale": 0.5})],
        [(U, "q", {}), (A, "none", {"loss_scale": 0}), (U, "q", {}), (A, "twice", {"loss_scale": 2.0})],
        [(U, "q", {"loss": True}), (A, "one", {"loss": False}), (A, "two", {"loss": True}), (A, "three", {})],
        [(U, "q", {}), (A, "one", {"loss_scale": 3}), (A, "two", {"loss": 0})],
        [(U, "q", {}), (A, "<tool_call>x</tool_call> and <tool_call>\ny\n</tool_call>", {"loss": True})],
        [(U, "q", {}), (A, "lost", {"loss": False, "loss_scale": 2}), (U, "q", {}), (A, "won", {"loss": 1})],
        [(U, "q", {}), (A, "negative", {"loss_scale": -1.0})],
    ]
    rows += [{"messages": [{"role": r, "content": c, **more} for r, c, more in one]} for one in lossy]
    return rows


def tools() -> Rows:
    """Tools, calls and results, in ms-swift's own roles and in OpenAI's and Anthropic's."""
    call = json.dumps(CALL, ensure_ascii=False)
    openai = {
        "role": A,
        "content": "I look.",
        "tool_calls": [
            {"id": "b", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}},
            {"id": "a", "type": "function", "function": {"name": "add", "arguments": {"x": 1}}},
        ],
    }
    silent = {**openai, "content": None}
    results = [
        {"role": T, "tool_call_id": "a", "content": "2"},
        {"role": T, "tool_call_id": "b", "content": "rain", "name": "weather"},
    ]
    asked, told = {"role": U, "content": "Weather?"}, {"role": A, "content": "It rains."}
    rows = [
        said((U, "Weather?"), (C, call), (R, "rain"), (A, "It rains."), tools=[TOOL]),
        said((S, "Be kind."), (U, "Weather?"), (C, call), (R, "rain"), (A, "It rains."), tools=[TOOL, BARE]),
        said((U, "Weather?"), (C, call), (C, call), (R, "rain"), (R, "sun"), (A, "Both."), tools=[TOOL]),
        said((U, "Weather?"), (A, "Let me see."), (C, call), (R, "rain"), (A, "Rain."), tools=[TOOL]),
        said(
            (U, "Weather?"), (A, "  spaces "), (C, call), (T, "rain\n"), (A, "Rain."), (U, "ok"), (A, "x"), tools=[TOOL]
        ),
        said((U, "Weather?"), (C, call), tools=[TOOL]),
        said((U, "Weather?"), (C, call), (R, "rain"), tools=[TOOL]),
        said((U, "Weather?"), (C, CALL), (R, {"sky": "grey"}), (A, "Grey."), tools=json.dumps([TOOL])),
        said((U, "Weather?"), (T, "it is dry"), (A, "Dry."), tools=[TOOL]),
        said((U, "no tool is used"), (A, "Right."), tools=[BARE]),
        said((U, "no tools"), (A, "Right."), tools=[]),
        said((U, "no list"), (C, call), (R, "rain"), (A, "Rain.")),
        said((U, "q"), (A, "Thought: x\nAction: weather\nAction Input: {}"), (T, "rain"), (A, "Rain."), tools=[TOOL]),
        said((U, "q"), (A, "Action: w\nAction Input: {}\nObservation:"), (T, "a\n"), (T, "b"), (A, "x"), tools=[TOOL]),
        said((U, "q"), (A, "one"), (A, "two"), (C, call), (R, "three"), (A, "four"), (A, "five"), tools=[TOOL]),
        said((U, "q"), (C, '{"name": "x"}'), (R, "y"), (A, "z"), tools=[TOOL]),
        said((U, "q"), (C, "no JSON"), (R, "y"), (A, "z"), tools=[TOOL]),
        said((U, "q"), (C, "{'name': 'x', 'parameters': {'a': True}}"), (R, "y"), (A, "z"), tools=[TOOL]),
        said((U, "q"), (C, '{"name": "x", "arguments": "{\\"a\\": [1, null]}"}'), (R, "y"), (A, "z"), tools=[TOOL]),
        said((U, "q"), (C, '{"name": "x", "arguments": [1]}'), (R, "y"), (A, "z"), tools=[TOOL]),
        said((T, "first"), (U, "q"), (A, "z"), tools=[TOOL]),
        said((U, "q"), (A, "z"), (T, "y"), (U, "q"), (A, "z"), tools=[TOOL]),
        said((U, "{{QUERY}}"), (C, call), (R, "{{QUERY}} {{ROUND0}} {{tools}}"), (A, "{{system}}"), tools=[TOOL]),
        said((U, "q"), (A, "z"), tools="a tool in words"),
        said((U, "q"), (A, "z"), tools=["a tool in words"]),
        said((U, "q"), (A, "z"), tools=[{"name": "n"}]),
        said((U, "q"), (A, "z"), tools=TOOL),
        {"messages": [asked, openai, *results, told], "tools": [TOOL]},
        {"messages": [asked, silent, *results, told], "tools": [TOOL]},
        {"messages": [asked, silent, *results[:1], told], "tools": [TOOL]},
        {"messages": [asked, {**openai, "loss": True, "loss_scale": 2.0}, *results, told], "tools": [TOOL]},
        {"messages": [asked, {**silent, "loss": False}, *results, told], "tools": [TOOL]},
        {
            "messages": [
                {"role": U, "content": [{"type": "text", "text": "Weather?"}]},
                {
                    "role": A,
                    "content": [
                        {"type": "text", "text": "I ask."},
                        {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Bern"}},
                        {"type": "tool_use", "id": "2", "name": "add", "input": {}},
                    ],
                },
                {
                    "role": U,
                    "content": [
                        {"type": "tool_result", "tool_use_id": "2", "content": "2"},
                        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "rain"}]},
                        {"type": "text", "text": "Well?"},
                    ],
                },
                told,
            ],
            "tools": [TOOL],
        },
    ]
    return rows


def broken() -> Rows:
    """Rows that are left out, between some that are not."""
    fine = said((U, "Hi"), (A, "Hello"))
    rows: Rows = [
        fine,
        {"messages": []},
        {"messages": None},
        {"messages": "[{'role': 'user', 'content': 'read by Python'}, {'role': 'assistant', 'content': 'yes'}]"},
        {"messages": '[{"role": "user", "content": "JSON"}, {"role": "assistant", "content": "yes"}]'},
        {"messages": "no list"},
        {"messages": {"role": U, "content": "no list"}},
        said(("robot", "x"), (A, "y")),
        said((None, "x"), (A, "y")),
        said((U, None), (A, "y")),
        said((U, "x"), (A, None)),
        said((U, 5), (A, "y")),
        said((U, "x"), (A, {"a": 1})),
        said((U, ["a", "b"]), (A, "y")),
        said((S, "one"), (S, "two"), (U, "x"), (A, "y")),
        said((U, "x"), (A, "y"), (S, "z")),
        {"messages": [{"role": U}, {"role": A, "content": "y"}]},
        {"messages": [{"content": "x"}, {"role": A, "content": "y"}]},
        {"messages": ["x", "y"]},
        {"messages": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}]},
        {"messages": [{"from": "human", "value": "x"}, {"from": "function-call", "value": "y"}]},
        {"messages": [{"role": "user", "from": "gpt", "content": "x", "value": "z"}, {"role": A, "content": "y"}]},
        {"messages": [{"user": "x", "assistant": "y"}, {"human": "x", "bot": "y"}]},
        {"messages": [{"user": "x"}]},
        said((U, "x"), (A, "y"), system="beside"),
        said((S, "inside"), (U, "x"), (A, "y"), system="beside"),
        said((U, "x"), (A, "y"), system=""),
        said((U, "x"), (A, "y"), extra=1, label=0),
        fine,
    ]
    return rows


def pairs() -> Rows:
    """query, response, history and system."""
    return [
        {"query": "q", "response": "r"},
        {"query": "q", "response": "r", "history": [["a", "b"], ["c", "d"]]},
        {"query": "q", "response": "r", "history": []},
        {"query": "q", "response": "r", "history": None, "system": "s"},
        {"query": "", "response": "r", "system": ""},
        {"query": None, "response": "r"},
        {"query": "q", "response": None},
        {"query": None, "response": None},
        {"query": "q", "response": ["first", "second"]},
        {"query": "q", "response": []},
        {"query": "q", "response": "r", "history": "[['a', 'b']]"},
        {"query": "q", "response": "r", "history": "no list"},
        {"query": "q", "response": "r", "history": [["a", None], [None, "d"]]},
        {"query": "q", "response": "r", "history": [["alone"]]},
        {"query": "q", "response": 5},
    ] * 2


def edges() -> Rows:
    """Few rows for many templates: thoughts in rounds, two results, schemas with nulls, parts of other providers."""
    thought, call = "<think>\nfirst this\n</think>\n\nso that", json.dumps(CALL, ensure_ascii=False)
    answer = "<think>\nx\n</think>\n<answer>\nthat\n</answer>"
    nulls = {"type": "string", "enum": ["a", None], "default": None, "x-note": None, "examples": [None], "const": None}
    schema = {"name": "pick", "parameters": {"type": "object", "properties": {"of": nulls, "no": None}, "title": None}}
    asked, told = {"role": U, "content": "Weather?"}, {"role": A, "content": "It rains."}

    def result(content: Any) -> dict[str, Any]:
        use = {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Bern"}}
        back = {"type": "tool_result", "tool_use_id": "1", "content": content}
        return {
            "messages": [asked, {"role": A, "content": [use]}, {"role": U, "content": [back]}, told],
            "tools": [TOOL],
        }

    return [
        said((S, "Be brief."), (U, "q"), (A, thought), (U, "again"), (A, thought), (U, "once more"), (A, "without")),
        said((U, "q"), (A, thought), (U, "again"), (A, "plain")),
        said((U, "q"), (A, answer), (U, "again"), (A, answer + " "), (U, "more"), (A, "plain")),
        said((U, "q"), (A, "\nwithout\n"), (U, "again"), (A, "\nx\n")),
        said((U, "q"), (A, "<answer>that</answer>"), (U, "again"), (A, "ends itself<|im_end|>")),
        said((S, "Be brief."), (U, "one"), (U, "two"), (A, "three")),
        said((S, "Be brief."), (U, "one"), (A, "two"), (A, "three")),
        said((A, "I begin"), (U, "and I"), (A, "end")),
        said((U, "a question alone")),
        said((U, "Weather?"), (C, call), (C, call), (R, "rain"), (R, "sun"), (A, "Both."), tools=[TOOL]),
        said((S, "Be kind."), (U, "pick"), (C, call), (R, "rain"), (A, "It rains."), tools=[schema, BARE]),
        said((U, "q"), (A, "a"), tools=[{"type": "object", "name": "typed"}]),
        said((U, "q"), (A, "a"), tools=[{"function": {"name": "inside"}}]),
        said((T, "first"), (A, "a"), tools=[TOOL]),
        said((U, "q"), (A, "Action: w\nAction Input: {}"), (T, "a"), (T, "b\n"), (A, "x"), tools=[TOOL]),
        said((U, "What is the tool you want to use?"), (A, "Thought: I\nAction: go\nAction Input: {}")),
        said((U, "q"), (A, "Name: x\nAction: go\nNext: caller.")),
        said((["user"], "q"), (A, "a")),
        said((U, "q"), ([A], "a")),
        said((U, [{"type": "image"}, {"type": "text", "text": "seen"}]), (A, "a")),
        result("rain"),
        result([{"type": "text", "text": "rain"}, {"type": "text"}]),
        result([{"type": "text", "text": 5}]),
        result([{"type": "other", "text": "x"}]),
        {"messages": [{"content": "x"}, told]},
        {"messages": [asked, {"role": A, "value": "of the other key"}]},
        {"messages": [{"from": "user", "value": "x"}, {"from": "assistant", "value": "y"}]},
        {"messages": [asked, {"role": A, "content": "x", "loss": []}]},
        {"messages": [asked, {"role": A, "content": "x", "loss": [False, True]}]},
        {"messages": [asked, {"role": A, "content": "x", "loss_scale": 0.5}]},
        {"messages": [asked, {"role": A, "content": "x", "name": "n"}, {"role": T, "content": "y", "name": "n"}, told]},
    ]


WORDS = (
    "the a one two kettle blue çay ödeme 漢字 🙂 <b> {x} {{QUERY}} <|im_end|> <|eot_id|> <think> </think> \n \n\n\t"
    " 3.14 don't ... end. Why? def f(x): ``` } ["
)
COUNT = 1000


def _text(draw: random.Random, most: int = 40) -> str:
    """Words with gaps; now and then nothing, or a break in front."""
    said_ = " ".join(draw.choices(WORDS.split(" "), k=draw.choice([0, 1, 3, 8, 20, most])))
    return draw.choice(["", "", "", "\n", " "]) + said_


def _answer(draw: random.Random) -> str:
    """A text, one in four with a thought before it: whole, unclosed, unopened, or of nothing."""
    thought = draw.choice([""] * 9 + ["<think>\nHm.\n</think>\n\n", "<think>\n", "</think>\n\n"])
    return thought + _text(draw)


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def _reply(draw: random.Random) -> list[dict[str, Any]]:
    """What follows a question: an answer, or a call with its result, and an answer to that or none."""
    if draw.random() < 0.8:
        return [_message(A, _answer(draw))]
    found = [_message(C, json.dumps({"name": "weather", "arguments": {"city": draw.choice(["Rome", "Ağrı"])}}))]
    found += [_message(R, _text(draw)), _message(A, _answer(draw))] if draw.random() < 0.7 else []
    return found


def _prompt(draw: random.Random) -> list[dict[str, Any]]:
    """The turns before the sides; some end with no question."""
    found = [_message(S, _text(draw))] if draw.random() < 0.3 else []
    for _ in range(draw.choice([0, 0, 1, 2])):
        found += [_message(U, _text(draw)), *_reply(draw)]
    return found if draw.random() < 0.05 else [*found, _message(U, _text(draw, 90))]


def _preferences(kind: str) -> Callable[[], Rows]:
    """Chats with another answer: as text, as messages behind the last question, or as a conversation; some equal, none
    or of no answer."""

    def row(draw: random.Random) -> dict[str, Any]:
        prompt, own, other = _prompt(draw), _reply(draw), _reply(draw)
        odd = draw.random()
        if kind == "text":
            said_: Any = other[-1]["content"]
            said_ = own[-1]["content"] if odd < 0.04 else None if odd < 0.06 else said_
            more: dict[str, Any] = {"rejected_response": said_, "margin": draw.choice([None, 0.5, 2.0])}
        elif kind == "list":
            other = own if odd < 0.04 else [] if odd < 0.06 else [*other, _message(U, "Why?")] if odd < 0.08 else other
            other = [_message("gpt", "No.")] if 0.08 < odd < 0.1 else [_message(A, None)] if 0.1 < odd < 0.12 else other
            other = [_message(S, "Be."), *other] if 0.12 < odd < 0.14 else other
            more = {"rejected_response": other}
        else:
            whole: Any = [*(prompt if odd > 0.1 else _prompt(draw)), *other]
            whole = None if odd < 0.02 else [] if odd < 0.04 else [*prompt, *own] if odd < 0.06 else whole
            more = {"rejected_messages": whole}
        tools = draw.choice([None, None, json.dumps([TOOL])])
        return {"messages": [*prompt, *own], **more, "tools": tools}

    def made() -> Rows:
        draw = random.Random(47)
        return [row(draw) for _ in range(COUNT)]

    return made


def _preferred_pairs() -> Rows:
    """Queries with two responses, some with turns before them."""
    draw, made = random.Random(48), []
    for _ in range(COUNT):
        row: dict[str, Any] = {"query": _text(draw, 90), "response": _answer(draw)}
        row["system"] = draw.choice([None, "", "Be brief."])
        row["history"] = [[_text(draw), _answer(draw)] for _ in range(draw.choice([0, 0, 1, 2]))]
        made.append({**row, "rejected_response": row["response"] if draw.random() < 0.04 else _answer(draw)})
    return made


def _odd_whole() -> Rows:
    """Rejected conversations beside columns that only the chosen side has, or both."""
    asked, good, bad = _message(U, "q"), _message(A, "good"), _message(A, "<think>\nno\n</think>\n\nbad")
    call = _message(C, json.dumps(CALL))
    plain: dict[str, Any] = {"messages": [asked, good], "rejected_messages": [asked, bad]}
    tooled = {**plain, "tools": json.dumps([TOOL])}
    return [
        {**plain, "system": "Be brief.", "chat_template_kwargs": {"enable_thinking": True}},
        {**tooled, "rejected_tools": json.dumps([BARE])},
        {**plain, "rejected_tools": json.dumps([BARE])},
        {**tooled, "rejected_messages": [_message(S, "own"), asked, call, _message(R, "rain"), bad]},
        {**tooled, "rejected_messages": [asked]},
        {**tooled, "rejected_messages": [bad]},
        {**tooled, "rejected_messages": None, "rejected_tools": json.dumps([BARE])},
        {**plain, "rejected_messages": [asked, _message(A, None)]},
        {**plain, "rejected_messages": [asked, {"role": A}]},
        {**plain, "rejected_messages": [asked, _message("oracle", "x")]},
        {**plain, "rejected_messages": [asked, good], "chat_template_kwargs": {"preserve_thinking": True}},
        {**plain, "rejected_messages": [asked, bad, asked, bad]},
    ]


def _odd_lists() -> Rows:
    """Rejected answers of several messages, with OpenAI's calls, behind chats with a system text and variables."""
    asked, good = _message(U, "q"), _message(A, "good")
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
    calling = {"role": A, "content": "", "tool_calls": [call]}
    plain: dict[str, Any] = {"messages": [_message(S, "s"), asked, good], "tools": json.dumps([TOOL])}
    rejected = ([calling], [calling, _message(T, "rain"), good], [_message(A, "x"), _message(A, "y")], [asked], [good])
    return [{**plain, "rejected_response": one, "chat_template_kwargs": {"enable_thinking": False}} for one in rejected]


def _odd_queries() -> Rows:
    """A query with a rejected conversation, which is left as it is."""
    plain = {"query": "q", "response": "good", "system": "s"}
    asked, bad = _message(U, "other"), _message(A, "bad")
    sides: tuple[Any, ...] = (
        [asked, bad],
        [bad],
        None,
        [],
        [_message("human", "q"), _message("gpt", "bad")],
        [asked, _message(R, "r")],
    )
    return [{**plain, "rejected_messages": one} for one in sides]


def _judged(kind: str) -> Callable[[], Rows]:
    """Single answers with whether they are desirable, which may be a number: chats, or queries with a history."""

    def made() -> Rows:
        draw = random.Random(49)
        rows = _preferred_pairs() if kind == "queries" else _preferences("text")()
        rows = [row for row in rows if kind == "queries" or row["messages"][-1]["role"] == A]
        gone = ("rejected_response", "margin")
        return [
            {**{name: value for name, value in row.items() if name not in gone}, "label": draw.choice([True, False])}
            for row in rows
        ]

    return made


def _rivalled(found: Rows) -> Rows:
    """Chats with the last answer of the next one as the rejected one."""
    return [
        {"messages": row["messages"], "rejected_response": other["messages"][-1]["content"]}
        for row, other in zip(found, [*found[1:], found[0]])
    ]


SETS = {"swift_chats": chats, "swift_tools": tools, "swift_broken": broken, "swift_pairs": pairs, "swift_edges": edges}
SETS |= {f"swift_prefers_{kind}": _preferences(kind) for kind in ("text", "list", "messages")}
SETS["swift_prefers_pairs"] = _preferred_pairs
SETS |= {f"swift_judged_{kind}": _judged(kind) for kind in ("chats", "queries")}
SETS |= {"swift_prefers_odd": _odd_whole, "swift_prefers_odd_lists": _odd_lists, "swift_prefers_queries": _odd_queries}
STEPS = {"rivalled": _rivalled, "first_prefers": lambda found: found[:40]}
