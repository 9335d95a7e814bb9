"""JSON that was stored as text, read so that it can be written again without loss."""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 100
"""Text that nests deeper is no data that somebody meant to store."""


class Literal(float):
    """A number with a fraction or an exponent, with the text it was written as."""

    text: str

    def __new__(cls, text: str) -> Literal:
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __reduce__(self) -> tuple[type[Literal], tuple[str]]:
        return Literal, (self.text,)


def lossless(text: str) -> Any:
    """The value of a JSON text; ValueError where it is none, or one that would not come back whole.

    That is NaN and Infinity, which are no JSON, and equal keys in one object, of which only the last would stay.
    """
    value = json.loads(text, parse_float=Literal, parse_constant=_refuse, object_pairs_hook=_object)
    waiting, depth = [value], 0
    while waiting:
        depth += 1
        if depth > DEEPEST:
            raise ValueError("nested too deep")
        waiting = [
            item
            for one in waiting
            if isinstance(one, (dict, list))
            for item in (one.values() if isinstance(one, dict) else one)
        ]
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("equal keys in one object")
    return made
