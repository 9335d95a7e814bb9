"""Rows for NeMo Automodel's datasets of every shape that they take, and such as stop them, each with others between."""

from __future__ import annotations

import json
from typing import Any

Rows = list[dict[str, Any]]
TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
CALL = {"id": "a1", "type": "function", "function": {"name": "look", "arguments": {"at": "it", "n": 1}}}


def user(text: Any = "What is two and two?", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def said(text: Any = "It is four.", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def system(text: Any = "Be brief.") -> dict[str, Any]:
    return {"role": "system", "content": text}


def tool(text: Any = "4", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, **more}


def called(text: Any = "", *calls: Any, **more: Any) -> dict[str, Any]:
    return said(text, tool_calls=list(calls) or [CALL], **more)


def thinking() -> Rows:
    """Thoughts beside earlier answers and in them."""
    first, last = said("Four.", reasoning_content="One."), said("", reasoning_content="Two")
    return [
        {"messages": [user(), first, user("And?"), last]},
        {"messages": [user(), said("<think>\nCount.\n</think>\n\nFour."), user("And?"), said("Five.")]},
    ]


def _between(odd: Rows, plain: Rows) -> Rows:
    return [row for pair in zip(odd, plain) for row in pair] + plain[len(odd) :]


def chats() -> Rows:
    """ChatDataset: roles, contents, calls and tools as they come."""
    result = tool(tool_call_id="a1")
    bare = {"function": {"name": "look", "arguments": "{}"}}
    odd: Rows = [
        {"messages": [user(), said()]},
        {"messages": [user("Hi"), said("Hello."), user("And now?")]},
        {"messages": [user("Hi"), said("Hello."), user("And now?"), said("Now.")]},
        {"messages": [system(), user(), said(), user(), said("Four again.")]},
        {"messages": [system(), system("And polite."), user(), said()]},
        {"messages": [user(), system("In between."), said()]},
        {"messages": [system(), said()]},
        {"messages": [said(), user()]},
        {"messages": [said(), user(), said()]},
        {"messages": [user(), said(), said("Really.")]},
        {"messages": [user(), user("Well?"), said()]},
        {"messages": [user()]},
        {"messages": []},
        {"messages": None},
        {"messages": "Hi"},
        {"messages": {"role": "user"}},
        {"messages": ["Hi"]},
        {"messages": [user(), said("")]},
        {"messages": [user(""), said("")]},
        {"messages": [user(), said(" \n ")]},
        {"messages": [user("  padded  "), said("\nFour.\n")]},
        {"messages": [user(None), said(None)]},
        {"messages": [user(7), said(True)]},
        {"messages": [user(1.5), said({"a": [1, None]})]},
        {"messages": [user([{"type": "text", "text": "One"}, {"type": "text", "text": "two"}]), said()]},
        {"messages": [user([{"type": "image"}, "loose", {"text": "kept"}]), said([])]},
        {"messages": [user([{"text": 7}]), said()]},
        {"messages": [user([{"text": None}]), said()]},
        {"messages": [{"role": "user"}, {"role": "assistant"}]},
        {"messages": [{"content": "Hi"}, said()]},
        {"messages": [user(), {"role": "Assistant", "content": "x"}]},
        {"messages": [user(), {"role": "developer", "content": "x"}, said()]},
        {"messages": [user(), {"role": None, "content": "x"}]},
        {"messages": [user(), {"role": ["assistant"], "content": "x"}]},
        {"messages": [user(), {"role": "tool_call", "content": "{}"}, said()]},
        {"messages": [user(), called(), result, said("Four.")], "tools": [TOOL]},
        {"messages": [user(), called("Let me look."), result, said("Four.")], "tools": [TOOL, TOOL]},
        {"messages": [user(), called("", CALL, bare), result, result, said("Four.")]},
        {"messages": [user(), called(None), result]},
        {"messages": [user(), called("", bare)]},
        {"messages": [user(), called("", {"id": 7, "function": {"name": "look", "arguments": {}}})]},
        {"messages": [user(), called("", {"type": 7, "function": {"name": "look", "arguments": {}}})]},
        {"messages": [user(), called("", {"id": "", "type": None, "function": {"name": "look", "arguments": ""}})]},
        {"messages": [user(), called("", {"function": {"name": "", "arguments": {}}})]},
        {"messages": [user(), called("", {"function": {"name": "look"}})]},
        {"messages": [user(), called("", {"function": {"name": "look", "arguments": None}})]},
        {"messages": [user(), called("", {"function": "look"})]},
        {"messages": [user(), called("", "look")]},
        {"messages": [user(), said(tool_calls=[])]},
        {"messages": [user(), said(tool_calls=None)]},
        {"messages": [user(), said(tool_calls={"a": 1})]},
        {"messages": [user(tool_calls="x"), said()]},
        {"messages": [user(), called(), tool()]},
        {"messages": [user(), called(), tool(tool_call_id="")]},
        {"messages": [user(), called(), tool(tool_call_id=1)]},
        {"messages": [user(), called(), tool({"n": 4}, tool_call_id="a1", name="look"), said("é 四 🙂")]},
        {"messages": [user(), said("Four.", reasoning_content="Count.")]},
        {"messages": [user(), said("Four.", reasoning_content="")]},
        {"messages": [user(), said("Four.", reasoning_content=None)]},
        {"messages": [user(), said("Four.", reasoning_content=["Count."])]},
        {"messages": [user(reasoning_content=7), said("Four.", reasoning="Count.", thinking="More.")]},
        *thinking(),
        {"messages": [user(), called(reasoning_content="Look?"), result, said("4", reasoning_content="So.")]},
        {"messages": [user(), said("Four.", weight=0, train=False, name="me")]},
        {"messages": [user(), said()], "tools": []},
        {"messages": [user(), said()], "tools": None},
        {"messages": [user(), said()], "tools": "[]"},
        {"messages": [user(), said()], "tools": json.dumps([TOOL])},
        {"messages": [user(), said()], "tools": ""},
        {"messages": [user(), said()], "tools": "null"},
        {"messages": [user(), said()], "tools": "look"},
        {"messages": [user(), said()], "tools": {"a": 1}},
        {"messages": [user(), said()], "tools": 7},
        {"messages": [user(), said()], "tools": ["look"]},
        {"messages": [user(), said()], "system": "Be brief.", "chat_template_kwargs": {"enable_thinking": True}},
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello."}]},
        {"conversations": [{"from": "system", "value": "S"}, {"from": "user", "value": "Hi"}, {"from": "bot"}]},
        {"conversations": [{"role": "user", "content": "Hi"}, {"role": "model", "content": "Hello."}]},
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "chatgpt", "value": None}]},
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "function_call", "value": "{}"}]},
        {"conversations": [{"from": "Human", "value": "Hi"}, {"from": "gpt", "value": "x"}]},
        {"conversations": [{"from": ["human"], "value": "Hi"}]},
        {"conversations": [{"value": "Hi"}]},
        {"conversations": ["Hi"]},
        {"conversations": "Hi"},
        {"conversations": []},
        {"messages": None, "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello."}]},
        {"messages": [user("Of messages"), said()], "conversations": [{"from": "gpt", "value": "Other."}]},
        {"prompt": "Hi", "completion": "Hello."},
        {"messages": [user("x " * 90), said("y " * 90), user("z"), said("w " * 3)]},
        {"messages": [user("<|im_end|>"), said("<|im_start|>assistant\n<|endoftext|>")]},
        {"messages": [user("</s>"), said("Four.<|eot_id|><|end|></s>")]},
    ]
    plain: Rows = [
        {"messages": [user(f"How many are {n}?"), said(f"There are {'very ' * (n % 7)}many, {n}.")]} for n in range(100)
    ]
    return _between(odd, plain)


