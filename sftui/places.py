"""Places in a record: where a message stands, what is there, and the record with other texts there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Place: TypeAlias = "tuple[str | int, ...]"
"""The steps to a value: keys of objects, numbers of lists."""
_NUMBER = re.compile(r"\[(\d{1,9})\](?=(?:\[\d{1,9}\])*\Z)")


def place_in(origin: str) -> Place:
    """`conversations[2]` as ("conversations", 2); empty where nothing is named."""
    column, *numbers = _NUMBER.split(origin)
    return (*filter(None, [column]), *map(int, filter(None, numbers)))


def value_at(value: Any, place: Sequence[str | int]) -> Any:
    """What is at a place; LookupError or TypeError where there is nothing."""
    for step in place:
        value = value[step]
    return value


def with_texts(value: Any, texts: Mapping[Place, str]) -> Any:
    """The value with each text at its place, every level copied once however many texts it holds."""
    if () in texts:
        return texts[()]
    below: dict[str | int, dict[Place, str]] = {}
    for place, text in texts.items():
        below.setdefault(place[0], {})[place[1:]] = text
    if isinstance(value, Mapping):
        return {key: with_texts(item, below[key]) if key in below else item for key, item in value.items()}
    return [with_texts(item, below[number]) if number in below else item for number, item in enumerate(value)]
