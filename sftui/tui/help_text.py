"""The help, generated from the table of commands."""

from __future__ import annotations

from sftui.tui.commands.command import show_key
from sftui.tui.commands.table import available, groups
from sftui.tui.contexts import ANY, CONTEXTS, DIALOG
from sftui.tui.keys import Keymap
from sftui.views import Line, Role, line, wrap

KEYS_WIDTH = 14


def help_lines(context: str, keymap: Keymap, width: int) -> tuple[Line, ...]:
    """Every command by context: this pane's first, then what works anywhere, then the other panes."""
    order = [context] if context != ANY else []
    order += [ANY, *(c for c in CONTEXTS if c not in (context, ANY))]
    lines: list[Line] = [
        *wrap(
            line(
                ("A count may come before a key: ", Role.DIM),
                ("12j", Role.KEY),
                (" moves twelve, ", Role.DIM),
                ("12G", Role.KEY),
                (" goes to row 12.", Role.DIM),
            ),
            width,
        ),
    ]
    for name in order:
        commands = [c for c in available(name) if c.context == name]
        where = {ANY: "anywhere", DIALOG: "in a dialog"}.get(name, f"in the {name}")
        lines += [(), line((where.upper() if name == context else where.capitalize(), Role.TITLE))]
        for group, members in groups(commands).items():
            if name == ANY:
                lines.append(line((f" {group}", Role.DIM)))
            for command in members:
                keys = " ".join(show_key(key) for key in keymap.keys_of(command.id))
                head = f"  {keys:<{KEYS_WIDTH}}" if len(keys) <= KEYS_WIDTH else f"  {keys} "
                lines += wrap(line((head, Role.KEY), (command.help, Role.PLAIN)), width, " " * (KEYS_WIDTH + 2))
    return tuple(lines)
