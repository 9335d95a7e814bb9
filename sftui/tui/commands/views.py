"""What is looked at: zoom and shift of the tokens, the panes next to them, and how large the panes are."""

from __future__ import annotations

from sftui.tui.commands.command import Command, both_ways
from sftui.tui.contexts import BOUNDARY, CONVERSATION, RAW, RENDERED
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage, unless
from sftui.views.cells import Role
from sftui.views.grid import Action


def unseen(here: Inspector) -> StatusMessage | None:
    """Why the tokens cannot be looked at otherwise."""
    return unless(here.panes.tokens.display, "the tokens are not on screen; Esc returns to them")


def _zoom(here: Inspector, step: int) -> None:
    here.panes.tokens.act(Action.ZOOM if step > 0 else Action.ZOOM_BACK, 1)
    here.say(f"zoom: {here.panes.tokens.state.zoom.value}", Role.DIM)


ZOOMS = both_ways(
    _zoom,
    Command("zoom", ("z",), "zoom", "Look", help="Zoom in: from text with the lens to columns to rows.", when=unseen),
    Command("zoom.back", ("Z",), "zoom back", "Look", help="Zoom out.", when=unseen),
)


@Command("shift", ("s",), "shift view", "Look", when=unseen)
def shift(here: Inspector, count: int | None) -> None:
    """Show the input token at each position, and the token to predict from it."""
    here.panes.tokens.act(Action.SHIFT, 1)


@Command("blanks", (".",), "white space", "Look", when=unseen)
def blanks(here: Inspector, count: int | None) -> None:
    """Show all whitespace in the text, or only where it matters."""
    here.panes.tokens.act(Action.BLANKS, 1)
    here.say(
        "all whitespace is shown" if here.panes.tokens.state.blanks else "whitespace is shown only where it matters",
        Role.DIM,
    )


def _one(here: Inspector) -> StatusMessage | None:
    return unless(here.state.open.sides > 1, "this row has one side; a preference has two")


@Command("side", ("b",), "other side", "Look", when=_one)
def other_side(here: Inspector, count: int | None) -> None:
    """Move to the same position in the other side of a preference."""
    here.take_side(1 - here.state.open.side)


@Command("list.toggle", ("L",), "row list", "Look")
def toggle_list(here: Inspector, count: int | None) -> None:
    """Show or hide the row list."""
    now = here.state.open
    here.put(now._replace(rows=not now.rows))
    if here.state.open.rows and not here.panes.rows.display:
        here.say("no room for the row list next to the recipe", Role.DIM)


@Command("pane.cycle", ("o",), "other panes", "Look")
def cycle(here: Inspector, count: int | None) -> None:
    """Cycle through conversation, rendered text and raw row."""
    following = here.state.open.following()
    if following is None:
        here.close_view()
    else:
        here.open_view(following)


def _opening(name: str, key: str, view: str, words: str) -> Command:
    """What opens a view that is called as it is."""
    return Command(name, (key,), view, "Look", help=words, run=lambda here, count: here.open_view(view))


OPENING = (
    _opening("pane.conversation", "O c", CONVERSATION, "Show the messages as the chat template receives them."),
    _opening("pane.rendered", "O t", RENDERED, "Show the text that the chat template rendered."),
    _opening("pane.raw", "O r", RAW, "Show the row as stored."),
    _opening(
        "boundary",
        "O e",
        BOUNDARY,
        "Show where the prompt ends when tokenized alone, and where it differs from the whole row.",
    ),
)


@Command("pane.alone", ("m",), "maximize this pane", "Look")
def alone(here: Inspector, count: int | None) -> None:
    """Maximize or restore the focused pane."""
    now = here.state.open
    here.put(now._replace(alone=not now.alone))


CELLS, LINES = 6, 2
"""What one key makes a pane wider and higher by."""


def _resizing(word: str, key: str, cells: int, lines: int) -> Command:
    def resize(here: Inspector, count: int | None) -> None:
        if not here.resize_pane(cells * (count or 1), lines * (count or 1)):
            here.say("no room for that" if cells + lines > 0 else "no neighbouring pane to resize", Role.DIM)

    sentence = f"Make the focused pane {word}."
    return Command(f"pane.{word}", (f"O {key}",), word, "Look", help=sentence, counted=True, run=resize)


WIDER, NARROWER = _resizing("wider", ">", CELLS, 0), _resizing("narrower", "<", -CELLS, 0)
HIGHER, LOWER = _resizing("higher", "+", 0, LINES), _resizing("lower", "-", 0, -LINES)
