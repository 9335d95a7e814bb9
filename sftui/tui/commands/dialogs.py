"""The keys of a dialog, which obeys them itself."""

from __future__ import annotations

from sftui.tui.commands.command import MEANS, Command, moves
from sftui.tui.contexts import DIALOG


def _answer(name: str, key: str, title: str, help_text: str, means: str, was: tuple[str, ...] | None = None) -> Command:
    return Command(f"dialog.{name}", (key,), title, help_text, "Move", DIALOG, means=MEANS[means], was=was)


MOVES = moves(DIALOG, "line")
ANSWERS = (
    _answer("accept", "enter", "accept", "Accepts the selected line.", "enter"),
    _answer("yes", "a", "apply", "Does what the dialog offers.", "apply", ("y",)),
    _answer("export", "x", "export instead", "Goes to the export, where the dialog offers that.", "export"),
    _answer("close", "escape", "close the dialog", "Closes the dialog and changes nothing.", "close"),
    _answer("leave", "q", "leave the dialog", "Closes the dialog and changes nothing, as in less.", "leave", ()),
)
