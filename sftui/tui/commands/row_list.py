"""The list of rows, while it holds the keys."""

from __future__ import annotations

from sftui.tui.commands.command import command, moves
from sftui.tui.commands.rows import go, step
from sftui.tui.contexts import LIST, TOKENS
from sftui.tui.inspector import Inspector


def _move(here: Inspector, kind: str, count: int) -> None:
    pane = here.panes.rows
    if kind == "end" and pane.order is None:
        go(here, here.state.status.last)
        return
    steps = {
        "down": count,
        "up": -count,
        "page_down": count * pane.page,
        "page_up": -count * pane.page,
        "home": -pane.rows,
        "end": pane.rows,
    }
    step(here, steps[kind])


MOVES = moves(LIST, "row", _move)


@command(
    "row_list.enter",
    ("enter", "l", "right"),
    "to the tokens",
    "Goes from the list to the tokens of the row.",
    "Move",
    LIST,
)
def enter(here: Inspector, count: int | None) -> None:
    here.hold_keys(TOKENS)