def agents() -> Rows:
    """make_agent_chat_dataset: turns of tool_call and tool_response, OpenAI's and ShareGPT's; every place of one kind,
    since the file is read by `datasets`."""
    call = {"role": "tool_call", "content": json.dumps({"name": "look", "arguments": {"at": "it"}})}
    other = {"role": "tool_call", "content": '{"name": "find", "arguments": "{}"}'}
    result, second = {"role": "tool_response", "content": "4"}, {"role": "tool", "content": "five"}
    shared: Rows = [
        {"from": "human", "value": "How many?"},
        {"from": "function_call", "value": '{"name": "look", "arguments": {"at": "it"}}'},
        {"from": "observation", "value": "4"},
        {"from": "gpt", "value": "Four."},
    ]
    odd: Rows = [
        {"id": "r0", "messages": [user(), call, result, said()], "tools": json.dumps([TOOL])},
        {"messages": [user(), call, other, result, second, said()], "tools": json.dumps([TOOL, TOOL])},
        {"messages": [user(), said("Let me look."), call, result, said()]},
        {"messages": [user(), call, result, call, second, said("Done.")]},
        {"messages": [user(), result, said()]},
        {"messages": [user(), call]},
        {"messages": [user(), call, user("Well?"), result, said()]},
        {"messages": [system(), user(), said(), user("And?"), said("Five."), user("Hm")]},
        {"messages": [user()]},
        {"messages": []},
        {"messages": [said()]},
        {"messages": [user(), said(reasoning_content="One."), user(), said("Five.", reasoning_content="Two.")]},
        {"messages": [user(), {"role": "tool_call", "content": "no json"}, said()]},
        {"messages": [user(), {"role": "tool_call", "content": "{}"}, said()]},
        {"messages": [user(), {"role": "tool_call", "content": "[1]"}, said()]},
        {"messages": [user(), {"role": "tool_call", "content": ""}, said()]},
        {"messages": [user(), {"role": "observation", "content": "4"}, said()]},
        {"messages": [user(), said()], "tools": " "},
        {"messages": [user(), said()], "tools": "[]"},
        {"messages": [user(), said()], "tools": "{}"},
        {"messages": [user(), said()], "tools": "look"},
        {"id": "7", "conversations": shared, "tools": json.dumps([TOOL])},
        {"conversations": [*shared, {"from": "human", "value": "Thanks."}]},
        {"conversations": [{"from": "system", "value": "S"}, *shared, *shared]},
        {"conversations": [{"from": "chatgpt", "value": "x"}]},
        {"conversations": shared[:2]},
        {"conversations": []},
        {"tools": "[]"},
        {"messages": [user("x " * 60), said("y " * 60), user("Second"), said("w " * 3), user("Third"), said("Last.")]},
        {"messages": [system("S " * 30), user("x " * 60), said("y " * 60), user("z"), said("w")]},
    ]
    plain: Rows = [
        {"id": f"p{n}", "messages": [user(f"How many are {n}?"), call, result, said(f"Many, {n}.")], "tools": "[]"}
        for n in range(50)
    ]
    return _between(odd, plain)


