"""Three independent ways to find what the assistant says in a rendered conversation (P3 of the catalogue).

Generation tags, growing prefixes and two sentinels know nothing of each other and nothing of the spans that
the templates stage proves, so where they agree a mask can be trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Range = tuple[int, int]
Draw = Callable[[Sequence[Mapping[str, Any]], bool], "str | None"]
_RESULT = re.compile(r"<\|tool\w*>\s*\Z")
# A generation prompt may open the thought that the content opens too.
_OPENING = re.compile(r"\s*<think>\s*")
_SENTINELS = ("qzXkjvA7wq", "wvJ3pQhxRz9")


@dataclass(frozen=True, slots=True)
class AnswerSpans:
    """Where one method finds each assistant message, by message index; what it cannot tell is left out.

    `outer`: the method includes the turn end (tags and prefixes do, sentinels find the content alone).
    """

    method: str
    found: Mapping[int, Range]
    outer: bool


def by_tags(generation: Sequence[Range], answers: Sequence[int], turns: Mapping[int, Range]) -> AnswerSpans:
    """The `{% generation %}` spans, one an answer.

    Several an answer (around what the template puts in between) are one, from the first to the last, where `turns`, the
    spans of another method, hold them all; else nothing is found where the numbers differ.
    """
    found = dict(zip(answers, generation))
    if len(generation) != len(answers):
        mine = {
            number: [place for place in generation if start <= place[0] and place[1] <= end]
            for number, (start, end) in turns.items()
        }
        found = {number: (places[0][0], places[-1][1]) for number, places in mine.items() if places}
        if sum(map(len, mine.values())) != len(generation):
            found = {}
    return AnswerSpans("generation tags", found, True)


def by_prefix(text: str, messages: Sequence[Mapping[str, Any]], answers: Sequence[int], draw: Draw) -> AnswerSpans:
    """From the prompt that precedes an answer to the render that ends with it; both must be prefixes of `text`."""
    found: dict[int, Range] = {}
    for number in answers:
        if number == 0:
            continue
        prompt, upto = draw(messages[:number], True), draw(messages[: number + 1], False)
        if prompt is None or upto is None or not upto.startswith(prompt) or not text.startswith(upto):
            continue
        # What waits for a result is the next turn's (Gemma 4's <|tool_response>, which TRL's own tags leave out too).
        found[number] = (len(prompt), len(_RESULT.sub("", upto)))
    return AnswerSpans("growing prefix", found, True)


def by_sentinels(text: str, messages: Sequence[Mapping[str, Any]], answers: Sequence[int], draw: Draw) -> AnswerSpans:
    """What changes when one answer is replaced in the whole conversation, the same for two different sentinels."""
    found: dict[int, Range] = {}
    for number in answers:
        places = {_replaced(text, messages, number, sentinel, draw) for sentinel in _SENTINELS}
        place = places.pop()
        if not places and place is not None:
            found[number] = place
    return AnswerSpans("two sentinels", found, False)


def _replaced(text: str, messages: Sequence[Mapping[str, Any]], number: int, sentinel: str, draw: Draw) -> Range | None:
    listed = isinstance(messages[number].get("content"), (list, tuple))
    content = [{"type": "text", "text": sentinel}] if listed else sentinel
    other = draw([*messages[:number], {**messages[number], "content": content}, *messages[number + 1 :]], False)
    if other is None or other.count(sentinel) != 1:
        return None
    before, after = other.split(sentinel)
    end = len(text) - len(after)
    return (len(before), end) if text.startswith(before) and text.endswith(after) and len(before) <= end else None


def disagreement(methods: Sequence[AnswerSpans], text: str) -> tuple[int, str, Range] | None:
    """The first message that two methods see elsewhere: its index, a sentence, and the place; None where all agree.

    Two outer spans must cover the same solid text, header tokens and white space aside; the content must lie in
    every outer span of its message and in none of another's.
    """
    contents = {number: place for one in methods if not one.outer for number, place in one.found.items()}
    for one in methods:
        if not one.outer:
            continue
        for number, (start, end) in one.found.items():
            inner = contents.get(number)
            if inner is not None and text[inner[0] : inner[1]].strip():
                first = inner[0] + len(text[inner[0] : inner[1]]) - len(text[inner[0] : inner[1]].lstrip())
                last = inner[0] + len(text[inner[0] : inner[1]].rstrip())
                if (first < start and not _OPENING.fullmatch(text, first, start)) or last > end:
                    return (
                        number,
                        (
                            f"by {one.method} message {number} is characters {start}–{end}, by two sentinels its"
                            f" content is {inner[0]}–{inner[1]}"
                        ),
                        (min(start, inner[0]), max(end, inner[1])),
                    )
            for other, place in contents.items():
                if other != number and place[0] < end and start < place[1]:
                    return (
                        number,
                        f"by {one.method} the span of message {number} reaches into message {other}",
                        (start, end),
                    )
    outer = [one for one in methods if one.outer]
    for number in set.intersection(*(set(one.found) for one in outer)) if len(outer) > 1 else ():
        ends = {len(text[: one.found[number][1]].rstrip()) for one in outer}
        if len(ends) > 1:
            places = ", ".join(f"at {one.found[number][1]} by {one.method}" for one in outer)
            return number, f"message {number} ends {places}", (min(ends), max(ends))
    return None
