"""Review marks: keep, drop, flag and notes on rows, shown, gone through, listed and exported.

They are in force at once and are saved behind the screen's back.
"""

from __future__ import annotations

from sftui.errors import SftuiError
from sftui.tui.commands import notes, rows
from sftui.tui.commands.command import command
from sftui.tui.commands.inputs import inputs
from sftui.tui.contexts import FIGURES
from sftui.tui.copying import file_next_to, write_out
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage
from sftui.views.cells import Line, Role, line, wrap
from sftui.workspace.marks import KINDS, NOTED, RowMarks

MARKED = "marked"
ORDERS = {MARKED: "", **{f"{MARKED} {kind}": kind for kind in KINDS}, NOTED: NOTED}
"""What the row list may be filtered by, and which marks that means."""


def load(here: Inspector) -> None:
    """What was marked in earlier sessions."""
    try:
        here.put(here.state.kept._replace(marks=here.marks_file.load()))
    except SftuiError as error:
        here.say(str(error), Role.ERROR)
    marks = here.state.kept.marks
    if marks:
        here.set_signs()
        notes.say_own(here)
    if here.marks_file.stale:
        here.say(
            f"the data was changed after its rows were marked ({marks.words()}): see whether the marks still fit",
            Role.WARNING,
        )


# — marking —


@command("marks.keep", "r k", "mark keep", "Review")
def keep(here: Inspector, count: int | None) -> None:
    """Marks the row as keep; again removes the mark."""
    _mark(here, "keep")


@command("marks.drop", "r d", "mark drop", "Review")
def drop(here: Inspector, count: int | None) -> None:
    """Marks the row as drop: exports of the data leave it out."""
    _mark(here, "drop")


@command("marks.flag", "r f", "mark flag", "Review")
def flag(here: Inspector, count: int | None) -> None:
    """Flags the row for another look."""
    _mark(here, "flag")


def _mark(here: Inspector, kind: str) -> None:
    """Mark the row, or take that mark away again."""
    row = here.state.row
    _put(here, here.state.kept.marks.toggled(row, kind), row)
    if here.state.mark.kind:
        here.say(f"row {row:,}: {kind} · r{kind[0]} again removes it, F lists marked rows")
    else:
        here.say(f"row {row:,}: no longer {kind}", Role.DIM)


@command("marks.note", "r n", "note on the row", "Review")
def note(here: Inspector, count: int | None) -> None:
    """Adds a note to the row; an empty one removes it."""
    row = here.state.row
    here.ask(f"note on row {row:,}; empty removes it", lambda text: _noted(here, row, text), value=here.state.mark.note)


def _noted(here: Inspector, row: int, text: str) -> None:
    before = here.state.kept.marks
    _put(here, before.noted(row, text), row)
    had, has = bool(before.get(row).note), bool(here.state.kept.marks.get(row).note)
    if had or has:
        here.say(f"row {row:,}: noted" if has else f"row {row:,}: note removed", Role.PLAIN if has else Role.DIM)


def _put(here: Inspector, marks: RowMarks, row: int) -> None:
    before = here.state.kept.marks
    here.put(here.state.kept._replace(marks=marks))
    here.marks_file.save(row, marks.get(row))
    if bool(before) != bool(marks):
        here.set_signs()
    here.panes.rows.repaint()
    here.paint_view(FIGURES)
    if here.marks_file.path is None and marks and not before:
        here.say("marks on piped data are lost when you quit; x exports them", Role.WARNING)


# — going through them —


def _none_marked(here: Inspector) -> StatusMessage | None:
    if here.state.kept.marks.beyond(here.state.row, True, here.state.total) is not None:
        return None
    return StatusMessage("no row is marked: rk keep, rd drop, rf flag, rn note", Role.DIM)


@command("marks.next", "r ]", "next marked row", "Review", when=_none_marked)
def following(here: Inspector, count: int | None) -> None:
    """Goes to the next row with a mark or a note."""
    _go(here, True)


@command("marks.previous", "r [", "previous marked row", "Review", when=_none_marked)
def previous(here: Inspector, count: int | None) -> None:
    """Goes to the previous row with a mark or a note."""
    _go(here, False)


def _go(here: Inspector, forward: bool) -> None:
    """The next marked row, or the one before."""
    row = here.state.kept.marks.beyond(here.state.row, forward, here.state.total)
    if row == here.state.row:
        here.say("no other row is marked", Role.DIM)
    elif row is not None:
        rows.go(here, row)


# — listing them —


def orders(here: Inspector) -> list[tuple[str, str]]:
    """What the row list may be filtered by because of marks."""
    counted = ((by, len(rows_of(here, by)), what) for by, what in ORDERS.items())
    return [
        (
            by,
            (
                f"{count:,} ×"
                f" {f'rows marked {what}' if what in KINDS else 'rows with a note' if what else 'every marked row'}"
            ),
        )
        for by, count, what in counted
        if count
    ]


def rows_of(here: Inspector, by: str) -> list[int]:
    """The rows of one kind."""
    count = here.state.total
    return [row for row in here.state.kept.marks.rows_with(ORDERS[by]) if count is None or row < count]


def lines(here: Inspector, width: int) -> tuple[Line, ...]:
    """How many rows are marked, for the figures."""
    marks = here.state.kept.marks
    if not marks:
        return ()
    return (
        *wrap(
            line(
                ("Review marks", Role.TITLE),
                (f"  {marks.words()}", Role.PLAIN),
                ("  F lists them, x exports", Role.DIM),
            ),
            width,
        ),
        (),
    )


# — taking them out —


def export(here: Inspector) -> None:
    """Ask for a file and write the marks into it."""
    name = file_next_to(here.workspace.options.paths[0], "marks")
    words = here.state.kept.marks.words()
    here.ask(f"file for the review marks ({words})", lambda text: _export(here, text), value=name)


def _export(here: Inspector, text: str) -> str | None:
    name, marks = text.strip(), here.state.kept.marks
    if not name:
        return None
    try:
        written = write_out(marks.to_text(), name, inputs(here))
    except (SftuiError, OSError) as error:
        return str(error)
    here.say(f"{written}: {marks.words()} · sftui repair --marks leaves out what is marked drop")
    return None