def agents_openai() -> Rows:
    """The same in OpenAI's own shape, with arguments as mappings and as texts."""
    native = {"id": "a1", "type": "function", "function": {"name": "look", "arguments": '{"at": "it"}'}}
    found: Rows = []
    messages: Rows
    for n in range(60):
        calls: Rows = [native, {**native, "id": ""}][: 1 + n % 2]
        messages = [user(f"How many are {n}?"), called("Let me look." if n % 3 else "", *calls)]
        messages += [tool(str(n), tool_call_id="a1" if n % 4 else "") for _ in calls]
        messages += [said(f"There are {n}.", reasoning_content="Count." if n % 5 else "")]
        if n % 6 == 0:
            messages = [system(), *messages, user("And?"), said("No more.")]
        found.append({"id": str(n), "messages": messages, "tools": [TOOL]})
    return found


def columns() -> Rows:
    """Context, question and answer: texts of every length, none, and such as leave nothing to train."""
    odd: Rows = [
        {"c": "A context.", "q": "What?", "a": "That."},
        {"c": "", "q": "What?", "a": "That."},
        {"c": None, "q": "What?", "a": "That."},
        {"c": None, "q": None, "a": "That."},
        {"c": "", "q": "", "a": "That."},
        {"c": "A context.", "q": None, "a": "That."},
        {"c": "A context.", "q": "What?", "a": ""},
        {"c": "A context.", "q": "What?", "a": " "},
        {"c": " spaced ", "q": "\nWhat?\n", "a": "\n\nThat."},
        {"c": "x " * 90, "q": "What?", "a": "That."},
        {"c": "x", "q": "y " * 30, "a": "z " * 90},
        {"c": "四。🙂", "q": "e\u0301?", "a": "é"},
        {"c": "<|im_start|>", "q": "<|im_end|>", "a": "That.<|im_end|><|endoftext|>"},
        {"c": "<s>", "q": "</s>", "a": "<|end|></s><|end_of_text|>"},
        {"c": "A context.", "q": "What?", "a": "That."},
    ]
    plain: Rows = [{"c": f"Context {n}.", "q": f"Count to {n}?", "a": "one " * (n % 37)} for n in range(40)]
    return _between(odd, plain)


