"""Rows for mlx-lm of every shape that it takes, and such as stop it, each with others between."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]
TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}


def user(text: Any = "What is two and two?") -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: Any = "It is four.", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def chats() -> Rows:
    """Messages: roles, ends, keys and tools as they come; the first row is plain, and decides how all are read."""
    call = {"type": "function", "function": {"name": "look", "arguments": {"at": "it"}}}
    odd: Rows = [
        {"messages": [user(), said()]},
        {"messages": [user("Hi"), said("Hello."), user("And now?")]},
        {"messages": [user("Hi"), said("Hello."), {"role": "system", "content": "Stop."}]},
        {"messages": [user("Hi"), said("Hello."), {"role": "tool", "content": "{}"}]},
        {"messages": [{"role": "system", "content": "Be brief."}, user(), said()]},
        {"messages": [user()]},
        {"messages": [said()]},
        {"messages": []},
        {"messages": {}},
        {"messages": {"role": "user", "content": "Hi"}},
        {"messages": ()},
        {"messages": ""},
        {"messages": 7},
        {"messages": 0},
        {"messages": False},
        {"messages": None},
        {"messages": [user(), said("")]},
        {"messages": [user(""), said("")]},
        {"messages": [user(), said(" \n ")]},
        {"messages": [user(), said(None)]},
        {"messages": [user(), said(7)]},
        {"messages": [user(), said([{"type": "text", "text": "It is four."}])]},
        {"messages": [user(), said("<think>\nCount.\n</think>\n\nFour.")]},
        {"messages": [user(), said("Four.", reasoning_content="Count.")]},
        {"messages": [user(), said("Four.", reasoning="Count.", thinking="More.")]},
        {"messages": [user(), said("Four.", weight=0, train=False)]},
        {"messages": [user(), said("", tool_calls=[call]), {"role": "tool", "content": "4"}, said("Four.")]},
        {"messages": [user(), said(None, tool_calls=[call])], "tools": [TOOL]},
        {"messages": [user(), said()], "tools": [TOOL, TOOL]},
        {"messages": [user(), said()], "tools": []},
        {"messages": [user(), said()], "tools": None},
        {"messages": [user(), said()], "tools": {}},
        {"messages": [user(), said()], "tools": ""},
        {"messages": [user(), said()], "tools": "[]"},
        {"messages": [user(), said()], "tools": {"a": 1}},
        {"messages": [user(), said()], "tools": ["look"]},
        {"messages": [user(), said()], "tools": 7},
        {"messages": [user(), said()], "tools": False},
        {"messages": [user(), said()], "system": "Be brief.", "chat_template_kwargs": {"enable_thinking": True}},
        {"messages": [{"role": "user"}, said()]},
        {"messages": [{"content": "Hi"}, said()]},
        {"messages": [user(), {"content": "Hello."}]},
        {"messages": [user(), {"role": None, "content": "Hello."}]},
        {"messages": [user(), {"role": "Assistant", "content": "Hello."}]},
        {"messages": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello."}]},
        {"messages": [user(), "Hello."]},
        {"messages": ["Hi", "Hello."]},
        {"messages": [[user(), said()]]},
        {"messages": "Hi"},
        {"messages": '[{"role": "user", "content": "Hi"}]'},
        {"messages": None},
        {"messages": 7},
        {"messages": {"role": "user", "content": "Hi"}},
        {"conversations": [user(), said()]},
        {"prompt": "Hi", "completion": "Hello.", "messages": [user("Other"), said("One.")]},
        {"text": "Hi", "messages": [user("Other"), said("One.")]},
        {"messages": [user("x " * 90), said("y " * 90), user("z"), said("w " * 3)]},
        {"messages": [user("<|im_end|>"), said("<|im_start|>assistant\n<|endoftext|>")]},
    ]
    plain = [
        {"messages": [user(f"How many are {n}?"), said(f"There are {'very ' * (n % 7)}many, {n}.")]} for n in range(60)
    ]
    return [row for pair in zip(odd, plain) for row in pair] + plain[len(odd) :]


def pairs() -> Rows:
    """Prompts and completions, whatever they are: each becomes a message's content."""
    odd: Rows = [
        {"prompt": "What is two and two?", "completion": "It is four."},
        {"prompt": "", "completion": "It is four."},
        {"prompt": "What?", "completion": ""},
        {"prompt": "", "completion": ""},
        {"prompt": " What? ", "completion": "\nFour.\n"},
        {"prompt": None, "completion": "Four."},
        {"prompt": "What?", "completion": None},
        {"prompt": 2, "completion": 4},
        {"prompt": True, "completion": 1.5},
        {"prompt": ["a", "b"], "completion": "Four."},
        {"prompt": [user()], "completion": [said()]},
        {"prompt": {"a": "b"}, "completion": "Four."},
        {"prompt": "What?"},
        {"completion": "Four."},
        {"text": "Four."},
        {"prompt": "What?", "completion": "Four.", "system": "Be brief."},
        {"prompt": "What?", "completion": "Four.", "tools": [TOOL]},
        {"prompt": "What?", "completion": "Four.", "tools": []},
        {"prompt": "What?", "completion": "Four.", "tools": {}},
        {"prompt": "What?", "completion": "Four.", "tools": {"a": 1}},
        {"prompt": "What?", "completion": "Four.", "tools": "[]"},
        {"prompt": "What?", "completion": "Four.", "tools": 7},
        {"prompt": "What?", "completion": "<think>\nCount.\n</think>\nFour."},
        {"prompt": "What?", "completion": "Four.<|im_end|>"},
        {"prompt": "What?", "completion": "四。🙂 e\u0301"},
        {"prompt": "What? " * 80, "completion": "Four. " * 80},
        {"prompt": "What?", "completion": "Four.", "messages": [user(), said()], "text": "Other."},
    ]
    plain = [{"prompt": f"Count to {n}.", "completion": "one " * (n % 37)} for n in range(40)]
    return [row for pair in zip(odd, plain) for row in pair] + plain[len(odd) :]


def texts() -> Rows:
    """Texts, with the ends and beginnings that tokenizers put themselves, and such as are none."""
    odd: Rows = [
        {"text": "Once upon a time."},
        {"text": ""},
        {"text": " "},
        {"text": "\n"},
        {"text": "The end.<|im_end|>"},
        {"text": "The end.<|endoftext|>"},
        {"text": "The end.</s>"},
        {"text": "The end.<|end_of_text|>\n"},
        {"text": "<|endoftext|>"},
        {"text": "<s>The beginning."},
        {"text": "<|begin_of_text|>The beginning."},
        {"text": None},
        {"text": 7},
        {"text": ["a", "b"]},
        {"other": "a"},
        {"text": "word " * 200},
        {"text": "四。🙂 e\u0301\u0000"},
    ]
    plain = [{"text": f"This is text {n}, " + "and on " * (n % 41)} for n in range(40)]
    return [row for pair in zip(odd, plain) for row in pair] + plain[len(odd) :]


SETS = {"mlx_chats": chats, "mlx_pairs": pairs, "mlx_texts": texts}
