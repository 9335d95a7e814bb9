"""The notes of a row and of the whole run: counted in the status line, read on one key, never over the tokens."""

from __future__ import annotations

from functools import partial

from sftui.session.marks import NOTE_GLYPH
from sftui.text import visible
from sftui.tui.commands.command import Command
from sftui.tui.inspector import Inspector
from sftui.tui.state import Memo
from sftui.views.cells import Role
from sftui.views.status import note_lines, row_notes

Notes = tuple[tuple[str, tuple[tuple[str, Role], ...]], ...]


def _notes(here: Inspector) -> Notes:
    """What the user wrote about the row, what there is to know of it, and of the data, each once."""
    made = here.panes.tokens.inspection
    own = here.state.mark.note
    of_row = row_notes(made) if made is not None and made.row.index == here.state.row else ()
    known = {text for text, _ in of_row}
    texts = tuple((visible(note), Role.PLAIN) for note in here.state.reading.notes if visible(note) not in known)
    return (
        ("your note", ((visible(own), Role.VALUE),) if own else ()),
        (f"row {here.state.row:,}", of_row),
        ("the data and the recipe", texts),
    )


def say_own(here: Inspector) -> None:
    """What the user wrote about the row, where nothing else was answered."""
    note = here.state.mark.note
    if note and not here.state.said.text:
        here.say(f"{NOTE_GLYPH} {visible(note)}", Role.VALUE)


def count(here: Inspector, counted: Memo[int]) -> int:
    """How many notes there are to read, counted once for a row and what was said of it."""
    state = here.state
    key = (here.panes.tokens.shown, state.reading.notes, state.mark.note, state.row, state.open.side)
    return counted.of(key, lambda: sum(len(texts) for _, texts in _notes(here)))


@Command("notes", ("i",), "notes", "Look")
def read(here: Inspector, count: int | None) -> None:
    """Show the notes on this row, the data and the recipe (the second line counts them)."""
    here.read("notes", partial(note_lines, _notes(here)))
