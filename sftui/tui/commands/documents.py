"""Panes to read in, while they hold the keys."""

from __future__ import annotations

from sftui.tui.commands import tokens
from sftui.tui.commands.command import MEANS, command, moves
from sftui.tui.contexts import CONVERSATION_PANE, DOCUMENT, WHY
from sftui.tui.inspector import Inspector
from sftui.tui.panes.document_pane import DocumentPane
from sftui.views import Action

COLUMNS = 8
"""Cells that one key scrolls a wide pane."""


def _held(here: Inspector) -> DocumentPane:
    """The pane to read in that holds the keys."""
    return here.panes.conversation if here.state.open.context == CONVERSATION_PANE else here.panes.document


def _move(here: Inspector, kind: str, count: int) -> None:
    pane = _held(here)
    if kind in ("home", "end"):
        pane.scroll_top(pane.line_count() if kind == "end" else 0)
    else:
        lines = count * (pane.page if kind.startswith("page") else 1)
        pane.scroll_lines(lines if kind.endswith("down") else -lines)


MOVES = moves(DOCUMENT, "line", _move)


@command("document.right", ("l", "right"), "scroll right", "Move", DOCUMENT, counted=True, means=MEANS["right"])
def right(here: Inspector, count: int | None) -> None:
    """Scrolls a wide pane to the right; on a token's card, goes to the next token."""
    pane = _held(here)
    if pane.name_of_view == WHY:
        tokens.act(here, Action.RIGHT, count or 1)
        return
    pane.scroll_columns((count or 1) * COLUMNS, pane.widest)


@command("document.left", ("h", "left"), "scroll left", "Move", DOCUMENT, counted=True, means=MEANS["left"])
def left(here: Inspector, count: int | None) -> None:
    """Scrolls a wide pane back to the left; on a token's card, goes to the previous token."""
    pane = _held(here)
    if pane.name_of_view == WHY:
        tokens.act(here, Action.LEFT, count or 1)
        return
    pane.scroll_columns(-(count or 1) * COLUMNS, pane.widest)
