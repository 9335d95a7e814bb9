"""Marks in place of what messages say, and finding them again in a rendered text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sftui.places import Place, with_texts

_TEXT_KEYS = ("content", "reasoning_content", "thinking", "reasoning")
_PART_KEYS = ("text", "content", "value")
_OPENS, _CLOSES = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class Slot:
    """One text in a message: its path, and what stands before it there and is never marked (`<think>`).

    Slots of one path stand one after the other.
    """

    path: Place
    text: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Slots:
    """The texts of one message that a mark can stand for, and the keys they are under."""

    slots: tuple[Slot, ...]
    keys: frozenset[str]
    tool_calls: bool
    other: str

    @property
    def compound(self) -> bool:
        """Whether templates write more around the texts than a header and a terminator: calls, parts of a list."""
        return self.tool_calls or any(len(slot.path) > 1 for slot in self.slots)

    @property
    def says_something(self) -> bool:
        return any(slot.text.strip() for slot in self.slots) or self.tool_calls or bool(self.other)

    @property
    def longest(self) -> str:
        return max((slot.text for slot in self.slots), key=len, default=self.other)

    def shown_in(self, stretch: str) -> bool:
        """Whether a stretch of text holds anything that the message says, or is what is left of it."""
        said = [slot.text for slot in self.slots if slot.text.strip()] + [self.other] * bool(self.other)
        return not stretch.strip() or any(stands_in(text, stretch) for text in said) or stretch in self.longest

    def missing_from(self, stretch: str) -> bool:
        """Whether something that the message says is left out of a stretch of text."""
        return any(slot.text.strip() and not stands_in(slot.text, stretch) for slot in self.slots)


def slots_of(message: Mapping[str, Any]) -> Slots:
    """Every text of a message that says something: content, parts, reasoning, arguments of calls."""
    found: list[Slot] = []
    for key in _TEXT_KEYS:
        value = message.get(key)
        if isinstance(value, str):
            found += _thought((key,), value)
        elif isinstance(value, (list, tuple)):
            found += _parts(key, value)
    calls = message.get("tool_calls")
    has_calls = isinstance(calls, (list, tuple)) and len(calls) > 0
    if has_calls:
        found += [
            Slot(("tool_calls", *path), text) for path, text in _leaves(calls, 0) if path[-1] not in ("id", "type")
        ]
    content = message.get("content")
    return Slots(
        tuple(found),
        frozenset(key for key in (*_TEXT_KEYS, "tool_calls") if key in message),
        has_calls,
        other="" if content is None or isinstance(content, (str, list, tuple)) else str(content),
    )


def make_mark(text: str, seed: str) -> str:
    """A word that does not occur in `text`, without anything a template looks for."""
    number = 0
    while True:
        mark = f"Q{seed}{number}Zq"
        if mark not in text:
            return mark
        number += 1


def with_marks(message: Mapping[str, Any], slots: Slots, mark: str, index: int) -> Mapping[str, Any]:
    """The message with every text that is not blank replaced by `mark`, its own and the slot's number."""
    texts: dict[Place, str] = {}
    for number, slot in enumerate(slots.slots):
        said = f"{mark}{index}x{number}y" if slot.text.strip() else slot.text
        texts[slot.path] = texts.get(slot.path, "") + slot.before + said
    return with_texts(message, texts)  # type: ignore[no-any-return]


def read_marked(text: str, skeleton: str, mark: str, slots: Sequence[Slots]) -> list[tuple[int, int, int]] | None:
    """Where in `text` the marked texts stand (start, end, message), if `skeleton` explains all of it.

    Each mark may stand for the text itself or one of its `forms`; everything between marks must be
    equal to the letter. None where that does not work out.
    """
    pieces = re.split(re.escape(mark) + r"(\d+)x(\d+)y", skeleton)
    if not text.startswith(pieces[0]):
        return None
    at = len(pieces[0])
    places: list[tuple[int, int, int]] = []
    called: set[tuple[int, int]] = set()
    for k in range(1, len(pieces), 3):
        index, number, after = int(pieces[k]), int(pieces[k + 1]), pieces[k + 2]
        if index >= len(slots) or number >= len(slots[index].slots):
            return None
        last = k + 3 >= len(pieces)
        for form in forms(slots[index].slots[number].text):
            end = at + len(form)
            if text.startswith(form, at) and (text[end:] == after if last else text.startswith(after, end)):
                # A call's name written again, before the tool's answer, is no longer the assistant's.
                again = (index, number) in called
                if slots[index].slots[number].path[0] == "tool_calls":
                    called.add((index, number))
                if not again:
                    places.append((at, end, index))
                at = end + len(after)
                break
        else:
            return None
    return places if at == len(text) else None


_FORMS: tuple[Callable[[str], str], ...] = (
    *(str, str.rstrip, str.lstrip, str.strip),
    *(lambda text: text.strip("\n"), lambda text: text.lstrip("\n"), lambda text: text.rstrip("\n")),
    *(lambda text: json.dumps(text, ensure_ascii=False)[1:-1], lambda text: json.dumps(text)[1:-1]),
    lambda text: repr(text)[1:-1],
)


def forms(text: str) -> Iterator[str]:
    """The ways templates write a text: as it is, trimmed, inside JSON, or inside a list as Python prints it."""
    seen = set()
    for written in _FORMS:
        form = written(text)
        if form not in seen:
            seen.add(form)
            yield form


def stands_in(text: str, stretch: str) -> bool:
    """Whether a text is in a stretch, in any of the ways in which templates write it."""
    return any(form in stretch for form in forms(text))


def _thought(path: Place, text: str) -> list[Slot]:
    """A text as one slot, or as two where it opens with a thought, which templates cut out, move or wrap anew."""
    # By hand: a pattern with white space on either side of its parts takes the cube of a long blank stretch.
    blank = len(text) - len(text.lstrip())
    closes = text.find(_CLOSES, blank + len(_OPENS)) if text.startswith(_OPENS, blank) else -1
    if closes < 0:
        return [Slot(path, text)]
    said = text[blank + len(_OPENS) : closes]
    thought = said.lstrip()
    start = closes - len(thought)
    thought = thought.rstrip()
    rest = text[closes + len(_CLOSES) :].lstrip()
    return [
        Slot(path, thought, before=text[:start]),
        Slot(path, rest, before=text[start + len(thought) : len(text) - len(rest)]),
    ]


def _parts(key: str, parts: Sequence[Any]) -> Iterator[Slot]:
    for number, part in enumerate(parts):
        if isinstance(part, str):
            yield Slot((key, number), part)
        elif isinstance(part, Mapping):
            for name in _PART_KEYS:
                if isinstance(part.get(name), str):
                    yield Slot((key, number, name), part[name])


def _leaves(value: Any, depth: int) -> Iterator[tuple[Place, str]]:
    if depth > 12:
        return
    items: Any = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, item in items:
        if isinstance(item, str):
            yield (key,), item
        elif isinstance(item, (Mapping, list, tuple)):
            for path, text in _leaves(item, depth + 1):
                yield (key, *path), text
