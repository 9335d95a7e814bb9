"""Every code with an example that must raise it and one that must not."""

from __future__ import annotations

from typing import Any

from case_runner import Case


def chat(*turns: Any, **columns: Any) -> dict[str, Any]:
    """A row of messages: texts alternate user and assistant, pairs and mappings say their own role."""
    messages = []
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append({"role": ("user", "assistant")[number % 2], "content": turn})
        elif isinstance(turn, tuple):
            messages.append({"role": turn[0], "content": turn[1]})
        else:
            messages.append(dict(turn))
    return {"messages": messages, **columns}


GOOD = chat("What is the capital of France?", "Paris is the capital of France.")
FINE = Case([GOOD])
TEXT = {"text": "Paris is the capital of France."}


def rows(*data: Any, **more: Any) -> Case:
    return Case(list(data), **more)


EXAMPLES: dict[str, tuple[Case, Case]] = {
    "ROW001": (rows(GOOD, "line 2 is not valid JSON"), FINE),
    "ROW002": (rows(GOOD, GOOD, {"messages": []}), FINE),
    "ROW003": (rows(GOOD, GOOD, chat(("user", {"a": 1}), "yes"), template="chatml"), FINE),
    "ROW004": (rows(GOOD, chat("a\ud83d", "b")), FINE),
    "ROL001": (rows(chat(("user", "hi"), ("bot", "Hello there."))), FINE),
    "ROL002": (rows(chat(("user", "hi"), ("asistant", "Hello there."))), FINE),
    "ROL003": (rows(GOOD, GOOD, {"messages": [{"content": "hi"}]}), FINE),
    "ROL004": (rows(chat("hi", "Hello.", ("system", "Be kind."), "Bye.", "Bye!")), rows(chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello.")))),
    "TPL010": (rows(chat(("user", "hi"), ("narrator", "It rains."), ("assistant", "Hello."))), FINE),
    "TPL002": (rows(chat(("system", "Be kind."), ("user", "hi"), ("assistant", "Hello.")), tokenizer="gemma"), rows(GOOD, tokenizer="gemma")),
    "TPL006": (rows(chat(("user", "hi"), ("user", "again"), ("assistant", "Hello.")), tokenizer="gemma"), rows(GOOD, tokenizer="gemma")),
    "CON001": (rows(chat("hi", ("assistant", None))), FINE),
    "CON002": (rows(GOOD, chat("hi", ("assistant", [{"type": "text", "text": "Hello."}])), tokenizer="llama3"), rows(GOOD, tokenizer="llama3")),
    "CON003": (rows(chat("hi", "")), FINE),
    "CON004": (rows(chat("hi", "  Hello.\n\n")), FINE),
    "CON005": (rows(chat("hi", ("assistant", 42)), tokenizer="llama3"), FINE),
    "CON006": (rows(*[{"prompt": "hi", **GOOD}] * 3), FINE),
    "CON007": (rows(GOOD, {"messages": '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]'}), FINE),
    "CON008": (rows(chat("hi", "Hel\u202elo\x1b[31m")), rows(chat("hi", "Grüße, şu çay çok güzel – “ja”."))),
    "CON009": (rows(chat("hi", {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1, "b": None, "c": None}}}]})), FINE),
    "CON011": (rows(chat({"role": "user", "content": "hi", "mood": "glad"}, {"role": "assistant", "content": "Hello."})), FINE),
    "CON012": (rows(chat("hi", "one\\ntwo\\nthree")), rows(chat("hi", "one\ntwo\nthree"))),
    "BOS001": (rows(GOOD, tokenizer="gemma", changes={"tokenize.add_special_tokens": True}), rows(GOOD, tokenizer="gemma")),
    "BOS002": (rows(GOOD, tokenizer="gemma", preset="manual-shift"), rows(GOOD, tokenizer="gemma")),
    "EOS001": (rows(TEXT), rows(TEXT, changes={"tokenize.append_eos": "always"})),
    "EOS004": (rows(GOOD, changes={"mask.rule": "assistant", "mask.terminator": "mask"}), FINE),
    "EOS007": (rows(chat("hi", "Hello.<|im_end|>")), FINE),
    "EOS012": (rows(chat("hi", "Hello.</s>")), FINE),
    "LAB001": (rows(GOOD, changes={"mask.rule": "assistant", "mask.roles": ("tool",)}), FINE),
    "LAB002": (rows(GOOD, preset="trl@1.16"), FINE),
    "LAB006": (rows({"input_ids": [1, 2, 3], "labels": [1, 2]}), rows({"input_ids": [1, 2, 3], "labels": [1, 2, 3]})),
    "LAB009": (rows(chat("hi", "Hello.", "Bye.", "Bye!")), rows(chat("hi", "Hello.", "Bye.", "Bye!"), changes={"mask.rule": "assistant"})),
    "LAB010": (rows(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 0})), rows(chat("hi", {"role": "assistant", "content": "Hello.", "weight": 1}))),
    "LAB012": (rows(chat("hi", "Hello.", "Bye.")), FINE),
    "TOO006": (rows(chat("hi", ("tool", "{}"), ("assistant", "Hello."))), FINE),
    "DUP001": (rows(GOOD, GOOD), rows(GOOD, chat("hi", "Hello."))),
    "DUP002": (rows(GOOD, evaluation=[GOOD]), rows(GOOD, evaluation=[chat("hi", "Hello.")])),
    "DUP003": (rows(chat("hi", "Hello."), chat("hi", "Good day.")), rows(GOOD, chat("hi", "Hello."))),
}
