"""The palette: any command by a few letters of its name; a number goes to that row.

The matching is Textual's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.fuzzy import Matcher

from sftui.text import clip
from sftui.tui.commands.command import Command, show_key
from sftui.tui.commands.table import available
from sftui.tui.filtering import Filtering
from sftui.tui.keys import Keymap
from sftui.tui.themes import Styles
from sftui.views.cells import Line, LineBuilder, Role, line

KEYS_WIDTH = 14
TITLE_WIDTH = 24
UNLISTED = ("palette", "close", "interrupt")


class Palette(Filtering):
    """Letters filter, arrows move, Enter runs."""

    hint = "a command, or a row number"

    def __init__(self, context: str, keymap: Keymap, look: Styles, chosen: Callable[[Command | int], None]) -> None:
        self.context, self.keymap, self.chosen = context, keymap, chosen
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

    def filtered(self) -> None:
        self.found = self.matching(self.text)

    def choose(self, number: int | None) -> None:
        """Runs once the palette is gone, so that what the command opens stands over the panes."""
        if number is None or not 0 <= number < len(self.found):
            return
        entry = self.found[number]
        self.dismiss(None)
        self.chosen(entry)
