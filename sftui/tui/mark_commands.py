"""Review marks: keep, drop, flag and notes on rows, shown, gone through, listed and exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

from sftui.errors import SftuiError
from sftui.text import clip, visible
from sftui.tui.copying import write_out
from sftui.tui.data_export import file_beside
from sftui.views import Line, Role, line, wrap
from sftui.workspace.marks import GLYPHS, KINDS, NOTE_GLYPH, NOTED, Mark, Marks
from sftui.workspace.marks_file import MarksFile

if TYPE_CHECKING:
    from sftui.tui.main_screen import MainScreen

MARKED = "marked"
ORDERS = {MARKED: "", **{f"{MARKED} {kind}": kind for kind in KINDS}, NOTED: NOTED}
"""What the row list may be filtered by, and which marks that means."""


class MarksFailed(Message):
    """From the thread that writes marks."""

    def __init__(self, told: str) -> None:
        super().__init__()
        self.told = told


class MarkCommands:
    """The marks are in force at once and are saved behind the screen's back."""

    def __init__(self, screen: MainScreen) -> None:
        self.screen = screen
        self.marks = Marks()
        screen.rows.glyph = self.glyph
        self.file = MarksFile(screen.workspace.options, self._failed)

    def handlers(self) -> dict[str, Callable[[int | None], None]]:
        kinds: dict[str, Callable[[int | None], None]] = {f"marks.{kind}": self._marker(kind) for kind in KINDS}
        return {
            **kinds,
            "marks.note": lambda n: self.note(),
            "marks.next": lambda n: self.go(True),
            "marks.previous": lambda n: self.go(False),
        }

    def load(self) -> None:
        """What was marked in earlier sessions."""
        try:
            self.marks = self.file.load()
        except SftuiError as error:
            self.screen.say(str(error), Role.ERROR)
        if self.marks:
            self.screen.set_signs()
            self.show()
        if self.file.stale:
            self.screen.say(
                f"the data was changed after its rows were marked ({self.marks.words()}): see whether the marks"
                " still fit",
                Role.WARNING,
            )

    def _failed(self, told: str) -> None:
        self.screen.post_message(MarksFailed(told))

    # — marking —

    def _marker(self, kind: str) -> Callable[[int | None], None]:
        return lambda n: self.mark(kind)

    def mark(self, kind: str) -> None:
        """Mark the row, or take that mark away again."""
        row = self.screen.status.row
        self._put(self.marks.toggled(row, kind), row)
        if self.marks.get(row).kind:
            self.screen.say(f"row {row:,}: {kind} · r{kind[0]} again removes it, F lists marked rows")
        else:
            self.screen.say(f"row {row:,}: no longer {kind}", Role.DIM)

    def note(self) -> None:
        """One line about the row; an empty one takes the note away."""
        row = self.screen.status.row
        self.screen.prompt.ask(
            f"note on row {row:,}; empty removes it",
            lambda text: self._noted(row, text),
            value=self.marks.get(row).note,
        )

    def _noted(self, row: int, text: str) -> None:
        had = bool(self.marks.get(row).note)
        self._put(self.marks.noted(row, text), row)
        has = bool(self.marks.get(row).note)
        if had or has:
            self.screen.say(
                f"row {row:,}: noted" if has else f"row {row:,}: note removed", Role.PLAIN if has else Role.DIM
            )

    def _put(self, marks: Marks, row: int) -> None:
        before, self.marks = len(self.marks), marks
        self.file.save(row, marks.get(row))
        if bool(before) != bool(marks):
            self.screen.set_signs()
        self.screen.rows.repaint()
        self.screen.figures_commands.repaint()
        self.show()
        if self.file.path is None and marks and not before:
            self.screen.say("marks on piped data are lost when you quit; x exports them", Role.WARNING)

    def go(self, forward: bool) -> None:
        """The next marked row, or the one before."""
        row = self.marks.beyond(self.screen.status.row, forward, self._count)
        if row is None:
            self.screen.say("no row is marked: rk keep, rd drop, rf flag, rn note", Role.DIM)
        elif row == self.screen.status.row:
            self.screen.say("no other row is marked", Role.DIM)
        else:
            self.screen.row_commands.go(row)

    @property
    def _count(self) -> int | None:
        """How many rows there are, once that is known."""
        return self.screen.status.rows if self.screen.status.exact else None

    # — showing —

    def glyph(self, row: int) -> str:
        return self.marks.get(row).glyph

    def show(self) -> None:
        """The mark of the row on screen: its kind in the status line, its note over the tokens."""
        mark = self.marks.get(self.screen.status.row)
        self.screen.set_status(mark=words(mark))
        note = line((f"{NOTE_GLYPH} {visible(mark.note)}", Role.VALUE)) if mark.note else ()
        self.screen.tokens.set_note(note)

    def orders(self) -> list[tuple[str, str]]:
        """What the row list may be filtered by because of marks."""
        counted = ((by, len(self._rows(by)), what) for by, what in ORDERS.items())
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

    def order(self, by: str) -> None:
        """List the rows of one kind."""
        self.screen.figures_commands.list_rows(by, self._rows(by))

    def _rows(self, by: str) -> list[int]:
        return [row for row in self.marks.rows_with(ORDERS[by]) if self._count is None or row < self._count]

    def lines(self, width: int) -> tuple[Line, ...]:
        """How many rows are marked, for the figures."""
        if not self.marks:
            return ()
        return (
            *wrap(
                line(
                    ("Review marks", Role.TITLE),
                    (f"  {self.marks.words()}", Role.PLAIN),
                    ("  F lists them, x exports", Role.DIM),
                ),
                width,
            ),
            (),
        )

    # — taking them out —

    def export(self) -> None:
        """Ask for a file and write the marks into it."""
        name = file_beside(self.screen.workspace.options.paths[0], "marks")
        self.screen.prompt.ask(f"file for the review marks ({self.marks.words()})", self._export, value=name)

    def _export(self, text: str) -> str | None:
        name = text.strip()
        if not name:
            return None
        try:
            told = write_out(self.marks.to_text(), name, self.screen.copy_commands.inputs())
        except (SftuiError, OSError) as error:
            return str(error)
        self.screen.say(f"{told}: {self.marks.words()} · sftui repair --marks leaves out what is marked drop")
        return None

    def close(self) -> bool:
        """Everything is saved; False where it could not be."""
        return self.file.close()


def words(mark: Mark) -> str:
    """The mark in the status line: its letter and its name."""
    name = mark.kind or ("note" if mark.note else "")
    return clip(f"{GLYPHS.get(mark.kind, NOTE_GLYPH)} {name}", 8) if name else ""
