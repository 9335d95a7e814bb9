"""The one table of commands: keys, palette, help, footer and the tables of docs/keys.md come from it."""

from __future__ import annotations

from importlib import import_module

from sftui.tui.commands.command import Command
from sftui.tui.contexts import ANY, DIALOG

SUBJECTS = (
    *("tokens", "documents", "rows", "panes", "search", "filters", "facets", "views", "notes", "batch"),
    *("findings", "figures", "compare", "waste", "marks", "recipe", "repairs", "export", "copying"),
    *("sessions", "edits", "own"),
)
"""The modules that declare commands, in the order of the palette."""
COMMANDS: tuple[Command, ...] = tuple(
    found
    for subject in SUBJECTS
    for value in vars(import_module(f"sftui.tui.commands.{subject}")).values()
    for found in (value if isinstance(value, tuple) else (value,))
    if isinstance(found, Command)
)
BY_ID = {command.id: command for command in COMMANDS}


def available(context: str) -> tuple[Command, ...]:
    """The commands whose keys work while `context` holds the keys, its own first."""
    own = tuple(c for c in COMMANDS if c.context == context and context != ANY)
    if context == DIALOG:
        return own
    return own + tuple(c for c in COMMANDS if c.context == ANY)
