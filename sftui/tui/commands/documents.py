"""The list of rows and panes to read in, while they hold the keys, and dialogs, which obey their keys themselves."""

from __future__ import annotations

from sftui.tui.commands import tokens
from sftui.tui.commands.command import MEANS, Command, moves, steps
from sftui.tui.commands.rows import go, step
from sftui.tui.contexts import CONVERSATION_PANE, DIALOG, DOCUMENT, LIST, TOKENS, WHY
from sftui.tui.inspector import Inspector
from sftui.tui.panes.document_pane import DocumentPane
from sftui.views.grid import Action

# — the list —


def _move_in_list(here: Inspector, kind: str, count: int) -> None:
    pane = here.panes.rows
    if kind == "end" and pane.order is None:
        go(here, here.state.status.last)
    else:
        step(here, steps(kind, count, pane.page, pane.rows))


LIST_MOVES = moves(LIST, "row", _move_in_list)


@Command("row_list.enter", ("enter",), "to the tokens", "Move", LIST, means=MEANS["enter"])
def open_row(here: Inspector, count: int | None) -> None:
    """Goes from the list to the tokens of the row."""
    here.hold_keys(TOKENS)


@Command("row_list.right", ("l", "right"), "to the right", "Move", LIST, means=MEANS["right"], was=())
def from_list(here: Inspector, count: int | None) -> None:
    """Goes from the list to the tokens, which stand right of it."""
    here.hold_keys(TOKENS)


# — panes to read in —

COLUMNS = 8
"""Cells that one key scrolls a wide pane."""


def _held(here: Inspector) -> DocumentPane:
    """The pane to read in that holds the keys."""
    return here.panes.conversation if here.state.open.context == CONVERSATION_PANE else here.panes.document


def _move(here: Inspector, kind: str, count: int) -> None:
    pane = _held(here)
    pane.scroll_lines(steps(kind, count, pane.page, pane.line_count()))


MOVES = moves(DOCUMENT, "line", _move)


@Command("document.right", ("l", "right"), "scroll right", "Move", DOCUMENT, counted=True, means=MEANS["right"])
def right(here: Inspector, count: int | None) -> None:
    """Scrolls a wide pane to the right; on a token's card, goes to the next token."""
    _across(here, Action.RIGHT, count or 1)


@Command("document.left", ("h", "left"), "scroll left", "Move", DOCUMENT, counted=True, means=MEANS["left"])
def left(here: Inspector, count: int | None) -> None:
    """Scrolls a wide pane back to the left; on a token's card, goes to the previous token."""
    _across(here, Action.LEFT, count or 1)


def _across(here: Inspector, action: Action, count: int) -> None:
    pane = _held(here)
    if pane.name_of_view == WHY:
        tokens.act(here, action, count)
    else:
        pane.scroll_columns((COLUMNS if action is Action.RIGHT else -COLUMNS) * count, pane.widest)


def _answer(name: str, key: str, title: str, words: str, means: str, was: tuple[str, ...] | None = None) -> Command:
    return Command(f"dialog.{name}", (key,), title, "Move", DIALOG, words, means=MEANS[means], was=was)


DIALOG_MOVES = moves(DIALOG, "line")
ANSWERS = (
    _answer("accept", "enter", "accept", "Accepts the selected line.", "enter"),
    _answer("yes", "a", "apply", "Does what the dialog offers.", "apply", ("y",)),
    _answer("export", "x", "export instead", "Goes to the export, where the dialog offers that.", "export"),
    _answer("close", "escape", "close the dialog", "Closes the dialog and changes nothing.", "close"),
    _answer("leave", "q", "leave the dialog", "Closes the dialog and changes nothing, as in less.", "leave", ()),
)
