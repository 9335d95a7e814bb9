"""The list of rows and panes to read in, while they hold the keys, and dialogs, which obey their keys themselves."""

from __future__ import annotations

from sftui.tui.commands import tokens, waste
from sftui.tui.commands.command import Command, both_ways, in_pane, moves, steps
from sftui.tui.commands.rows import go, step
from sftui.tui.contexts import CONVERSATION_PANE, DIALOG, DOCUMENT, LIST, TOKENS, WASTE, WHY
from sftui.tui.inspector import Inspector
from sftui.views.grid import Action

# — the list —


def _move_in_list(here: Inspector, kind: str, count: int) -> None:
    pane = here.panes.rows
    if kind in ("home", "end"):
        go(here, pane.end if kind == "end" else pane.row_at(0))
    else:
        step(here, steps(kind, count, pane.page))


LIST_MOVES = moves(LIST, "row", _move_in_list)


@Command("row_list.enter", ("enter",), "to the tokens", "Move", LIST, means="enter")
def open_row(here: Inspector, count: int | None) -> None:
    """Focus the tokens of the selected row."""
    here.hold_keys(TOKENS)


@Command("row_list.right", ("l", "right"), "to the right", "Move", LIST, means="right")
def from_list(here: Inspector, count: int | None) -> None:
    """Focus the tokens, to the right of the list."""
    here.hold_keys(TOKENS)


# — panes to read in —

COLUMNS = 8
"""Cells that one key scrolls a wide pane."""


def _across(here: Inspector, steps: int) -> None:
    pane = here.panes.conversation if here.state.open.context == CONVERSATION_PANE else here.panes.document
    if pane.name_of_view == WHY:
        tokens.act(here, Action.RIGHT if steps > 0 else Action.LEFT, abs(steps))
    elif pane.name_of_view == WASTE:
        waste.choose(here, limits=steps)
    else:
        pane.scroll_columns(COLUMNS * steps, pane.widest)


def _sideways(name: str, key: str, words: str) -> Command:
    return Command(f"document.{name}", (key, name), f"scroll {name}", "Move", DOCUMENT, words, True, means=name)


def _move(here: Inspector, kind: str, count: int) -> None:
    if kind in ("down", "up") and here.state.open.view == WASTE and here.state.open.context == DOCUMENT:
        waste.choose(here, strategies=count if kind == "down" else -count)
    else:
        in_pane(here, kind, count)


MOVES = moves(DOCUMENT, "line", _move)
ACROSS = both_ways(
    _across,
    _sideways(
        "right", "l", "Scroll right; on a token's card, go to the next token; in the waste table, to the next limit."
    ),
    _sideways(
        "left",
        "h",
        "Scroll left; on a token's card, go to the previous token; in the waste table, to the previous limit.",
    ),
)


def _answer(name: str, key: str, title: str, words: str, means: str) -> Command:
    return Command(f"dialog.{name}", (key,), title, "Move", DIALOG, words, means=means)


DIALOG_MOVES = moves(DIALOG, "line")
ANSWERS = (
    _answer("accept", "enter", "accept", "Accept the selected line.", "enter"),
    _answer("find", "/", "filter the list", "List only lines with the words you type; Esc lists all again.", "search"),
    _answer("yes", "a", "apply", "Apply what the dialog offers.", "apply"),
    _answer("export", "x", "export instead", "Go to the export, if the dialog offers it.", "export"),
    _answer("close", "escape", "close the dialog", "Close the dialog without changing anything.", "close"),
    _answer("leave", "q", "leave the dialog", "Close the dialog without changing anything, as in less.", "leave"),
)
