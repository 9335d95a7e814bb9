"""What is looked at: zoom and shift of the tokens, the panes next to them, and how large the panes are."""

from __future__ import annotations

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


@Command("pane.conversation", ("O c",), "conversation", "Look")
def conversation(here: Inspector, count: int | None) -> None:
    """Shows the messages as the chat template receives them."""
    here.open_view(CONVERSATION)


@Command("pane.rendered", ("O t",), "rendered text", "Look")
def rendered(here: Inspector, count: int | None) -> None:
    """Shows the text the chat template made."""
    here.open_view(RENDERED)


@Command("pane.raw", ("O r",), "raw row", "Look")
def raw(here: Inspector, count: int | None) -> None:
    """Shows the row as it is stored."""
    here.open_view(RAW)


@Command("boundary", ("O e",), "prompt boundary", "Look", was=("b",))
def boundary(here: Inspector, count: int | None) -> None:
    """Shows where the prompt tokenized alone ends, and differs from the whole."""
    here.open_view(BOUNDARY)


@Command("pane.alone", ("m",), "this pane alone", "Look", was=())
def alone(here: Inspector, count: int | None) -> None:
    """Gives the whole screen to the pane that has the keys; again brings the others back."""
    now = here.state.open
    here.put(now._replace(alone=not now.alone))


CELLS, LINES = 6, 2
"""What one key makes a pane wider and higher by."""


def _resizing(word: str, key: str, cells: int, lines: int) -> Command:
    def resize(here: Inspector, count: int | None) -> None:
        if not here.resize_pane(cells * (count or 1), lines * (count or 1)):
            here.say("no room for that" if cells + lines > 0 else "no pane next to it to give that to", Role.DIM)

    sentence = f"Makes the pane that has the keys {word}."
    return Command(f"pane.{word}", (f"O {key}",), word, "Look", help=sentence, counted=True, run=resize, was=())


WIDER, NARROWER = _resizing("wider", ">", CELLS, 0), _resizing("narrower", "<", -CELLS, 0)
HIGHER, LOWER = _resizing("higher", "+", 0, LINES), _resizing("lower", "-", 0, -LINES)
