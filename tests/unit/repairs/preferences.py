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

SYSTEM = {"role": "system", "content": "S"}
LONG = "12345678901234567890123"
BOTH = {"chosen": [HI, GOOD], "rejected": [HI, BAD]}
TEXTS = PAIRS["texts"]
JUDGED = {"prompt": [HI], "completion": [GOOD], "label": True}
OTHER = {**JUDGED, "completion": [BAD], "label": False}
CAREFUL: list[tuple[str, list[Any], str, str, tuple[str, ...], Any]] = [
    ("the chosen one again", [{**BOTH, "messages": BOTH["chosen"], "prompt": "Hi", "score": 2}], "trl", "dpo", (),
     [{"score": 2, "prompt": [HI], "chosen": [GOOD], "rejected": [BAD]}]),
    ("asked twice", [{**BOTH, "prompt": [HI]}], "ms-swift", "dpo", (),
     [{"messages": [HI, GOOD], "rejected_messages": [HI, BAD]}]),
    ("roles of ShareGPT", [{"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "good"}],
     "rejected_response": "bad"}], "ms-swift", "dpo", (), [{"messages": [HI, GOOD], "rejected_messages": [HI, BAD]}]),
    ("a repair of both answers", [{**TEXTS, "rejected": " bad "}], "trl", "kto", ("--apply", "trim"), [JUDGED, OTHER]),
    ("pairs that differ in one answer", [TEXTS, {**TEXTS, "rejected": "worse"}], "trl", "kto",
     ("--apply", "deduplicate"), [JUDGED, OTHER, JUDGED, {**OTHER, "completion": [{**BAD, "content": "worse"}]}]),
    ("answers that differ in their label", [JUDGED, {**JUDGED, "label": False}], "trl", "dpo",
     ("--apply", "deduplicate"), [{"prompt": [HI], "chosen": [GOOD], "rejected": [GOOD]}]),
    ("answers to other systems", [{**JUDGED, "system": "A"}, {**OTHER, "system": "B"}], "trl", "dpo", (),
     "no two answers make a pair"),
    ("answers to other variables", [{**JUDGED, "chat_template_kwargs": {"a": True}},
     {**OTHER, "chat_template_kwargs": {"a": False}}], "trl", "dpo", (), "no two answers make a pair"),
    ("a system column", [{**TEXTS, "system": "S"}], "trl", "dpo", (),
     [{"prompt": [SYSTEM, HI], "chosen": [GOOD], "rejected": [BAD]}]),
    ("an empty answer", [{"messages": [SYSTEM, HI], "chosen": [], "rejected": BAD}, PAIRS["a side is a message"]],
     "trl", "dpo", (), "an answer is an empty list"),
    ("an empty rejected answer", [PAIRS["a side is a message"], {"messages": [HI], "chosen": GOOD, "rejected": []}],
     "axolotl", "dpo", (), "an answer is an empty list"),
    ("equal answers", [{"messages": [HI, GOOD], "rejected_response": "good"}, PAIRS["a rejected response"]],
     "trl", "dpo", (), [{"prompt": [HI], "chosen": [GOOD], "rejected": one} for one in ([GOOD], [BAD])]),
    ("another question", [{**BOTH, "prompt": "Hi"}, {**BOTH, "prompt": "other"}], "trl", "dpo", (),
     "`prompt` is not what both sides begin with"),
    ("a line that is no row", [TEXTS, None], "trl", "kto", (), "1 of 2 rows cannot become messages"),
    ("a label that is no verdict", [{**JUDGED, "label": 0.3}, OTHER], "trl", "dpo", (),
     "`label` is a number, not true or false"),
    ("calls that are lost", [{**BOTH, "chosen": [HI, CALL]}], "axolotl", "dpo", (), "which Axolotl would lose"),
    ("answers as they are read", [{"messages": [HI, GOOD], "label": True}, {"messages": [HI, BAD], "label": False}],
     "ms-swift", "dpo", (), [{"messages": [HI, GOOD], "rejected_messages": [HI, BAD]}]),
    ("a column left out", [{**PAIRS["a prompt of messages"], "note": "x"}], "trl", "dpo", ("--without", "note,score"),
     [{"prompt": [HI], "chosen": [GOOD], "rejected": [BAD]}]),
    ("for another trainer", [PAIRS["a prompt of messages"]], "trl", "dpo", ("--for", "llamafactory"),
     [{"score": 2, **{"messages": [HI], "chosen": GOOD, "rejected": BAD}}]),
    ("for TRL", [PAIRS["ShareGPT"]], "llamafactory", "dpo", ("--for", "trl"),
     [{"prompt": [HI], "chosen": [GOOD], "rejected": [BAD]}]),
]  # fmt: skip
"""Rows, trainer and objective, options, and what is written, or said where nothing is."""
