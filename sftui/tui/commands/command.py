"""A command, declared with the function that does it. No Textual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from sftui.tui.contexts import ANY, DIALOG, DOCUMENT
from sftui.tui.state import StatusMessage

Run: TypeAlias = "Callable[[Any, int | None], None]"
"""What a command does in an `Inspector`; the count is None where none was typed."""
When: TypeAlias = "Callable[[Any], StatusMessage | None]"
"""Why a command comes to nothing now in an `Inspector`; None where it does something."""


def always(here: object) -> StatusMessage | None:
    return None


def nothing(here: object, count: int | None) -> None:
    """What is done elsewhere: a dialog obeys its own keys."""


@dataclass(frozen=True, slots=True)
class Command:
    """One thing the user can do; it decorates the function that does it, whose docstring is then its `help`.

    `keys` are alternatives; a key that follows a prefix is written with a space (`y i`). `help` is
    one sentence. `counted` says that a count typed before the key means something. While `when` says why not, the key
    says that and the footer leaves it out; a reason without words does no more than that. `means` is what the keys mean
    in every pane, where that is more than the title: a key means one thing. `was`: the keys of the last release, where
    they were others, and `was_in` where they worked; such a key says where it went.
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
    was: tuple[str, ...] | None = None
    was_in: str = ""

    def __call__(self, run: Run) -> Command:
        return replace(self, run=run, help=" ".join((run.__doc__ or "").split()))

    @property
    def meaning(self) -> str:
        """What its keys mean wherever they work."""
        return self.means or self.title


MEANS = {
    "down": "down",
    "up": "up",
    "page_down": "a page down",
    "page_up": "a page up",
    "home": "to the start",
    "end": "to the end",
    "right": "right",
    "left": "left",
    "enter": "opens or takes what is marked",
    "apply": "applies what is shown",
    "why": "why it matters",
    "search": "searches what the pane shows",
    "next": "next match",
    "previous": "previous match",
    "export": "export",
    "leave": "leaves what is open",
    "close": "closes or cancels",
}
"""What keys mean that work in several panes."""
Move: TypeAlias = Callable[[Any, str, int], None]
"""Moves in a pane by so many of the STEPS."""


def moves(context: str, what: str, move: Move | None = None, when: When = always) -> tuple[Command, ...]:
    """The movement keys of a pane that shows lines; in a dialog also the one that goes to the end in `less`."""
    name = "document" if context == DOCUMENT else context.replace(" ", "_")
    last = ("end", "G") if context == DIALOG else ("end",)
    declared = (
        ("down", ("j", "down"), f"{what} down", f"Moves one {what} down."),
        ("up", ("k", "up"), f"{what} up", f"Moves one {what} up."),
        ("page_down", ("pagedown", "space", "ctrl+f"), "page down", "Moves one page down."),
        ("page_up", ("pageup",), "page up", "Moves one page up."),
        ("home", ("home",), "to the start", "Goes to the first one."),
        ("end", last, "to the end", "Goes to the last one."),
    )
    made = []
    for kind, keys, title, sentence in declared:
        run, counted = nothing if move is None else partial(_moved, move, kind), kind not in ("home", "end")
        made.append(Command(f"{name}.{kind}", keys, title, "Move", context, sentence, counted, run, when, MEANS[kind]))
    return tuple(made)


STEPS = ("down", "up", "page_down", "page_up", "home", "end")
"""The movement keys."""


def steps(kind: str, count: int, page: int, whole: int) -> int:
    """How far a movement key goes, down where it is positive, in a pane that shows `page` of `whole` lines."""
    return {
        "down": count,
        "up": -count,
        "page_down": count * page,
        "page_up": -count * page,
        "home": -whole,
        "end": whole,
    }[kind]


def _moved(move: Move, kind: str, here: object, count: int | None) -> None:
    move(here, kind, count or 1)


_KEY_NAMES = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "space": "Space",
    "shift+tab": "⇧Tab",
    "f1": "F1",
    "f2": "F2",
    "f5": "F5",
    "backspace": "⌫",
}


def show_key(key: str) -> str:
    """A key as the user reads it: `y i` is `yi`, `left` is `←`."""
    return "".join(_KEY_NAMES.get(part, part.replace("ctrl+", "^")) for part in key.split(" "))
