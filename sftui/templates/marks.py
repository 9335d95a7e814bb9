"""Marks in place of what messages say, and finding them again in a rendered text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TEXT_KEYS = ("content", "reasoning_content", "thinking", "reasoning")
_PART_KEYS = ("text", "content", "value")


@dataclass(frozen=True, slots=True)
class Slots:
    """The texts of one message that a mark can stand for, each with its path in the message."""

    paths: tuple[tuple[str | int, ...], ...]
    texts: tuple[str, ...]
    keys: frozenset[str]
    tool_calls: bool
    plain: bool

    @property
    def says_something(self) -> bool:
        return any(text.strip() for text in self.texts) or self.tool_calls

    @property
    def longest(self) -> str:
        return max(self.texts, key=len, default="")

    def shown_in(self, stretch: str) -> bool:
        """Whether a stretch of text holds what the message says, or is what is left of it."""
        if not self.texts:
            return not stretch.strip() or self.tool_calls
        for text in self.texts:
            if any(form in stretch for form in forms(text)):
                return True
        return self.plain and stretch in self.longest


def slots_of(message: Mapping[str, Any]) -> Slots:
    """Every text of a message that says something: content, parts, reasoning, arguments of calls."""
    found: list[tuple[tuple[str | int, ...], str]] = []
    for key in _TEXT_KEYS:
        value = message.get(key)
        if isinstance(value, str):
            found.append(((key,), value))
        elif isinstance(value, (list, tuple)):
            found += _parts(key, value)
    calls = message.get("tool_calls")
    has_calls = isinstance(calls, (list, tuple)) and len(calls) > 0
    if has_calls:
        found += [((("tool_calls", *path)), text) for path, text in _leaves(calls, 0) if path[-1] not in ("id", "type")]
    keys = frozenset(key for key in (*_TEXT_KEYS, "tool_calls") if key in message)
    return Slots(
        tuple(path for path, _ in found), tuple(text for _, text in found), keys, has_calls,
        plain=len(found) == 1 and found[0][0] == ("content",),
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
    out: Any = message
    for number, (path, text) in enumerate(zip(slots.paths, slots.texts)):
        if text.strip():
            out = _set(out, path, f"{mark}{index}x{number}y")
    return out  # type: ignore[no-any-return]


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
        if index >= len(slots) or number >= len(slots[index].texts):
            return None
        last = k + 3 >= len(pieces)
        for form in forms(slots[index].texts[number]):
            end = at + len(form)
            if text.startswith(form, at) and (text[end:] == after if last else text.startswith(after, end)):
                # A call's name written again, before the tool's answer, is no longer the assistant's.
                again = (index, number) in called
                if slots[index].paths[number][0] == "tool_calls":
                    called.add((index, number))
                if not again:
                    places.append((at, end, index))
                at = end + len(after)
                break
        else:
            return None
    return places if at == len(text) else None


def forms(text: str) -> Iterator[str]:
    """The ways templates write a text: as it is, trimmed, or inside JSON; longest first of each kind."""
    seen = set()
    for raw in (text, text.rstrip(), text.lstrip(), text.strip(), text.strip("\n"), text.lstrip("\n"), text.rstrip("\n")):
        if raw not in seen:
            seen.add(raw)
            yield raw
    for ascii_only in (False, True):
        quoted = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        if quoted not in seen:
            seen.add(quoted)
            yield quoted


def _parts(key: str, parts: Sequence[Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for number, part in enumerate(parts):
        if isinstance(part, str):
            yield (key, number), part
        elif isinstance(part, Mapping):
            for name in _PART_KEYS:
                if isinstance(part.get(name), str):
                    yield (key, number, name), part[name]


def _leaves(value: Any, depth: int) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if depth > 12:
        return
    items: Any = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, item in items:
        if isinstance(item, str):
            yield (key,), item
        elif isinstance(item, (Mapping, list, tuple)):
            for path, text in _leaves(item, depth + 1):
                yield (key, *path), text


def _set(value: Any, path: tuple[str | int, ...], text: str) -> Any:
    if not path:
        return text
    if isinstance(value, Mapping):
        return {key: _set(item, path[1:], text) if key == path[0] else item for key, item in value.items()}
    return [_set(item, path[1:], text) if number == path[0] else item for number, item in enumerate(value)]
