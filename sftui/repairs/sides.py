"""Repairs of preferences: where their prompt is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.model import SIDES, common_prefix
from sftui.repairs.model import Data, RepairLayout, RepairLog
from sftui.text import many

PROMPT = "prompt"


def split_prompt(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """What both sides begin with becomes `prompt`; a prompt that stands in front of a side, too, goes there.

    Messages alone are divided: where two texts part tells nothing of where the question ends. A prompt of text beside
    sides of messages that hold it, as UltraFeedback has it, becomes those messages.
    """
    sides = _sides(data, layout)
    prompt, column = data.get(layout.prompt or PROMPT), layout.prompt or PROMPT
    listed = [side for side in sides.values() if isinstance(side, list)]
    if prompt is None or (isinstance(prompt, str) and len(listed) == len(sides)):
        if len(listed) < len(sides):
            return data
        first = listed[0][: max(min(common_prefix(*listed), *(len(side) - 1 for side in listed)), 0)]
        said = [one.get(layout.content) for one in first if isinstance(one, Mapping)]
        if not first or (prompt is not None and prompt not in said):
            return data
        begin = len(first)
        log.note(column, f"what both sides begin with: {many(begin, 'message')}")
        return {column: first, **_without(data, column), **{name: side[begin:] for name, side in sides.items()}}
    repeating = [name for name, side in sides.items() if _begins(side, prompt)]
    for name in repeating:
        log.note(name, f"`{column}` in front of it was removed")
    begin = len(prompt)
    return {**data, **{name: sides[name][begin:] for name in repeating}} if repeating else data


def join_prompt(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """The prompt goes to the front of both sides, and its column."""
    column = layout.prompt or PROMPT
    prompt, sides = data.get(column), _sides(data, layout)
    if prompt is None or any(type(side) is not type(prompt) for side in sides.values()):
        return data
    log.note(column, "is now in front of both sides")
    return {**_without(data, column), **{name: prompt + side for name, side in sides.items()}}


def _sides(data: Data, layout: RepairLayout) -> dict[str, Any]:
    """The two sides, by their usual names where the set is not read: that may be why they are repaired."""
    return {name: data.get(name) for name in layout.sides or SIDES}


def _without(data: Data, column: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != column}


def _begins(side: Any, prompt: Any) -> bool:
    """Whether a side has the prompt in front, and something behind it."""
    return type(side) is type(prompt) and 0 < len(prompt) < len(side) and side[: len(prompt)] == prompt
