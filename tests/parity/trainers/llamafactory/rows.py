"""Preferences for LLaMA-Factory from a seed: instructions with two texts, and chats with two messages."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Rows = list[dict[str, Any]]
WORDS = (
    "the a one two kettle blue çay ödeme 漢字 🙂 <b> {x} {{content}} {{idx}} <|im_end|> <|eot_id|> <think> </think> \n"
    " \n\n\t 3.14 -7 don't ... end. Why? def f(x): ``` } ["
)
TOOL = {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}}
CALL = json.dumps({"name": "look", "arguments": {"city": "Rome"}})
COUNT = 1200


def _text(draw: random.Random, most: int = 40) -> str:
    """Words with gaps; now and then nothing, or a break in front."""
    said = " ".join(draw.choices(WORDS.split(" "), k=draw.choice([0, 1, 3, 8, 20, most])))
    return draw.choice(["", "", "", "\n", " "]) + said


def _answer(draw: random.Random) -> str:
    """A text, one in three with a thought before it: whole, unclosed, unopened, or of nothing."""
    thought = draw.choice(
        ["", "", "", "", "", "", "<think>\nHm.\n</think>\n\n", "<think>\n", "</think>\n\n", "<think></think>"]
    )
    return thought + _text(draw)


def _instructions() -> Rows:
    """Instructions with two texts, of which some are none; history, system and tools in columns."""
    draw, made = random.Random(45), []
    for _ in range(COUNT):
        row: dict[str, Any] = {"instruction": _text(draw), "input": draw.choice(["", _text(draw, 90)])}
        row |= {"chosen": _answer(draw), "rejected": _answer(draw)}
        if draw.random() < 0.05:
            row[draw.choice(["chosen", "rejected"])] = None
        row["system"] = draw.choice(["", None, "Be brief.", _text(draw)])
        row["history"] = [[_text(draw), _answer(draw)] for _ in range(draw.choice([0, 0, 1, 2]))]
        row["tools"] = draw.choice(["", "", None, json.dumps([TOOL])])
        made.append(row)
    return made


def _chats(roles: Mapping[str, str], role: str, content: str) -> Callable[[], Rows]:
    """Chats in these roles with a message for each side; turns out of order, and sides that do not answer."""

    def message(kind: str, text: str) -> dict[str, Any]:
        return {role: roles[kind], content: text}

    def turns(draw: random.Random) -> list[dict[str, Any]]:
        found = [message("system", _text(draw))] if draw.random() < 0.3 else []
        for _ in range(draw.choice([0, 0, 1, 3])):
            called = draw.random() < 0.3
            found += [
                message("user", _text(draw)),
                message("function" if called else "assistant", CALL if called else _answer(draw)),
            ]
            found += [message("observation", "[1]"), message("assistant", _answer(draw))] if called else []
        found.append(message("user", _text(draw, 90)))
        odd = draw.random()
        return found[:-1] if odd < 0.06 else found[1:] if odd < 0.1 else found

    def sides(draw: random.Random) -> Sequence[dict[str, Any] | None]:
        found: list[dict[str, Any] | None] = [
            message("function", CALL) if draw.random() < 0.1 else message("assistant", _answer(draw)) for _ in range(2)
        ]
        odd = draw.random()
        if odd < 0.08:
            found[draw.randrange(2)] = None if odd < 0.04 else message("user", "Why?")
        return found

    def made() -> Rows:
        draw = random.Random(46)
        rows = []
        for _ in range(COUNT):
            chosen, rejected = sides(draw)
            tools = draw.choice(["", "", None, json.dumps([TOOL])])
            rows.append({"conversations": turns(draw), "chosen": chosen, "rejected": rejected, "tools": tools})
        return rows

    return made


def _preferred(found: Rows) -> Rows:
    """Chats whose last answer is preferred to that of the next chat."""
    chats = [row.get("conversations") or row["messages"] for row in found]
    return [
        {**row, "conversations": chat[:-1], "chosen": chat[-1], "rejected": other[-1]}
        for row, chat, other in zip(found, chats, [*chats[1:], *chats[:1]])
    ]


def _ranked(found: Rows) -> Rows:
    """Instructions whose answer is preferred to that of the next one."""
    return [
        {**row, "chosen": row["output"], "rejected": other["output"]}
        for row, other in zip(found, [*found[1:], found[0]])
    ]


def _tagged(found: Rows) -> Rows:
    """Each chosen or rejected answer with a tag; some instructions have none. Chats whose turns are not in order would
    stop the trainer at the next row."""
    made: Rows = []
    for row in found:
        number, rest = len(made), {key: value for key, value in row.items() if key not in ("chosen", "rejected")}
        desired = number % 3 != 1
        answer = row["chosen" if desired else "rejected"]
        if "instruction" in row and answer is not None:
            made.append({**rest, "output": answer, "kto_tag": None if number % 11 == 5 and answer else desired})
        elif "instruction" not in row and _in_order([*row["conversations"], answer]):
            made.append({**rest, "conversations": [*row["conversations"], answer], "kto_tag": desired})
    return made


def _in_order(turns: Sequence[Mapping[str, Any] | None]) -> bool:
    roles = [(turn or {}).get("from") for turn in turns]
    roles = roles[1:] if roles[0] == "system" else roles
    asked, answered = ("human", "observation"), ("gpt", "function_call")
    return len(roles) % 2 == 0 and all(role in (answered if at % 2 else asked) for at, role in enumerate(roles))


NAMED = dict(
    zip(
        ("user", "assistant", "observation", "function", "system"),
        ("human", "gpt", "observation", "function_call", "system"),
    )
)
OPENAI = {**{kind: kind for kind in NAMED}, "observation": "tool"}


def _stopping(side: Any) -> Callable[[], Rows]:
    """A preference with this rejected side, behind a good one."""
    good = {"conversations": [{"from": "human", "value": "Hi"}], "chosen": {"from": "gpt", "value": "Yes."}}
    return lambda: [{**good, "rejected": {"from": "gpt", "value": "No."}}, {**good, "rejected": side}]


STOPPING = {
    "unknown": {"from": "user", "value": "No."},
    "system": {"from": "system", "value": "No."},
    "roleless": {"from": None, "value": "No."},
    "empty": {"from": "gpt", "value": None},
    "no_call": {"from": "function_call", "value": "No."},
}
"""Rejected sides, of which `no_call` stops the trainer because the call is no JSON."""


def _stopping_next(turns: Sequence[str], tag: bool | None) -> Callable[[], Rows]:
    """A chat of KTO with these texts, by turns, between two good ones."""

    def row(texts: Sequence[str], desired: bool | None) -> dict[str, Any]:
        said = [{"from": ("human", "gpt")[at % 2], "value": text} for at, text in enumerate(texts)]
        return {"conversations": said, "kto_tag": desired}

    return lambda: [row(("Hi", "Yes."), True), row(turns, tag), row(("Hi", "No."), False)]


UNPAIRED = {"uneven": (("Hi",), True), "nothing": ((), True), "untagged": (("Hi", ""), None)}
SETS: dict[str, Callable[[], Rows]] = {
    "pairs_of_texts": _instructions,
    "pairs_of_turns": _chats(NAMED, "from", "value"),
    "pairs_of_messages": _chats(OPENAI, "role", "content"),
    **{f"pair_of_{name}": _stopping(side) for name, side in STOPPING.items()},
    **{f"kto_{name}": _stopping_next(*row) for name, row in UNPAIRED.items()},
}
STEPS: dict[str, Callable[[Rows], Rows]] = {
    "preferred": _preferred,
    "ranked": _ranked,
    "tagged": _tagged,
    "first_ones": lambda found: found[:16],
}
