"""Review marks: keep, drop, flag and notes on rows, shown, gone through, listed and exported.

They are in force at once and are saved behind the screen's back.
"""

from __future__ import annotations

from functools import partial

from sftui.session.marks import EDITED, KINDS, NOTED, RowMarks
from sftui.session.options import file_next_to
from sftui.tui.commands import notes, rows
from sftui.tui.commands.command import Command, both_ways
from sftui.tui.commands.copying import write
from sftui.tui.contexts import FIGURES
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage
from sftui.views.cells import Line, Role, line, wrap

MARKED = "marked"
ORDERS = {
    MARKED: ("", "every marked row"),
    **{f"{MARKED} {kind}": (kind, f"rows marked {kind}") for kind in KINDS},
    NOTED: (NOTED, "rows with a note"),
    EDITED: (EDITED, "rows that you edited"),
}
"""What the row list may be filtered by, which marks that means, and in words."""


def load(here: Inspector) -> None:
    """What was marked in earlier sessions."""
    here.attempt(lambda: here.put(here.state.kept._replace(marks=here.marks_file.load())))
    marks = here.state.kept.marks
    if marks:
        here.set_signs()
        notes.say_own(here)
    if here.marks_file.stale:
        here.say(
            f"the data changed after its rows were marked ({marks.words()}): check that the marks still apply",
            Role.WARNING,
        )


# — marking —


def _mark(kind: str, here: Inspector, count: int | None) -> None:
    """Mark the row, or take that mark away again."""
    row = here.state.row
    put_mark(here, here.state.kept.marks.toggled(row, kind), row)
    if here.state.mark.kind:
        here.say(f"row {row:,}: {kind} · r{kind[0]} again clears it, F lists marked rows")
    else:
        here.say(f"row {row:,}: no longer {kind}", Role.DIM)


def _mark_on(kind: str, here: Inspector, count: int | None) -> None:
    """Mark the row, whatever it was, and go on to the next one of the list."""
    row, marks = here.state.row, here.state.kept.marks
    if here.state.mark.kind != kind:
        put_mark(here, marks.toggled(row, kind), row)
    rows.step(here, 1)
    end = " · this is the last row, x exports the marked rows" if here.state.row == row else ""
    here.say(f"row {row:,}: {kind}{end}")


MARKING = tuple(
    Command(f"marks.{kind}", (f"r {kind[0]}",), f"mark {kind}", "Review", help=words, run=partial(_mark, kind))
    for kind, words in (
        ("keep", "Mark the row as keep; press again to clear the mark."),
        ("drop", "Mark the row as drop: data exports skip it."),
        ("flag", "Flag the row for another look."),
    )
)


TRIAGE = tuple(
    Command(f"triage.{kind}", (key,), f"{kind}, next row", "Review", help=words, run=partial(_mark_on, kind))
    for kind, key, words in (
        ("keep", "+", "Mark the row as keep and move to the next one."),
        ("drop", "_", "Mark the row as drop and move to the next one."),
        ("flag", "!", "Flag the row and move to the next one."),
    )
)


@Command("marks.note", ("r n",), "note on the row", "Review")
def note(here: Inspector, count: int | None) -> None:
    """Add a note to the row; an empty one removes it."""
    row = here.state.row
    label, note = f"note on row {row:,}; leave it empty to remove it", here.state.mark.note
    here.ask(label, lambda text: _noted(here, row, text), value=note, raw=True)


def _noted(here: Inspector, row: int, text: str) -> None:
    before = here.state.kept.marks
    put_mark(here, before.noted(row, text), row)
    had, has = bool(before.get(row).note), bool(here.state.kept.marks.get(row).note)
    if had or has:
        here.say(f"row {row:,}: note saved" if has else f"row {row:,}: note removed", Role.PLAIN if has else Role.DIM)


def put_mark(here: Inspector, marks: RowMarks, row: int, at_once: bool = False) -> None:
    """Other marks, which differ in one row; `at_once`: what it says is in the file before anything else happens."""
    before = here.state.kept.marks
    here.put(here.state.kept._replace(marks=marks))
    (here.marks_file.keep if at_once else here.marks_file.save)(row, marks.get(row))
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
    return StatusMessage("no rows are marked: rk keep, rd drop, rf flag, rn note", Role.DIM)


def _marked_row(name: str, key: str) -> Command:
    words = f"Go to the {name} row with a mark or a note."
    return Command(f"marks.{name}", (key,), f"{name} marked row", "Review", help=words, when=_none_marked)


def _go(here: Inspector, step: int) -> None:
    """The next marked row, or the one before."""
    row = here.state.kept.marks.beyond(here.state.row, step > 0, here.state.total)
    if row == here.state.row:
        here.say("no other row is marked", Role.DIM)
    elif row is not None:
        rows.go(here, row)


ALONG = both_ways(_go, _marked_row("next", "r ]"), _marked_row("previous", "r ["))


# — listing them —


def orders(here: Inspector) -> list[tuple[str, str]]:
    """What the row list may be filtered by because of marks."""
    counted = ((by, len(rows_of(here, by)), words) for by, (_, words) in ORDERS.items())
    return [(by, f"{count:,} × {words}") for by, count, words in counted if count]


def rows_of(here: Inspector, by: str) -> list[int]:
    """The rows of one kind."""
    count = here.state.total
    return [row for row in here.state.kept.marks.rows_with(ORDERS[by][0]) if count is None or row < count]


def lines(here: Inspector, width: int) -> tuple[Line, ...]:
    """How many rows are marked, for the figures."""
    marks = here.state.kept.marks
    if not marks:
        return ()
    words = f"  {marks.words()}"
    return (*wrap(line(("Review marks", Role.TITLE), words, ("  F lists them, x exports", Role.DIM)), width), ())


# — taking them out —


def export(here: Inspector) -> None:
    """Ask for a file and write the marks into it."""
    name = file_next_to(here.workspace.options.paths[0], "marks")
    here.ask(f"file for the review marks ({here.state.kept.marks.words()})", partial(_export, here), value=name)


def _export(here: Inspector, name: str) -> None:
    marks = here.state.kept.marks
    written = write(here, marks.to_text(), name)
    here.say(f"{written}: {marks.words()} · sftui repair --marks applies the edits and skips rows marked drop")
