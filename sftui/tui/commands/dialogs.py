"""The keys of a dialog, which obeys them itself."""

from __future__ import annotations

from sftui.tui.commands.command import Command, moves
from sftui.tui.contexts import DIALOG

MOVES = moves(DIALOG, "line")
ANSWERS = (
    Command("dialog.accept", ("enter",), "accept", "Accepts the selected line.", "Move", DIALOG),
    Command("dialog.yes", ("y",), "yes", "Confirms what the dialog offers.", "Move", DIALOG),
    Command(
        "dialog.export", ("x",), "export instead", "Goes to the export, where the dialog offers that.", "Move", DIALOG
    ),
    Command(
        "dialog.close", ("escape", "q"), "close the dialog", "Closes the dialog and changes nothing.", "Move", DIALOG
    ),
)
