"""Changed data put into the line of JSON that it was: what did not change keeps its very text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
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
            raise ValueError("nested too deeply")
        waiting = [
            item
            for one in waiting
            if isinstance(one, (dict, list))
            for item in (one.values() if isinstance(one, dict) else one)
        ]
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("duplicate keys in one object")
    return made


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[0-7])[0-9a-fA-F]{4}")
HALF = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Node:
    """Where a value stands in the text, and what is in it; `at` is where its key begins, or it does itself."""

    at: int
    start: int
    end: int = 0
    key: str | None = None
    inside: list[Node] = field(default_factory=list)


def nodes(text: str) -> Node:
    """The places of all values in a valid JSON text, without recursion: rows nest deep."""
    root = Node(0, 0)
    stack, key = [root], None
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        first = text[start]
        if first in "}]":
            stack.pop().end = end
        elif first == '"' and key is None and text[stack[-1].start] == "{" and len(stack) > 1:
            key = (start, json.loads(match.group()))
        elif first not in ",:":
            node = Node(key[0] if key else start, start, end, key[1] if key else None)
            key = None
            stack[-1].inside.append(node)
            if first in "{[":
                stack.append(node)
    return root.inside[0]


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """How a line is spaced between its values, and whether it escapes what is not ASCII."""

    comma: str = ", "
    colon: str = ": "
    escaped: bool = False

    def write(self, value: Any, known: Callable[[Any], str | None] = lambda value: None) -> str:
        """A value as new JSON text, but for what is `known` to have one; a `Literal` keeps its own, numbers that JSON
        has not are null."""
        if isinstance(value, str):
            return self.quoted(value)
        if isinstance(value, Literal):
            return value.text
        if (text := known(value)) is not None:
            return text
        if isinstance(value, Mapping):
            items = [f"{self.quoted(str(key))}{self.colon}{self.write(item, known)}" for key, item in value.items()]
            return f"{{{self.comma.join(items)}}}"
        if isinstance(value, (list, tuple)):
            return f"[{self.comma.join([self.write(item, known) for item in value])}]"
        if isinstance(value, float) and not abs(value) < float("inf"):
            return "null"
        return json.dumps(value, default=str)

    def quoted(self, text: str) -> str:
        """A string as JSON text; half a character has no UTF-8 and is escaped in any style."""
        return json.dumps(text, ensure_ascii=self.escaped or HALF.search(text) is not None)


def style_of(text: str, root: Node) -> JsonStyle:
    """The style of a line, told from between its first values: text in a string says nothing of it."""
    colon = comma = None
    waiting = [root]
    while waiting and (colon is None or comma is None):
        inside = waiting.pop().inside
        if colon is None and inside and inside[0].key is not None:
            colon = ": " if text[inside[0].start - 1].isspace() else ":"
        if comma is None and len(inside) > 1:
            comma = ", " if text[inside[1].at - 1].isspace() else ","
        waiting += reversed(inside)
    comma = comma or (", " if colon != ":" else ",")
    return JsonStyle(comma, colon or ": ", "\\u" in text and text.isascii() and _ESCAPED.search(text) is not None)


class Splice:
    """One line of JSON with its data, into which new data is put."""

    def __init__(self, text: str, data: Any) -> None:
        self.text = text
        self.data = data
        self.root = nodes(text)
        self.style = style_of(text, self.root)

    def put(self, new: Any) -> str:
        """The text with the new data in place of the old."""
        return self._value(self.root, self.data, new)

    def _value(self, node: Node, old: Any, new: Any) -> str:
        if old == new if isinstance(old, str) and isinstance(new, str) else _key(old) == _key(new):
            return self.text[node.start : node.end]
        if isinstance(old, dict) and isinstance(new, Mapping):
            return self._object(node, old, new)
        if isinstance(old, list) and isinstance(new, (list, tuple)):
            return self._array(node, old, new)
        return self._fresh(new)

    def _object(self, node: Node, old: dict[str, Any], new: Mapping[str, Any]) -> str:
        """Every key where it stood, and equal ones too, of which the last counts; new keys come last."""
        last = {one.key: number for number, one in enumerate(node.inside)}
        pieces: list[tuple[Node | None, str]] = []
        for number, one in enumerate(node.inside):
            if one.key is not None and one.key in new:
                value = self.text[one.start : one.end]
                if last[one.key] == number:
                    value = self._value(one, old[one.key], new[one.key])
                pieces.append((one, self.text[one.at : one.start] + value))
        pieces += [
            (None, self.style.quoted(key) + self.style.colon + self._fresh(item))
            for key, item in new.items()
            if key not in last
        ]
        return self._joined(node, pieces)

    def _array(self, node: Node, old: list[Any], new: Any) -> str:
        pieces: list[tuple[Node | None, str]] = []
        at = 0
        for number, item in enumerate(new):
            spare = len(old) - at - (len(new) - number)
            source = _source(old, at, spare, item)
            if source is None:
                pieces.append((None, self._fresh(item)))
            else:
                pieces.append((node.inside[source], self._value(node.inside[source], old[source], item)))
                at = source + 1
        return self._joined(node, pieces)

    def _joined(self, node: Node, pieces: list[tuple[Node | None, str]]) -> str:
        """The pieces in their brackets, with the text that stood between two of them where both still follow one
        another."""
        if not pieces:
            return self.text[node.start] + self.text[node.end - 1]
        after = {id(one): node.inside[number - 1] for number, one in enumerate(node.inside) if number}
        text = self.text[node.start : node.inside[0].at] if node.inside else self.text[node.start]
        for number, (one, piece) in enumerate(pieces):
            if number:
                before = pieces[number - 1][0]
                followed = one is not None and before is not None and after.get(id(one)) is before
                text += self.text[before.end : one.at] if followed and one and before else self.style.comma
            text += piece
        return text + (self.text[node.inside[-1].end : node.end] if node.inside else self.text[node.end - 1])

    def _fresh(self, new: Any) -> str:
        """Text for a value that stood elsewhere or nowhere: what did stand somewhere keeps its text."""
        return self.style.write(new, self._text_of)

    def _text_of(self, value: Any) -> str | None:
        """The text of a container or a number, where it stands somewhere."""
        plain = value is None or isinstance(value, bool) or value in ({}, [])
        node = None if plain else self._known.get(_key(value))
        return None if node is None else self.text[node.start : node.end]

    @cached_property
    def _known(self) -> dict[str, Node]:
        """Where containers and numbers stand, by what they are."""
        found: dict[str, Node] = {}
        waiting = [(self.root, self.data)]
        while waiting:
            node, value = waiting.pop()
            if not isinstance(value, (str, bool, type(None))):
                found.setdefault(_key(value), node)
            if isinstance(value, dict):
                last = {one.key: one for one in node.inside}
                waiting += [(one, value[key]) for key, one in last.items() if key is not None]
            elif isinstance(value, list):
                waiting += zip(node.inside, value)
        return found


def _key(value: Any) -> str:
    """Equal for values that are equal in JSON: 1, 1.0 and true are three."""
    return _ENCODER.encode(value)


_WINDOW = 64
"""Items that are looked through for the one that a changed item was: a list may be long, and all of it have changed."""
_ENCODER = json.JSONEncoder(default=str)


def _source(old: list[Any], at: int, spare: int, item: Any) -> int | None:
    """Which of the old items the new one was: an equal one, else the one with most in common; `spare` may be
    skipped."""
    if spare == 0 and at < len(old):
        return at
    choices = range(at, min(len(old), at + min(max(spare, 0), _WINDOW) + 1))
    wanted = _key(item)
    equal = next((number for number in choices if _key(old[number]) == wanted), None)
    if equal is not None or not isinstance(item, Mapping):
        return equal
    likes = {
        number: sum(key in item and _key(value) == _key(item[key]) for key, value in old[number].items())
        for number in choices
        if isinstance(old[number], dict)
    }
    best = max(likes, key=lambda number: (likes[number], -number), default=None)
    return best if best is not None and likes[best] else None