def columns_stopping() -> Rows:
    """The same with an answer that is none in one row."""
    rows: Rows = [{"q": f"Count to {n}?", "a": f"one {n}"} for n in range(12)]
    rows[5]["a"] = None
    return rows


def squad() -> Rows:
    """Rows as SQuAD has them."""
    found: Rows = []
    for n in range(80):
        answers = [f"  the {n}th  ", "other"] if n % 7 else []
        context = f"There are {n} things. The {n}th is {'very ' * (n % 9)}blue." if n % 11 else ""
        found.append(
            {
                "id": str(n),
                "title": "Things",
                "context": context,
                "question": f"Which is blue of {n}?",
                "answers": {"text": answers, "answer_start": [0] * len(answers)},
            }
        )
    return found


def xlam() -> Rows:
    """Rows as xLAM has them: tools and answers as JSON text."""
    kinds = ("str", "int", "float", "bool", "list", "Dict[str, int]", "List", "object", "string, optional")
    found: Rows = []
    for n in range(80):
        parameters: dict[str, Any] = {
            f"p{i}": {"description": f"The {i}th.", "type": kinds[(n + i) % len(kinds)]} for i in range(n % 4)
        }
        if n % 3 == 0:
            parameters["limit"] = {"description": "At most.", "type": "int", "default": 10}
        if n % 5 == 0:
            parameters["kind"] = {"type": "str", "enum": ["a", "b"]}
        tools: Rows = [{"name": f"look_{n}", "description": "Look.", "parameters": parameters}, {"name": "other"}]
        if n % 13 == 0:
            tools.append({"description": "nameless"})
        answers: Rows = [{"name": f"look_{n}", "arguments": {key: i for i, key in enumerate(parameters)}}]
        answers += [{"name": "other", "arguments": "é"}] * (n % 2) + [{"name": ""}] * (n % 17 == 0)
        found.append(
            {
                "id": n,
                "query": f"Look for {n}, é.",
                "tools": json.dumps(tools if n % 19 else []),
                "answers": json.dumps(answers if n % 23 else []),
            }
        )
    return found


def edges() -> Rows:
    """Thoughts and what begins like the prompt of an answer, few of each."""
    return [
        {"messages": [user(), said("Four.", reasoning_content="Count.")]},
        *thinking(),
        {"messages": [system(), user(), said("<think>\n\n</think>\n\nFour.")]},
        {"messages": [system(), user(), said("")]},
        {"messages": [user(), said("It is four, " * 4), user("And?"), said("Five.")]},
    ]


def agent_edges() -> Rows:
    """Agents' chats without an answer, with a question left at the end, and with earlier thoughts."""
    call = {"role": "tool_call", "content": '{"name": "look", "arguments": {}}'}
    result = {"role": "tool_response", "content": "4"}
    return [
        {"messages": [user()]},
        {"messages": [user(), call, result]},
        {"messages": [user(), said(), user("And?")]},
        {"messages": [user(), said(reasoning_content="One."), user("And?"), said("Five.", reasoning_content="Two.")]},
        {"messages": [user(), said(reasoning_content="One."), user("And?"), call, result, user("Well?")]},
        {"messages": [user(), call, result, said("Four.", reasoning_content="So.")]},
    ]


MAKERS = (edges, agent_edges, chats, agents, agents_openai, columns, columns_stopping, squad, xlam)
SETS = {f"nemo_{make.__name__}": make for make in MAKERS}
