"""The tokens of the row: moving among them."""

from __future__ import annotations

from functools import partial

from sftui.tui.commands import why
from sftui.tui.commands.command import MEANS, Command, moves
from sftui.tui.contexts import TOKENS
from sftui.tui.inspector import Inspector
from sftui.views.cells import Role
from sftui.views.grid import Action

STILL = {
    Action.NEXT_CHANGE: "the mask does not change after this token",
    Action.PREVIOUS_CHANGE: "the mask does not change before this token",
    Action.NEXT_MESSAGE: "no message begins after this token",
    Action.PREVIOUS_MESSAGE: "no message begins before this token",
}
"""What is said where a jump finds nothing, since nothing moves."""


def act(here: Inspector, action: Action, count: int) -> None:
    """One action of the views."""
    if not here.panes.tokens.act(action, count) and action in STILL:
        here.say(STILL[action], Role.DIM)
    why.follow(here)


def _act(name: str, here: Inspector, count: int | None) -> None:
    act(here, Action(name), count or 1)


def _mover(name: str, keys: tuple[str, ...], title: str, words: str, *, counted: bool = True) -> Command:
    means = name if name in MEANS else ""
    return Command(f"tokens.{name}", keys, title, "Move", TOKENS, words, counted, partial(_act, name), means=means)


ALONG = (
    _mover("right", ("l", "right"), "next token", "Moves to the next token."),
    _mover("left", ("h", "left"), "previous token", "Moves to the previous token."),
)
BY_LINES = moves(TOKENS, "line", lambda here, kind, count: act(here, Action(kind), count))
FURTHER = (
    _mover("half_down", ("ctrl+d",), "half a page down", "Moves half a page down."),
    _mover("half_up", ("ctrl+u",), "half a page up", "Moves half a page up."),
    _mover("line_home", ("^",), "start of the line", "Goes to the first token of the line.", counted=False),
    _mover("line_end", ("$",), "end of the line", "Goes to the last token of the line.", counted=False),
    _mover("next_change", ("}",), "next change of mask", "Goes to where training starts or stops next."),
    _mover("previous_change", ("{",), "previous change of mask", "Goes back to where training started or stopped."),
    _mover("next_message", (")",), "next message", "Goes to the start of the next message."),
    _mover("previous_message", ("(",), "previous message", "Goes to the start of this message, or of the one before."),
)
