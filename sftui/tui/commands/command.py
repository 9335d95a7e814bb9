"""A command, declared with the function that does it. No Textual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from typing import Any, TypeAlias

from sftui.tui.contexts import ANY, DIALOG, DOCUMENT
from sftui.tui.state import StatusMessage
from sftui.values import value_class

Run: TypeAlias = "Callable[[Any, int | None], None]"
"""What a command does in an `Inspector`; the count is None where none was typed."""
When: TypeAlias = "Callable[[Any], StatusMessage | None]"
"""Why a command comes to nothing now in an `Inspector`; None where it does something."""


def always(here: object) -> StatusMessage | None:
    return None


def nothing(here: object, count: int | None) -> None:
    """What is done elsewhere: a dialog obeys its own keys."""


@value_class
class Command:
    """One thing the user can do; it decorates the function that does it, whose docstring is then its `help`.

    `keys` are alternatives; a key that follows a prefix is written with a space (`y i`). `help` is
    one sentence. `counted` says that a count typed before the key means something. While `when` says why not, the key
    says that and the footer leaves it out; a reason without words does no more than that. `means` names what the keys
    mean in several panes (`MEANS`), where that is more than the title: a key means one thing.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    group: str
    context: str = ANY
    help: str = ""
    counted: bool = False
    run: Run = field(default=nothing, compare=False)
    when: When = field(default=always, compare=False)
    means: str = ""

    def __call__(self, run: Run) -> Command:
        return replace(self, run=run, help=" ".join((run.__doc__ or "").split()))


MEANS = {
    "down": "down",
    "up": "up",
    "page_down": "a page down",
    "page_up": "a page up",
    "home": "to the start",
    "end": "to the end",
    "right": "right",
    "left": "left",
    "enter": "open or pick the selected line",
    "apply": "apply what is shown",
    "why": "why it matters",
    "search": "search in the pane",
    "export": "export",
    "leave": "close what is open",
    "close": "close or cancel",
}
"""What keys mean that work in several panes."""
Move: TypeAlias = Callable[[Any, str, int], None]
"""Moves in a pane by so many of the STEPS."""


def in_pane(here: Any, kind: str, count: int) -> None:
    """Moves in the pane that holds the keys."""
    here.by_context[here.state.open.context].step(kind, count)


def moves(context: str, what: str, move: Move = in_pane, when: When = always) -> tuple[Command, ...]:
    """The movement keys of a pane that shows lines; in a dialog, which obeys them itself, also the one that goes to the
    end in `less`."""
    name = "document" if context == DOCUMENT else context.replace(" ", "_")
    last = ("end", "G") if context == DIALOG else ("end",)
    declared = (
        ("down", ("j", "down"), f"{what} down", f"Move one {what} down."),
        ("up", ("k", "up"), f"{what} up", f"Move one {what} up."),
        ("page_down", ("pagedown", "space", "ctrl+f"), "page down", "Move one page down."),
        ("page_up", ("pageup",), "page up", "Move one page up."),
        ("home", ("home",), "to the start", "Go to the first line."),
        ("end", last, "to the end", "Go to the last line."),
    )
    made = []
    for kind, keys, title, sentence in declared:
        run = nothing if context == DIALOG else partial(_moved, move, kind)
        counted = kind not in ("home", "end")
        made.append(Command(f"{name}.{kind}", keys, title, "Move", context, sentence, counted, run, when, kind))
    return tuple(made)


STEPS = ("down", "up", "page_down", "page_up", "home", "end")
"""The movement keys."""


FURTHEST = 1 << 40
"""More than any pane has lines."""


def steps(kind: str, count: int, page: int) -> int:
    """How far a movement key goes, down where it is positive, in a pane that shows `page` lines; no further than there
    are any."""
    far = {"down": count, "page_down": count * page, "end": FURTHEST, "up": -count, "page_up": -count * page}
    return far.get(kind, -FURTHEST)


def _moved(move: Move, kind: str, here: object, count: int | None) -> None:
    move(here, kind, count or 1)


def both_ways(run: Callable[[Any, int], None], forward: Command, backward: Command) -> tuple[Command, Command]:
    """Two commands that go on and back: `run` gets how far, back where it is negative."""

    def far(sign: int, here: object, count: int | None) -> None:
        run(here, sign * (count or 1) if forward.counted else sign)

    return replace(forward, run=partial(far, 1)), replace(backward, run=partial(far, -1))


_KEY_NAMES = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "escape": "Esc",
    "shift+tab": "⇧Tab",
    "backspace": "⌫",
    **{key: key.capitalize() for key in ("home", "end", "enter", "tab", "space", "f1", "f2", "f5")},
}


def show_key(key: str) -> str:
    """A key as the user reads it: `y i` is `yi`, `left` is `←`."""
    return "".join(_KEY_NAMES.get(part, part.replace("ctrl+", "^")) for part in key.split(" "))
