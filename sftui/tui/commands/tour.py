"""The tour, begun and left."""

from __future__ import annotations

from sftui.tui.commands.command import command
from sftui.tui.inspector import Inspector
from sftui.tui.tour import toggled


@command("tour", "f2", "tour", "Program")
def toggle(here: Inspector, count: int | None) -> None:
    """Starts the tour of the inspector in six steps, or leaves it."""
    here.put(toggled(here.state.tour))
