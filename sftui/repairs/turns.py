"""Repairs of turns: roles, neighbours of one role, and the system message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sftui.conversations.messages import CALL_ROLE, KNOWN_ROLES, SHAREGPT_ROLES
from sftui.findings.roles import nearest_role
from sftui.repairs.model import Change, Data, Item, Layout, each_item, quote, with_items

_BETWEEN = "\n\n"


def map_roles(data: Data, layout: Layout) -> tuple[Data, tuple[Change, ...]]:
    """Aliases (human, gpt, bot) and misspellings (Assistant, asistant) become the roles that templates know.

    A `function_call` turn keeps its role: how it is read depends on it. So do the aliases of a set that has no other
    names, as in ShareGPT: its format says what they mean.
    """

    def mend(place: str, item: Item) -> tuple[Item, list[Change]]:
        role = item.get(layout.role)
        known = known_role(role) if isinstance(role, str) and role not in layout.roles else None
        if known is None or known == role:
            return item, []
        return {**item, layout.role: known}, [Change("map-roles", f"{place}.{layout.role}", f"{quote(role)} → {known!r}")]

    return each_item(data, layout, mend)


def known_role(role: str) -> str | None:
    """The role that templates know for an alias or a misspelling, as ROL001 and ROL002 tell them; None where there is none."""
    if role in KNOWN_ROLES or role == CALL_ROLE:
        return None
    plain = role.strip().casefold()
    if plain in KNOWN_ROLES:
        return plain
    if plain in SHAREGPT_ROLES and plain != CALL_ROLE:
        return SHAREGPT_ROLES[plain]
    return nearest_role(role) or None


def merge_neighbours(data: Data, layout: Layout) -> tuple[Data, tuple[Change, ...]]:
    """Neighbouring messages of one role (system, user, assistant) become one; equal ones are kept once.

    Messages with tool calls, or with other keys that differ (flags, weights, names), stay apart.
    """

    def mend(column: str, items: Sequence[Any]) -> tuple[Sequence[Any], list[Change]]:
        out: list[Any] = []
        changes: list[Change] = []
        for number, item in enumerate(items):
            joined = _joined(out[-1], item, layout) if out else None
            if joined is None:
                out.append(item)
                continue
            once = joined[layout.content] == out[-1].get(layout.content)
            how = "says the same as the one before and was left out" if once else "was added to the one before"
            changes.append(Change("merge-neighbours", f"{column}[{number}]", f"{layout.role_of(item)} message {how}"))
            out[-1] = joined
        return out, changes

    return with_items(data, layout, mend)


def _joined(first: Any, second: Any, layout: Layout) -> dict[str, Any] | None:
    role = layout.role_of(first)
    if role not in ("system", "user", "assistant") or role != layout.role_of(second):
        return None
    ours = {layout.role, layout.content}
    rest = [{key: value for key, value in item.items() if key not in ours and value is not None} for item in (first, second)]
    if rest[0] != rest[1] or "tool_calls" in rest[0]:
        return None
    content = _together(first.get(layout.content), second.get(layout.content))
    return None if content is None else {**first, layout.content: content}


def _together(first: Any, second: Any) -> Any:
    """Two contents as one, text before text or part after part; None where they do not go together."""
    if isinstance(first, str) and isinstance(second, str):
        if first.strip() == second.strip() or not second.strip():
            return first
        return second if not first.strip() else first + _BETWEEN + second
    if isinstance(first, list) and isinstance(second, list):
        return first if first == second else [*first, *second]
    if isinstance(first, list) and isinstance(second, str):
        return [*first, {"type": "text", "text": second}]
    return [{"type": "text", "text": first}, *second] if isinstance(first, str) and isinstance(second, list) else None


def fold_system(data: Data, layout: Layout) -> tuple[Data, tuple[Change, ...]]:
    """Every system message goes into the next user message, before its text; one that no user message follows stays."""

    def mend(column: str, items: Sequence[Any]) -> tuple[Sequence[Any], list[Change]]:
        out: list[Any] = []
        changes: list[Change] = []
        waiting: list[tuple[int, Any]] = []
        for number, item in enumerate(items):
            role = layout.role_of(item)
            if role == "system" and _content(item, layout) is not None:
                waiting.append((number, item))
                continue
            if role == "user" and waiting:
                content = item.get(layout.content)
                for _, system in reversed(waiting):
                    joined = _before(_content(system, layout), content)
                    if joined is None:
                        break
                    content = joined
                else:
                    changes += [Change("fold-system", f"{column}[{place}]", f"system text {quote(_content(system, layout))} moved into the user message after it") for place, system in waiting]
                    waiting, item = [], {**item, layout.content: content}
            elif waiting and role not in ("system", "user"):
                out += [system for _, system in waiting]
                waiting = []
            out.append(item)
        return [*out, *(system for _, system in waiting)], changes

    return with_items(data, layout, mend)


def _content(item: Any, layout: Layout) -> str | None:
    """The text of a message; None where it is no text."""
    content = item.get(layout.content) if isinstance(item, Mapping) else None
    if isinstance(content, list) and all(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in content):
        return "".join(part["text"] for part in content)
    return content if isinstance(content, str) else None


def _before(text: str | None, content: Any) -> Any:
    if text is None:
        return None
    if isinstance(content, str):
        return text + _BETWEEN + content if text.strip() else content
    return [{"type": "text", "text": text + _BETWEEN}, *content] if isinstance(content, list) else None
