"""What an operand wrote, cut into stretches that are answer and stretches that are not.

A string literal is cut where it is cut. An expression writes a text of any length; where it holds more than an answer
(`<think></think>` put before it, a whole turn made by a macro), all but one of its stretches must be a constant text,
so that they can be cut off by their length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Range = tuple[int, int]
Run = tuple["str | None", bool]
Shape = tuple[Run, ...]
"""Stretches in order: (its text, None where it may be any, whether it is answer)."""
_OPEN_ANSWER = 3
"""How much likelier it is that an answer varies than what stands before it: answers come again in a handful of
probes."""


def stretches(text: str, answer: Sequence[Range], start: int, end: int) -> Shape | None:
    """How `text[start:end]` is covered by answers; None where it is empty."""
    if start >= end:
        return None
    cuts: list[Run] = []
    at = start
    for a, b in answer:
        if b <= start or a >= end:
            continue
        if a > at:
            cuts.append((text[at:a], False))
        cuts.append((text[max(a, start) : min(b, end)], True))
        at = b
    if at < end:
        cuts.append((text[at:end], False))
    return tuple(cuts)


def opened(seen: Sequence[Shape | None]) -> list[Shape | None]:
    """The shapes of what one expression wrote at different times, each with one stretch that may be any text.

    Which one is recognised by the others: they come again, letter by letter. What is nothing but such constant texts
    has the shape of which they are left.
    """
    choices = Counter(choice for one in set(seen) if one is not None and len(one) > 1 for choice in _choices(one))
    found = {
        one: max(_choices(one), key=lambda choice: choices[choice] * (_OPEN_ANSWER if _answers_open(choice) else 1))
        for one in seen
        if one is not None and len(one) > 1
    }
    out: list[Shape | None] = []
    for one in seen:
        if one is None or len(one) > 1:
            out.append(None if one is None else found[one])
        else:
            text, answer = one[0]
            bare = next(
                (
                    shape
                    for shape in found.values()
                    if head_of(shape) + tail_of(shape) == text and _constant_is(shape, answer)
                ),
                None,
            )
            out.append(bare or ((None, answer),))
    return out


def head_of(shape: Shape) -> str:
    """The constant text before the open stretch."""
    return "".join(text or "" for text, _ in shape[: _open(shape)])


def tail_of(shape: Shape) -> str:
    """The constant text behind the open stretch."""
    return "".join(text or "" for text, _ in shape[_open(shape) + 1 :])


def _open(shape: Shape) -> int:
    return next((k for k, (text, _) in enumerate(shape) if text is None), len(shape))


def _choices(shape: Shape) -> list[Shape]:
    return [
        tuple((None if k == number else text, answer) for k, (text, answer) in enumerate(shape))
        for number in range(len(shape))
    ]


def _constant_is(shape: Shape, answer: bool) -> bool:
    return all(said == answer for text, said in shape if text is not None)


def _answers_open(shape: Shape) -> bool:
    return shape[_open(shape)][1]
