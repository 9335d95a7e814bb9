"""The list of rows, while it holds the keys."""

from __future__ import annotations

from sftui.tui.commands.command import MEANS, Command, moves, steps
from sftui.tui.commands.rows import go, step
from sftui.tui.contexts import LIST, TOKENS
from sftui.tui.inspector import Inspector


def _move(here: Inspector, kind: str, count: int) -> None:
    pane = here.panes.rows
    if kind == "end" and pane.order is None:
        go(here, here.state.status.last)
    else:
        step(here, steps(kind, count, pane.page, pane.rows))


MOVES = moves(LIST, "row", _move)


@Command("row_list.enter", ("enter",), "to the tokens", "Move", LIST, means=MEANS["enter"])
def enter(here: Inspector, count: int | None) -> None:
    """Goes from the list to the tokens of the row."""
    here.hold_keys(TOKENS)


@Command("row_list.right", ("l", "right"), "to the right", "Move", LIST, means=MEANS["right"], was=())
def right(here: Inspector, count: int | None) -> None:
    """Goes from the list to the tokens, which stand right of it."""
    here.hold_keys(TOKENS)
