"""The one table of commands: keys, palette, help, footer and the tables of docs/keys.md come from it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from sftui.tui.commands.command import Command, declared_in
from sftui.tui.contexts import ANY, DIALOG

SUBJECTS = (
    *("tokens", "why", "row_list", "documents", "rows", "panes", "search", "views", "notes", "batch"),
    *("findings", "figures", "compare", "marks", "recipe", "repairs", "convert", "export", "copying", "own"),
)
"""The modules that declare commands, in the order of the palette."""
COMMANDS: tuple[Command, ...] = tuple(
    one for subject in SUBJECTS for one in declared_in(import_module(f"sftui.tui.commands.{subject}"))
)
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
