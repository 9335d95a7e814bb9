"""What is looked at: zoom and shift of the tokens, the panes next to them, and how large the panes are."""

from __future__ import annotations

from sftui.tui.commands.command import command
from sftui.tui.contexts import BOUNDARY, CONVERSATION, RAW, RENDERED
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage
from sftui.views.cells import Role
from sftui.views.grid import Action


def unseen(here: Inspector) -> StatusMessage | None:
    """Why the tokens cannot be looked at otherwise."""
    return (
        None
        if here.panes.tokens.display
        else StatusMessage("the tokens are not on screen; Esc goes back to them", Role.DIM)
    )


@command("zoom", "z", "zoom", "Look", when=unseen, was=("z", "v"))
def zoom(here: Inspector, count: int | None) -> None:
    """Zooms in: text, columns, rows."""
    _change(here, Action.ZOOM)


@command("zoom.back", "Z", "zoom back", "Look", when=unseen, was=("Z", "V"))
def zoom_back(here: Inspector, count: int | None) -> None:
    """Zooms out."""
    _change(here, Action.ZOOM_BACK)


@command("shift", "s", "shift view", "Look", when=unseen)
def shift(here: Inspector, count: int | None) -> None:
    """Shows the input token at each position, and the token to predict from it."""
    _change(here, Action.SHIFT)


def _change(here: Inspector, action: Action) -> None:
    """Zoom or shift: what is said under the panes follows."""
    tokens = here.panes.tokens
    tokens.act(action, 1)
    if action is not Action.SHIFT:
        here.say(f"zoom: {tokens.state.zoom.value}", Role.DIM)


@command("list.toggle", "L", "row list", "Look")
def toggle_list(here: Inspector, count: int | None) -> None:
    """Hides or shows the list of rows."""
    now = here.state.open
    here.put(now._replace(rows=not now.rows))
    if here.state.open.rows and not here.panes.rows.display:
        here.say("no room for the row list next to the recipe", Role.DIM)


@command("pane.cycle", "o", "other panes", "Look")
def cycle(here: Inspector, count: int | None) -> None:
    """Cycles through conversation, rendered text and raw row."""
    following = here.state.open.following()
    if following is None:
        here.close_view()
    else:
        here.open_view(following)


@command("pane.conversation", "O c", "conversation", "Look")
def conversation(here: Inspector, count: int | None) -> None:
    """Shows the messages as the chat template receives them."""
    here.open_view(CONVERSATION)


@command("pane.rendered", "O t", "rendered text", "Look")
def rendered(here: Inspector, count: int | None) -> None:
    """Shows the text the chat template made."""
    here.open_view(RENDERED)


@command("pane.raw", "O r", "raw row", "Look")
def raw(here: Inspector, count: int | None) -> None:
    """Shows the row as it is stored."""
    here.open_view(RAW)


@command("boundary", "O e", "prompt boundary", "Look", was=("b",))
def boundary(here: Inspector, count: int | None) -> None:
    """Shows where the prompt tokenized alone ends, and differs from the whole."""
    here.open_view(BOUNDARY)


@command("pane.alone", "m", "this pane alone", "Look", was=())
def alone(here: Inspector, count: int | None) -> None:
    """Gives the whole screen to the pane that has the keys; again brings the others back."""
    now = here.state.open
    here.put(now._replace(alone=not now.alone))


CELLS, LINES = 6, 2
"""What one key makes a pane wider and higher by."""


def _resize(here: Inspector, cells: int, lines: int) -> None:
    if not here.resize_pane(cells, lines):
        here.say("no room for that" if cells + lines > 0 else "no pane next to it to give that to", Role.DIM)


@command("pane.wider", "O >", "wider", "Look", counted=True, was=())
def wider(here: Inspector, count: int | None) -> None:
    """Makes the pane that has the keys wider."""
    _resize(here, CELLS * (count or 1), 0)


@command("pane.narrower", "O <", "narrower", "Look", counted=True, was=())
def narrower(here: Inspector, count: int | None) -> None:
    """Makes the pane that has the keys narrower."""
    _resize(here, -CELLS * (count or 1), 0)


@command("pane.higher", "O +", "higher", "Look", counted=True, was=())
def higher(here: Inspector, count: int | None) -> None:
    """Makes the pane that has the keys higher."""
    _resize(here, 0, LINES * (count or 1))


@command("pane.lower", "O -", "lower", "Look", counted=True, was=())
def lower(here: Inspector, count: int | None) -> None:
    """Makes the pane that has the keys lower."""
    _resize(here, 0, -LINES * (count or 1))
