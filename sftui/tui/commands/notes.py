"""The notes of a row and of the whole run: counted in the status line, read on one key, never over the tokens."""

from __future__ import annotations

from sftui.model import Inspection
from sftui.text import visible
from sftui.tui.commands.command import Command
from sftui.tui.inspector import Inspector
from sftui.views.cells import Line, Role
from sftui.views.status import note_lines, row_notes
from sftui.workspace.marks import NOTE_GLYPH

Notes = tuple[tuple[str, tuple[tuple[str, Role], ...]], ...]


def _notes(here: Inspector) -> Notes:
    """What the user wrote about the row, what there is to know of it, and of the data, each once."""
    made = here.panes.tokens.inspection
    own = here.state.mark.note
    of_row = row_notes(made) if made is not None and made.row.index == here.state.row else ()
    known = {text for text, _ in of_row}
    texts = tuple((visible(one), Role.PLAIN) for one in here.state.reading.notes if visible(one) not in known)
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


class NoteCount:
    """How many notes there are to read, counted once for a row and what was said of it."""

    def __init__(self) -> None:
        self._made: Inspection | None = None
        self._of: tuple[object, ...] | None = None
        self._count = 0

    def now(self, here: Inspector) -> int:
        made, reading = here.panes.tokens.inspection, here.state.reading.notes
        of = (reading, here.state.mark.note, here.state.row)
        if self._made is not made or self._of != of:
            self._made, self._of = made, of
            self._count = sum(len(some) for _, some in _notes(here))
        return self._count


@Command("notes", ("i",), "notes", "Look", was=())
def read(here: Inspector, count: int | None) -> None:
    """Shows the notes on this row, the data and the recipe that ⓘ counts."""
    found = _notes(here)

    def page(width: int) -> tuple[Line, ...]:
        return note_lines(found, width)

    here.read("notes", page)
