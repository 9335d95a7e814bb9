"""Repairs of turns: roles, neighbours of one role, the system message, and where the prompt of a preference is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sftui.conversations.messages import CALL_ROLE, FLAG_KEYS, KNOWN_ROLES, ROLE_ALIASES, WEIGHT_KEYS
from sftui.findings.rules.roles import nearest_role
from sftui.model import SIDES, common_prefix
from sftui.repairs.model import Data, Item, RepairLayout, RepairLog, quote
from sftui.text import many

_BETWEEN = "\n\n"
_SHAREGPT = ("human", "gpt", "observation")
"""Names of the format ShareGPT itself."""
_ADDED = "was appended to the previous one"


def map_roles(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """Aliases (human, gpt, bot) and misspellings (Assistant, asistant) become the roles that templates know.

    A `function_call` turn keeps its role: how it is read depends on it. Whether a trainer maps aliases by itself does
    not matter, other readers of the file may not. In ShareGPT (`from` and `value`) read by its rules, human and gpt are
    the names of the format: they stay, and other names for the two become them.
    """
    own = {layout.roles[name]: name for name in own_names(layout)}

    def repair(place: str, item: Item) -> Item:
        role = item.get(layout.role)
        known = known_role(role) if isinstance(role, str) and not (own and role in _SHAREGPT) else None
        known = own.get(known, known) if known is not None else None
        if known is None or known == role:
            return item
        log.note(f"{place}.{layout.role}", f"{quote(role)} → {known!r}")
        return {**item, layout.role: known}

    return layout.each_item(data, repair)


def own_names(layout: RepairLayout) -> tuple[str, ...]:
    """The names of ShareGPT that a set keeps because it is read by them; empty for any other set."""
    return tuple(name for name in _SHAREGPT[:2] if layout.role == "from" and name in layout.roles)


def known_role(role: str) -> str | None:
    """The role that templates know for an alias or a misspelling, as ROL001 and ROL002 tell them; None where there is
    none."""
    if role in KNOWN_ROLES or role == CALL_ROLE:
        return None
    plain = role.strip().casefold()
    if plain in KNOWN_ROLES:
        return plain
    if plain in ROLE_ALIASES and plain != CALL_ROLE:
        return ROLE_ALIASES[plain]
    return nearest_role(role) or None


def merge_neighbours(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """Neighbouring messages of one role (system, user, assistant) become one; equal ones are kept once.

    Messages with tool calls, or with other keys that differ (flags, weights, names), stay apart.
    """

    def repair(column: str, items: Sequence[Any]) -> Sequence[Any]:
        out: list[Any] = []
        for number, item in enumerate(items):
            joined = _joined(out[-1], item, layout) if out else None
            if joined is None:
                out.append(item)
                continue
            content, how = joined
            log.note(f"{column}[{number}]", f"{layout.role_of(item)} message {how}")
            out[-1] = {**out[-1], layout.content: content}
        return out if len(out) < len(items) else items

    return layout.with_items(data, repair)


def _joined(first: Any, second: Any, layout: RepairLayout) -> tuple[Any, str] | None:
    role = layout.role_of(first)
    if role not in ("system", "user", "assistant") or role != layout.role_of(second):
        return None
    ours = {layout.role, layout.content}
    rest = [
        {key: value for key, value in item.items() if key not in ours and value is not None} for item in (first, second)
    ]
    if rest[0] != rest[1] or "tool_calls" in rest[0]:
        return None
    return _together(first.get(layout.content), second.get(layout.content))


def _together(first: Any, second: Any) -> tuple[Any, str] | None:
    """Two contents as one, text before text or part after part, and how in words; None where they do not go together.

    Only what is blank, or equal to the last space, is left out.
    """
    if not all(isinstance(one, (str, list)) for one in (first, second)):
        return None
    if isinstance(second, str) and not second.strip():
        return first, "is empty and was removed"
    if isinstance(first, str) and not first.strip():
        return second, "replaced the previous one, which is empty"
    if first == second:
        return first, "repeats the previous one and was removed"
    if isinstance(first, str) and isinstance(second, str):
        return first + _BETWEEN + second, _ADDED
    parts = [one if isinstance(one, list) else [{"type": "text", "text": one}] for one in (first, second)]
    return [*parts[0], *parts[1]], _ADDED


def fold_system(data: Data, layout: RepairLayout, log: RepairLog) -> Data:
    """System and developer messages go into the user message right after them, before its text.

    One stays where it stands if another message comes first, if it holds more than text, or if the user's holds neither
    text nor parts.
    """

    def repair(column: str, items: Sequence[Any]) -> Sequence[Any]:
        out: list[Any] = []
        waiting: list[tuple[int, Any]] = []
        for number, item in enumerate(items):
            role = layout.role_of(item)
            if role in ("system", "developer") and _only_text(item, layout):
                waiting.append((number, item))
                continue
            folded = _folded([system for _, system in waiting], item, layout) if role == "user" and waiting else None
            if folded is None:
                out += [system for _, system in waiting]  # where they stood: nothing may overtake them
            else:
                for place, system in waiting:
                    text = quote(_content(system, layout))
                    log.note(f"{column}[{place}]", f"system text {text} moved into the next user message")
            waiting = []
            out.append(item if folded is None else folded)
        out += [system for _, system in waiting]
        return out if len(out) < len(items) else items

    return layout.with_items(data, repair)


def _folded(systems: Sequence[Any], user: Any, layout: RepairLayout) -> dict[str, Any] | None:
    """The user message with the texts before its own; None where it cannot take them."""
    content = user.get(layout.content)
    for system in reversed(systems):
        content = _before(_content(system, layout), content)
        if content is None:
            return None
    return {**user, layout.content: content}


def _only_text(item: Any, layout: RepairLayout) -> bool:
    """Whether nothing is lost with a message when its text is kept: marks of training mean nothing on a system
    message."""
    ours = {layout.role, layout.content, *FLAG_KEYS, *WEIGHT_KEYS}
    return _content(item, layout) is not None and all(value is None or key in ours for key, value in item.items())


def _content(item: Any, layout: RepairLayout) -> str | None:
    """The text of a message; None where it is no text."""
    content = item.get(layout.content) if isinstance(item, Mapping) else None
    if isinstance(content, list) and all(
        isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in content
    ):
        return "".join(part["text"] for part in content)
    return content if isinstance(content, str) else None


def _before(text: str | None, content: Any) -> Any:
    if text is None:
        return None
    if isinstance(content, str):
        return content if not text.strip() else text + _BETWEEN + content if content.strip() else text
    return [{"type": "text", "text": text + _BETWEEN}, *content] if isinstance(content, list) else None


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
