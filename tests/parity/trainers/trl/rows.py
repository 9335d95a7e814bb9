"""Preferences for TRL from a seed: prompts of messages or text with two answers, or with one and its label."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Rows = list[dict[str, Any]]
WORDS = (
    *[
        "the",
        "a",
        "one",
        "two",
        "kettle",
        "blue",
        "çay",
        "ödeme",
        "漢字",
        "🙂",
        "<b>",
        "{x}",
        "3.14",
        "-7",
        "don't",
        "...",
        "end.",
        "Why?",
        "def",
        "f(x):",
        "```",
        "}",
        "[",
    ],
    *("<think>", "</think>", "<|im_end|>", "<|eot_id|>", "</s>", "\n", "\n\n", "\t"),
)
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
COUNT = 1200


def _text(draw: random.Random, most: int = 30, least: int = 0) -> str:
    said = " ".join(draw.choices(WORDS, k=draw.choice([least, 1, 3, 8, 20, most])))
    return draw.choice(["", "", "", "", "\n", " "]) + said + draw.choice(["", "", "", "", " ", "\n", "<|im_end|>"])


def _answer(draw: random.Random) -> str:
    return draw.choice(["", "", "", "<think>\nHm.\n</think>\n\n", "<think>\n\n</think>\n\n"]) + _text(draw)


def _question(draw: random.Random) -> list[dict[str, Any]]:
    found = [{"role": "system", "content": _text(draw)}] if draw.random() < 0.3 else []
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        found += [{"role": "user", "content": _text(draw)}, {"role": "assistant", "content": _answer(draw)}]
    found.append({"role": "user", "content": _text(draw, 60)})
    if draw.random() < 0.04:
        found.append({"role": "assistant", "content": _text(draw)})
    return found


def _said(draw: random.Random) -> list[dict[str, Any]]:
    found = [{"role": "assistant", "content": _answer(draw)}]
    if draw.random() < 0.08:
        found += [{"role": "user", "content": _text(draw)}, {"role": "assistant", "content": _answer(draw)}]
    return found


def _messages(*, explicit: bool, tools: bool = False) -> Callable[[], Rows]:
    def made() -> Rows:
        draw, rows = random.Random(45 + explicit), []
        for _ in range(COUNT):
            prompt, chosen, rejected = _question(draw), _said(draw), _said(draw)
            odd = draw.random()
            rejected = chosen if odd < 0.02 else rejected
            if odd > 0.96 and explicit:  # the most usual wrong file
                chosen, rejected = [*prompt, *chosen], [*prompt, *rejected]
            row: dict[str, Any] = {"chosen": chosen, "rejected": rejected}
            row = {"prompt": prompt, **row} if explicit else {name: [*prompt, *side] for name, side in row.items()}
            if tools:
                row["tools"] = json.dumps([TOOL]) if draw.random() < 0.5 else None
            rows.append(row)
        return rows

    return made


def _texts(*, explicit: bool) -> Callable[[], Rows]:
    def made() -> Rows:
        draw, rows = random.Random(450 + explicit), []
        for _ in range(COUNT):
            prompt = draw.choice(["", "Q: ", "Human: "]) + _text(draw, 60, 1) + draw.choice(["\nA:", "\n", " ", ""])
            chosen, rejected = _text(draw, least=1), _text(draw, least=1)
            row = {"chosen": chosen, "rejected": draw.choice([rejected] * 30 + [chosen])}
            rows.append({"prompt": prompt, **row} if explicit else {k: prompt + v for k, v in row.items()})
        return rows

    return made


def _labelled(found: Rows) -> Rows:
    """Each pair as one answer: the chosen of two in three, the rejected of the others."""
    made = []
    for at, row in enumerate(found):
        side = "rejected" if at % 3 == 0 else "chosen"
        rest = {name: value for name, value in row.items() if name not in ("chosen", "rejected")}
        made.append({**rest, "completion": row[side], "label": side == "chosen"})
    return made


def _sides_of(found: Rows) -> Rows:
    """Real chats: the last answer is preferred to that of the next row."""
    lasts = [row["messages"][-1] for row in found]
    return [
        {"prompt": row["messages"][:-1], "chosen": [own], "rejected": [other]}
        for row, own, other in zip(found, lasts, [*lasts[1:], lasts[0]])
    ]


SETS: dict[str, Callable[[], Rows]] = {
    "trl_pairs": _messages(explicit=True),
    "trl_pairs_implicit": _messages(explicit=False),
    "trl_pairs_tools": _messages(explicit=True, tools=True),
    "trl_pairs_texts": _texts(explicit=True),
    "trl_pairs_texts_implicit": _texts(explicit=False),
}
STEPS: dict[str, Callable[[Rows], Rows]] = {
    "labelled": _labelled,
    "sides_of": _sides_of,
    "asked": lambda found: [row for row in found if row["prompt"][-1]["role"] == "user"],
    "some": lambda found: found[:16],
}
