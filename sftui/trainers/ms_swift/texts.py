"""Texts that know who wrote which part of them, and ids that are put between texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sftui.model import NOWHERE, Part
from sftui.trainers.pieces import Run, said

Text = tuple[Run, ...]


class InsertedIds(NamedTuple):
    """Ids that stand between texts, and what they are shown as."""

    ids: tuple[int, ...]
    text: str
    message: int
    part: Part


Context = Text | InsertedIds
"""What is encoded, or put in, as one."""


def written(text: str, message: int = NOWHERE, part: Part = Part.CONTENT) -> Text:
    """A text of one message and one part."""
    return (Run(text, message, part),)


def cut(text: Text, start: int, end: int) -> Text:
    """The characters from `start` to `end`."""
    found: list[Run] = []
    at = 0
    for run in text:
        behind = at + len(run.text)
        if behind > start and at < end:
            found.append(Run(run.text[max(start - at, 0) : end - at], run.message, run.part))
        at = behind
    return tuple(found)


def parted(text: Text, parts: Sequence[str]) -> Iterator[Text]:
    """The text in the parts that it falls into."""
    at = 0
    for part in parts:
        yield cut(text, at, at + len(part)) or ((text[0]._replace(text=""),) if text else ())
        at += len(part)


def stripped(text: Text, characters: str | None = None) -> Text:
    """The text without white space (or some characters) around it."""
    whole = said(text)
    start = len(whole) - len(whole.lstrip(characters))
    return cut(text, start, max(start, len(whole.rstrip(characters))))


def filled(text: Text, place: str, value: Text | None) -> Text:
    """The text with every `place` replaced; None replaces nothing."""
    if value is None:
        return text
    if not any(place in run.text for run in text):
        if len(text) < 2 or place not in said(text):
            return text
        message, part = text[0].message, text[0].part  # it stands across a border: who wrote what is lost
        return (Run(said(text).replace(place, said(value)), message, part),)
    found: list[Run] = []
    for run in text:
        first, *others = run.text.split(place)
        found.append(run._replace(text=first))
        for other in others:
            found += value
            found.append(run._replace(text=other))
    return tuple([run for run in found if run.text])
