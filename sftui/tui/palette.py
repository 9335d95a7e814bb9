"""The palette: any command by a few letters of its name; a number goes to that row.

Our own dialog and not Textual's, whose field gets the focus too late for keys typed at once (`:123`);
the matching is Textual's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.fuzzy import Matcher

from sftui.text import clip, visible
from sftui.tui.commands.command import Command, show_key
from sftui.tui.commands.table import available
from sftui.tui.dialogs import Dialog
from sftui.tui.keys import Keymap
from sftui.tui.prompt import edit
from sftui.tui.themes import Styles
from sftui.views import Line, Over, Role, line
from sftui.views.cells import LineBuilder

KEYS_WIDTH = 14
TITLE_WIDTH = 24
UNLISTED = ("palette", "close", "interrupt")


class Palette(Dialog):
    """Letters filter, arrows move, Enter runs."""

    def __init__(self, context: str, keymap: Keymap, look: Styles, chosen: Callable[[Command | int], None]) -> None:
        self.context, self.keymap, self.chosen = context, keymap, chosen
        self.text, self.cursor = "", 0
        self.found: Sequence[Command | int] = self.matching("")
        super().__init__("palette", self.entries, keymap, look, picking=True)

    def matching(self, text: str) -> Sequence[Command | int]:
        """Commands that work from where the keys are, best first; a number is a row."""
        commands = [c for c in available(self.context) if c.id not in UNLISTED]
        number = text.strip().replace(",", "")
        if number.isdecimal():
            return [int(number[:12])]
        if not text.strip():
            return commands
        matcher = Matcher(text.strip())
        scored = [(max(matcher.match(c.title), 0.5 * matcher.match(c.help)), c) for c in commands]
        return [c for score, c in sorted(scored, key=lambda pair: -pair[0]) if score > 0]

    def entries(self, width: int) -> Sequence[Line]:
        lines = []
        for entry in self.found:
            if isinstance(entry, int):
                lines.append(line((f" go to row {entry:,}", Role.PLAIN)))
                continue
            keys = " ".join(show_key(key) for key in self.keymap.keys_of(entry.id))
            cells = (
                LineBuilder().add(f" {keys:<{KEYS_WIDTH}} ", Role.KEY).add(f"{entry.title:<{TITLE_WIDTH}} ", Role.TITLE)
            )
            lines.append(cells.add(clip(entry.help, max(0, width - cells.width)), Role.DIM).line())
        return lines or [line((" no command matches", Role.DIM))]

    def keys(self) -> str:
        return "↑ ↓ move · Enter runs it · Esc closes"

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
            .add(" : ", Role.KEY)
            .add(before, Role.VALUE)
            .add(at or " ", Role.VALUE, Over.CURSOR)
            .add(after, Role.VALUE)
        )
        return (cells.line() if self.text else (*cells.line(), *line(("a command, or a row number", Role.DIM))),)

    def take_key(self, event: events.Key) -> None:
        moves = {"up": "up", "down": "down", "pageup": "page_up", "pagedown": "page_down"}
        if event.key in moves:
            self.obey(moves[event.key], 1)
        elif event.key == "enter":
            self.choose(self.lines.marked)
        elif event.key in ("escape", "ctrl+c"):
            self.dismiss(None)
        else:
            before = self.text
            self.text, self.cursor = edit(
                self.text, self.cursor, event.key, event.character if event.is_printable else None
            )
            if self.text != before:
                self.found = self.matching(self.text)
                self.lines.marked = self.lines.top = 0
                self.lines.draw_anew()
            self.bar.show(*self.title_lines(self.bar.size.width))

    def choose(self, number: int | None) -> None:
        """Runs once the palette is gone, so that what the command opens stands over the panes."""
        if number is None or not 0 <= number < len(self.found):
            return
        entry = self.found[number]
        self.dismiss(None)
        self.chosen(entry)
