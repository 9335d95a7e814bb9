"""Preferences, the same ones in each shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HI = {"role": "user", "content": "Hi"}
GOOD = {"role": "assistant", "content": "good"}
BAD = {"role": "assistant", "content": "bad"}
CALL = {**GOOD, "tool_calls": [{"type": "function", "function": {"name": "w", "arguments": {}}}]}

PAIRS: Mapping[str, Mapping[str, Any]] = {
    "a prompt of messages": {"prompt": [HI], "chosen": [GOOD], "rejected": [BAD], "score": 2},
    "the prompt in both sides": {"chosen": [HI, GOOD], "rejected": [HI, BAD]},
    "texts": {"prompt": "Hi", "chosen": "good", "rejected": "bad"},
    "a text that is the question of both sides": {"prompt": "Hi", "chosen": [HI, GOOD], "rejected": [HI, BAD]},
    "a side is a message": {"messages": [HI], "chosen": GOOD, "rejected": BAD},
    "ShareGPT": {
        "conversations": [{"from": "human", "value": "Hi"}],
        "chosen": {"from": "gpt", "value": "good"},
        "rejected": {"from": "gpt", "value": "bad"},
    },
    "ShareGPT in both sides": {
        side: [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": word}]
        for side, word in (("chosen", "good"), ("rejected", "bad"))
    },
    "an instruction": {"instruction": "Hi", "input": "", "chosen": "good", "rejected": "bad"},
    "a rejected response": {"messages": [HI, GOOD], "rejected_response": "bad"},
    "a rejected response to a query": {"query": "Hi", "response": "good", "rejected_response": "bad"},
    "rejected messages": {"messages": [HI, GOOD], "rejected_messages": [HI, BAD]},
}
ANSWERS: Mapping[str, list[Mapping[str, Any]]] = {
    "a completion": [
        {"prompt": [HI], "completion": [GOOD], "label": True},
        {"prompt": [HI], "completion": [BAD], "label": False},
    ],
    "texts with a label": [
        {"prompt": "Hi", "completion": "good", "label": True},
        {"prompt": "Hi", "completion": "bad", "label": False},
    ],
    "a tag": [{"messages": [HI, GOOD], "kto_tag": True}, {"messages": [HI, BAD], "kto_tag": False}],
}
"""A desirable answer and an undesirable one."""
TOLD = [
    ({"chosen": "Human: Hi AI: a", "rejected": "Human: Hi AI: b"}, "trl", "its two sides share no message"),
    ({"prompt": [HI], "chosen": [GOOD, HI, GOOD], "rejected": [BAD]}, "llamafactory", "an answer has 3 messages"),
    ({"prompt": [HI], "chosen": [CALL], "rejected": [BAD]}, "llamafactory", "would lose after conversion"),
    ({"messages": [HI, GOOD], "rejected_response": "bad", "chosen": 1}, "trl", "there is a column `chosen`"),
]
