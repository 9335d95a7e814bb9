"""A dialog whose lines follow what is typed into it: the palette, and the help.

Its own field and not Textual's, which gets the focus too late for keys typed at once (`:123`).
"""

from __future__ import annotations

from textual import events

from sftui.text import visible
from sftui.tui.dialogs import Dialog
from sftui.tui.prompt import edit
from sftui.views.cells import Line, LineBuilder, Over, Role

MOVES = {"up": "up", "down": "down", "pageup": "page_up", "pagedown": "page_down"}


class Filtering(Dialog):
    """Letters filter, arrows move. A subclass says what its lines are for the `text`, and what Enter does."""

    sign = ":"
    hint = ""
    text = ""
    cursor = 0

    def filtered(self) -> None:
        """The text is another one."""

    def title_lines(self, width: int) -> tuple[Line, ...]:
        before, at, after = (
            visible(part)
            for part in (
                self.text[: self.cursor],
                self.text[self.cursor : self.cursor + 1],
                self.text[self.cursor + 1 :],
            )
        )
        cells = (
            LineBuilder()
            .add(f" {self.sign} ", Role.KEY)
            .add(before, Role.VALUE)
            .add(at or " ", Role.VALUE, Over.CURSOR)
            .add(after if self.text else self.hint, Role.VALUE if self.text else Role.DIM)
        )
        return (cells.line(),)

    def take_key(self, event: events.Key) -> None:
        if event.key in MOVES:
            self.obey(MOVES[event.key], 1)
        elif event.key == "enter":
            self.choose(self.lines.marked)
        elif event.key in ("escape", "ctrl+c"):
            self.dismiss(None)
        else:
            before = self.text
            character = event.character if event.is_printable else None
            self.text, self.cursor = edit(self.text, self.cursor, event.key, character)
            if self.text != before:
                self.filtered()
                self.lines.marked = self.lines.top = 0
                self.lines.draw_anew()
            self.bar.show(*self.title_lines(self.bar.size.width))
