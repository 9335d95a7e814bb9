"""The one table of commands: keys, palette, help, footer and the tables of docs/keys.md come from it."""

from __future__ import annotations

from collections.abc import Iterable

from sftui.tui.commands import (
    batch,
    compare,
    convert,
    copying,
    dialogs,
    documents,
    export,
    figures,
    findings,
    marks,
    notes,
    own,
    panes,
    recipe,
    repairs,
    row_list,
    rows,
    search,
    sizes,
    tokens,
    tour,
    views,
    why,
)
from sftui.tui.commands.command import Command, declared_in
from sftui.tui.contexts import ANY, DIALOG

COMMANDS: tuple[Command, ...] = tuple(
    one
    for subject in (
        tokens,
        why,
        row_list,
        documents,
        dialogs,
        rows,
        panes,
        search,
        views,
        sizes,
        notes,
        batch,
        findings,
        figures,
        compare,
        marks,
        recipe,
        repairs,
        convert,
        export,
        copying,
        own,
        tour,
    )
    for one in declared_in(subject)
)
"""Subjects in the order of the palette."""

BY_ID = {command.id: command for command in COMMANDS}


def available(context: str) -> tuple[Command, ...]:
    """The commands whose keys work while `context` holds the keys, its own first."""
    own = tuple(c for c in COMMANDS if c.context == context and context != ANY)
    if context == DIALOG:
        return own
    return own + tuple(c for c in COMMANDS if c.context == ANY)


def groups(commands: Iterable[Command]) -> dict[str, list[Command]]:
    """Commands by group, groups in the order of the table."""
    found: dict[str, list[Command]] = {}
    for command in commands:
        found.setdefault(command.group, []).append(command)
    return found
