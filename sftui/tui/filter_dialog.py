"""A dialog whose lines follow what is typed into it, e.g. the palette and the help.

Its own field and not Textual's, which gets the focus too late for keys typed at once (`:123`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual import events
from textual.fuzzy import Matcher

from sftui.text import clip
from sftui.tui.commands.command import Command, show_key
from sftui.tui.commands.table import available
from sftui.tui.dialogs import Dialog
from sftui.tui.help_text import help_lines
from sftui.tui.keys import Keymap
from sftui.tui.prompt import around_cursor, edit
from sftui.views.cells import Line, LineBuilder, Over, Role, line

MOVES = {"up": "up", "down": "down", "pageup": "page_up", "pagedown": "page_down"}


class FilterDialog(Dialog):
    """Letters filter, arrows move. A subclass says what its lines are for the `text`, and what Enter does."""

    sign = ":"
    hint = ""
    text = ""
    cursor = 0
    found: Sequence[Any] = ()

    def matching(self, text: str) -> Sequence[Any]:
        """What of all there is to pick matches a text."""
        return ()

    def filtered(self) -> None:
        """The text is another one."""
        self.found = self.matching(self.text)

    def title_lines(self, width: int) -> tuple[Line, ...]:
        before, at, after = around_cursor(self.text, self.cursor)
        cells = LineBuilder().add(f" {self.sign} ", Role.KEY).add(before, Role.VALUE)
        cells.add(at, Role.VALUE, Over.CURSOR)
        cells.add(after if self.text else self.hint, Role.VALUE if self.text else Role.DIM)
        return (cells.line(),)

    def take_key(self, event: events.Key) -> None:
        if event.key in MOVES:
            self.obey(MOVES[event.key], 1)
        elif event.key == "enter":
            self.obey("accept", 1)
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


class HelpDialog(FilterDialog):
    """As tall as all of it, so that nothing moves while one types."""

    sign = "?"
    hint = "a key, a sign, a word: tokens, mask, export, shift …"

    def __init__(self, context: str, keymap: Keymap) -> None:
        self.context, self.keymap = context, keymap
        super().__init__("help", self.made, keymap, offers={"accept": "Enter lists the pages of help"})

    def made(self, width: int) -> Sequence[Line]:
        return help_lines(self.context, self.keymap, width, self.text)

    def filtered(self) -> None:
        self.lines.resized()

    def keys(self) -> str:
        return "type to filter · ↑ ↓ scroll · Enter pages · Esc closes"


KEYS_WIDTH = 14
TITLE_WIDTH = 24
UNLISTED = ("palette", "close", "interrupt")


class PaletteDialog(FilterDialog):
    """Letters filter, arrows move, Enter runs."""

    hint = "a command, or a row number"
    picking = True

    def __init__(self, context: str, keymap: Keymap, chosen: Callable[[Command | int], None]) -> None:
        self.context, self.keymap, self.chosen = context, keymap, chosen
        self.filtered()
        super().__init__("palette", self.entries, keymap)

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
            cells = LineBuilder().add(f" {keys:<{KEYS_WIDTH}} ", Role.KEY)
            cells.add(f"{entry.title:<{TITLE_WIDTH}} ", Role.TITLE)
            lines.append(cells.add(clip(entry.help, max(0, width - cells.width)), Role.DIM).line())
        return lines or [line((" no command matches", Role.DIM))]

    def keys(self) -> str:
        return "↑ ↓ move · Enter runs it · Esc closes"

    def choose(self, number: int | None) -> None:
        """Runs once the palette is gone, so that what the command opens stands over the panes."""
        if number is not None and number < len(self.found):
            self.dismiss(None)
            self.chosen(self.found[number])
