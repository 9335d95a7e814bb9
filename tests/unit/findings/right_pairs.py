"""Right preferences of many shapes: sentences of a small grammar, neither side the longer one on average."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from random import Random
from typing import Any

from sftui.findings.rule import TOOL

Row = dict[str, Any]
WORDS = (
    (
        "The miller",
        "A young pilot",
        "My aunt",
        "The old bridge keeper",
        "Each of the sailors",
        "Nobody here",
        "Zoë",
        "李明",
    ),
    ("mends", "paints", "counts", "forgets", "sells", "measures", "hides", "praises", "weighs"),
    ("the nets", "a wooden door", "seven lamps", "the river", "every letter", "two clocks", "the café", "the `list`"),
    ("at dawn", "on Mondays", "before the storm", "once a year", "with care", "for 12 €", "in silence", "after lunch"),
)


def says(draw: Random, most: int = 6) -> str:
    return " ".join(" ".join(map(draw.choice, WORDS)) + "." for _ in range(draw.randint(1, most)))


def user(text: str) -> Row:
    return {"role": "user", "content": text}


def answer(text: str, **more: Any) -> Row:
    return {"role": "assistant", "content": text, **more}


def asked(draw: Random, number: int) -> Row:
    return user(f"Question {number}: who {' '.join(map(draw.choice, WORDS[1:]))}?")


def call(draw: Random) -> Row:
    arguments = {"city": draw.choice(WORDS[0])}
    return answer("", tool_calls=[{"type": "function", "function": {"name": "get_weather", "arguments": arguments}}])


def history(draw: Random, number: int) -> list[Row]:
    return [asked(draw, number), answer(says(draw)), asked(draw, number)]


def result(draw: Random, number: int) -> list[Row]:
    return [asked(draw, number), call(draw), {"role": "tool", "content": "12 degrees"}]


def thought(draw: Random) -> Row:
    return answer(f"<think>\n{says(draw)}\n</think>\n\n{says(draw)}")


def code(draw: Random) -> Row:
    return answer(
        f"```python\ndef {draw.choice('fgh')}(x):\n    return x * {draw.randint(1, 99)}\n```\n{says(draw, 2)}"
    )


def pair(prompt: list[Row], make: Callable[[], Row], implicit: bool = False, **more: Any) -> Row:
    """Two answers to one prompt, in a column of its own or at the beginning of both sides."""
    begin = prompt if implicit else []
    chosen = make()
    rejected = next(one for _ in count() if (one := make()) != chosen)
    sides = {"chosen": [*begin, chosen], "rejected": [*begin, rejected]}
    return {**({} if implicit else {"prompt": prompt}), **sides, **more}


def texts(draw: Random, number: int, implicit: bool = False) -> Row:
    prompt = f"Q: {asked(draw, number)['content']}\nA:"
    if implicit:
        return {"chosen": f"{prompt} It is so: {says(draw)}", "rejected": f"{prompt} Perhaps: {says(draw)}"}
    return {"prompt": prompt, "chosen": f" {says(draw)}", "rejected": f" {says(draw)}"}


SHAPES: Mapping[str, Callable[[Random, int], Row]] = {
    "explicit": lambda draw, n: pair([asked(draw, n)], lambda: answer(says(draw))),
    "implicit": lambda draw, n: pair([asked(draw, n)], lambda: answer(says(draw)), True),
    "system": lambda draw, n: pair(
        [{"role": "system", "content": says(draw, 1)}, asked(draw, n)], lambda: answer(says(draw))
    ),
    "rounds": lambda draw, n: pair(history(draw, n), lambda: answer(says(draw))),
    "implicit rounds": lambda draw, n: pair(history(draw, n), lambda: answer(says(draw)), True),
    "strings": texts,
    "implicit strings": lambda draw, n: texts(draw, n, True),
    "tools": lambda draw, n: pair([asked(draw, n)], lambda: call(draw), tools=[TOOL]),
    "results": lambda draw, n: pair(result(draw, n), lambda: answer(says(draw)), True, tools=[TOOL]),
    "thoughts": lambda draw, n: pair([asked(draw, n)], lambda: thought(draw)),
    "code": lambda draw, n: pair([asked(draw, n)], lambda: code(draw)),
    "scores": lambda draw, n: pair(
        [asked(draw, n)], lambda: answer(says(draw)), score_chosen=8.5, score_rejected=3.0, margin=5.5
    ),
}


def right_pairs(shape: str, rows: int) -> list[Row]:
    draw = Random(shape)
    return [SHAPES[shape](draw, number) for number in range(rows)]
