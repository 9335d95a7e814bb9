"""What is looked at: zoom and shift of the tokens, the panes next to them, and how large the panes are."""

from __future__ import annotations

from functools import partial

from sftui.tui.commands.command import Command
from sftui.tui.contexts import BOUNDARY, CONVERSATION, RAW, RENDERED
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage, unless
from sftui.views.cells import Role
from sftui.views.grid import Action


def unseen(here: Inspector) -> StatusMessage | None:
    """Why the tokens cannot be looked at otherwise."""
    return unless(here.panes.tokens.display, "the tokens are not on screen; Esc goes back to them")


@Command("zoom", ("z",), "zoom", "Look", when=unseen, was=("z", "v"))
def zoom(here: Inspector, count: int | None) -> None:
    """Zooms in: text, columns, rows."""
    _zoom(here, Action.ZOOM)


@Command("zoom.back", ("Z",), "zoom back", "Look", when=unseen, was=("Z", "V"))
def zoom_back(here: Inspector, count: int | None) -> None:
    """Zooms out."""
    _zoom(here, Action.ZOOM_BACK)


def _zoom(here: Inspector, action: Action) -> None:
    here.panes.tokens.act(action, 1)
    here.say(f"zoom: {here.panes.tokens.state.zoom.value}", Role.DIM)


@Command("shift", ("s",), "shift view", "Look", when=unseen)
def shift(here: Inspector, count: int | None) -> None:
    """Shows the input token at each position, and the token to predict from it."""
    here.panes.tokens.act(Action.SHIFT, 1)


@Command("list.toggle", ("L",), "row list", "Look")
def toggle_list(here: Inspector, count: int | None) -> None:
    """Hides or shows the list of rows."""
    now = here.state.open
    here.put(now._replace(rows=not now.rows))
    if here.state.open.rows and not here.panes.rows.display:
        here.say("no room for the row list next to the recipe", Role.DIM)


@Command("pane.cycle", ("o",), "other panes", "Look")
def cycle(here: Inspector, count: int | None) -> None:
    """Cycles through conversation, rendered text and raw row."""
    following = here.state.open.following()
    if following is None:
        here.close_view()
    else:
        here.open_view(following)


def _open(view: str, here: Inspector, count: int | None) -> None:
    here.open_view(view)


OPENING = tuple(
    Command(name, (key,), view, "Look", help=words, run=partial(_open, view), was=was)
    for name, key, view, words, was in (
        ("pane.conversation", "O c", CONVERSATION, "Shows the messages as the chat template receives them.", None),
        ("pane.rendered", "O t", RENDERED, "Shows the text the chat template made.", None),
        ("pane.raw", "O r", RAW, "Shows the row as it is stored.", None),
        (
            "boundary",
            "O e",
            BOUNDARY,
            "Shows where the prompt tokenized alone ends, and differs from the whole.",
            ("b",),
        ),
    )
)


@Command("pane.alone", ("m",), "this pane alone", "Look", was=())
def alone(here: Inspector, count: int | None) -> None:
    """Gives the whole screen to the pane that has the keys; again brings the others back."""
    now = here.state.open
    here.put(now._replace(alone=not now.alone))


CELLS, LINES = 6, 2
"""What one key makes a pane wider and higher by."""


def _resize(cells: int, lines: int, here: Inspector, count: int | None) -> None:
    if not here.resize_pane(cells * (count or 1), lines * (count or 1)):
        here.say("no room for that" if cells + lines > 0 else "no pane next to it to give that to", Role.DIM)


RESIZING = tuple(
    Command(
        f"pane.{word}",
        (f"O {key}",),
        word,
        "Look",
        help=f"Makes the pane that has the keys {word}.",
        counted=True,
        run=partial(_resize, cells, lines),
        was=(),
    )
    for word, key, cells, lines in (
        ("wider", ">", CELLS, 0),
        ("narrower", "<", -CELLS, 0),
        ("higher", "+", 0, LINES),
        ("lower", "-", 0, -LINES),
    )
)
