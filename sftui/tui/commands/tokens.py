"""The tokens of the row: moving among them."""

from __future__ import annotations

from functools import partial

from sftui.tui.commands import why
from sftui.tui.commands.command import MEANS, Command, Run, moves
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
LINES = {
    "down": Action.DOWN,
    "up": Action.UP,
    "page_down": Action.PAGE_DOWN,
    "page_up": Action.PAGE_UP,
    "home": Action.HOME,
    "end": Action.END,
}


def act(here: Inspector, action: Action, count: int) -> None:
    """One action of the views."""
    if not here.panes.tokens.act(action, count) and action in STILL:
        here.say(STILL[action], Role.DIM)
    why.follow(here)


def _acts(action: Action) -> Run:
    return partial(_act, action)


def _act(action: Action, here: Inspector, count: int | None) -> None:
    act(here, action, count or 1)


def _move(here: Inspector, kind: str, count: int) -> None:
    act(here, LINES[kind], count)


def _mover(
    name: str, keys: tuple[str, ...], title: str, help_text: str, action: Action, *, counted: bool = True
) -> Command:
    return Command(
        f"tokens.{name}", keys, title, help_text, "Move", TOKENS, counted, _acts(action), means=MEANS.get(name, "")
    )


ALONG = (
    _mover("right", ("l", "right"), "next token", "Moves to the next token.", Action.RIGHT),
    _mover("left", ("h", "left"), "previous token", "Moves to the previous token.", Action.LEFT),
)
BY_LINES = moves(TOKENS, "line", _move)
FURTHER = (
    _mover("half_down", ("ctrl+d",), "half a page down", "Moves half a page down.", Action.HALF_DOWN),
    _mover("half_up", ("ctrl+u",), "half a page up", "Moves half a page up.", Action.HALF_UP),
    _mover(
        "line_home",
        ("^",),
        "start of the line",
        "Goes to the first token of the line.",
        Action.LINE_HOME,
        counted=False,
    ),
    _mover(
        "line_end", ("$",), "end of the line", "Goes to the last token of the line.", Action.LINE_END, counted=False
    ),
    _mover(
        "next_change", ("}",), "next change of mask", "Goes to where training starts or stops next.", Action.NEXT_CHANGE
    ),
    _mover(
        "previous_change",
        ("{",),
        "previous change of mask",
        "Goes back to where training started or stopped.",
        Action.PREVIOUS_CHANGE,
    ),
    _mover("next_message", (")",), "next message", "Goes to the start of the next message.", Action.NEXT_MESSAGE),
    _mover(
        "previous_message",
        ("(",),
        "previous message",
        "Goes to the start of this message, or of the one before.",
        Action.PREVIOUS_MESSAGE,
    ),
)
