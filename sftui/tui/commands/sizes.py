"""How large the panes are: the one that has the keys alone, wider, or higher."""

from __future__ import annotations

from sftui.tui.commands.command import command
from sftui.tui.inspector import Inspector
from sftui.views import Role


@command("pane.alone", "m", "this pane alone", "Look", was=())
def alone(here: Inspector, count: int | None) -> None:
    """Gives the whole screen to the pane that has the keys; again brings the others back."""
    now = here.state.open
    here.put(now._replace(alone=not now.alone))


CELLS, LINES = 6, 2
"""What one key makes a pane wider and higher by."""


def _resize(here: Inspector, cells: int, lines: int) -> None:
    if not here.resize_pane(cells, lines):
        here.say("no room for that" if cells + lines > 0 else "no pane next to it to give that to", Role.DIM)


@command("pane.wider", "O >", "wider", "Look", counted=True, was=())
def wider(here: Inspector, count: int | None) -> None:
    """Makes the pane that has the keys wider."""
    _resize(here, CELLS * (count or 1), 0)


@command("pane.narrower", "O <", "narrower", "Look", counted=True, was=())
def narrower(here: Inspector, count: int | None) -> None:
    """Makes the pane that has the keys narrower."""
    _resize(here, -CELLS * (count or 1), 0)


@command("pane.higher", "O +", "higher", "Look", counted=True, was=())
def higher(here: Inspector, count: int | None) -> None:
    """Makes the pane that has the keys higher."""
    _resize(here, 0, LINES * (count or 1))


@command("pane.lower", "O -", "lower", "Look", counted=True, was=())
def lower(here: Inspector, count: int | None) -> None:
    """Makes the pane that has the keys lower."""
    _resize(here, 0, -LINES * (count or 1))
