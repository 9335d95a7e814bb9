"""Dialogs whose lines follow what is typed into them: every list to pick from, the palette, the help.

Their own field and not Textual's, which gets the focus too late for keys typed at once (`:123`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual import events
from textual.fuzzy import Matcher

from sftui.text import cell_width, clip, fit, has_words, visible
from sftui.tui.commands.command import Command, show_key
from sftui.tui.commands.table import available
from sftui.tui.dialogs import NO_OFFERS, Dialog, Maker, Offers
from sftui.tui.help_text import help_lines, help_sections
from sftui.tui.keys import Keymap
from sftui.tui.prompt import around_cursor, edit
from sftui.views.cells import Line, LineBuilder, Over, Role, line, wrap

MOVES = {"up": "up", "down": "down", "pageup": "page_up", "pagedown": "page_down"}
LONGEST_NOTE = 3
"""Lines of what the marked line is too short for."""


class FilterDialog(Dialog):
    """Letters filter, arrows move, Esc lists all again before it closes. A subclass says what its lines are for the
    `text`, and what Enter does; where it does not type `at_once`, `/` begins."""

    picking = True
    sign = ">"
    hint = ""
    at_once = True
    headed = True
    """Whether its title stands over what is typed."""

    def __init__(self, title: str, make: Maker, keymap: Keymap, offers: Offers = NO_OFFERS) -> None:
        self.text, self.cursor, self.typing = "", 0, self.at_once
        self.found = self.matching("")
        self.of = len(self.found)
        super().__init__(title, make, keymap, offers)

    def matching(self, text: str) -> Sequence[Any]:
        """What of all there is to pick matches a text."""
        raise NotImplementedError

    def filtered(self) -> None:
        """The text is another one."""
        self.found = self.matching(self.text)
        self.lines.marked = self.lines.top = 0
        self.lines.draw_anew()
        self.show_rest()

    def type(self, on: bool) -> None:
        """Whether letters filter, or are keys; all is listed."""
        self.text, self.cursor, self.typing = "", 0, on
        self.filtered()
        self.fit(self.app.size)

    def title_lines(self, width: int) -> tuple[Line, ...]:
        title = super().title_lines(width) if self.headed else ()
        return (*title, self._typed(width)) if self.typing else title

    def _typed(self, width: int) -> Line:
        """What is typed, and how many there are with it."""
        count = f" {len(self.found):,} of {self.of:,} " if self.text else ""
        before, at, after = around_cursor(self.text, self.cursor)
        cells = LineBuilder().add(f" {self.sign} ", Role.KEY).add(before, Role.VALUE)
        cells.add(at, Role.VALUE, Over.CURSOR)
        cells.add(after if self.text else self.hint, Role.VALUE if self.text else Role.DIM)
        return cells.pad_to(max(cells.width, width - len(count))).add(count, Role.DIM).line()

    def take_key(self, event: events.Key) -> None:
        if not self.typing:
            super().take_key(event)
        elif event.key in MOVES:
            self.obey(MOVES[event.key], 1)
        elif event.key == "enter":
            self.obey("accept", 1)
        elif event.key == "escape" and (self.text or not self.at_once):
            self.type(self.at_once)
        elif event.key in ("escape", "ctrl+c"):
            self.dismiss(None)
        else:
            before = self.text
            character = event.character if event.is_printable else None
            self.text, self.cursor = edit(self.text, self.cursor, event.key, character)
            if self.text != before:
                self.filtered()
            self.bar.show(*self.title_lines(self.bar.size.width))


class OptionsDialog(FilterDialog):
    """Lines to pick from: a name and what it means. The one that is called `marked` is marked first."""

    sign = "/"
    at_once = False

    def __init__(self, title: str, entries: Sequence[tuple[str, str]], keymap: Keymap, marked: str = "") -> None:
        names = [name for name, _ in entries]
        self.meanings = [visible(meaning) for _, meaning in entries]
        widest = max((cell_width(visible(name)) for name in names), default=0)
        self.texts = [f" {fit(visible(name), widest)}  {meaning}" for name, meaning in zip(names, self.meanings)]
        super().__init__(title, self.options, keymap)
        self.lines.marked = names.index(marked) if marked in names else 0

    def matching(self, text: str) -> Sequence[int]:
        return [number for number, shown in enumerate(self.texts) if has_words(shown, text)]

    def options(self, width: int) -> Sequence[Line]:
        listed = [line((fit(self.texts[number], width), Role.PLAIN)) for number in self.found]
        return listed or [line((" nothing matches", Role.DIM))]

    def keys(self) -> str:
        if self.typing:
            return "↑ ↓ move · Enter selects · Esc lists all"
        return "j k move · / filters · Enter selects · Esc closes"

    def obey(self, name: str, count: int) -> bool:
        if name == "find":
            self.type(True)
            return True
        return super().obey(name, count)

    def rest(self, number: int, width: int) -> tuple[Line, ...]:
        """The meaning of an entry over a few lines, where its own line cuts it."""
        if not 0 <= number < len(self.found) or cell_width(self.texts[self.found[number]]) <= width:
            return ()
        return wrap(line((f" {self.meanings[self.found[number]]}", Role.VALUE)), width, " ")[:LONGEST_NOTE]

    def choose(self, number: int | None) -> None:
        if number is not None and number < len(self.found):
            self.dismiss(self.found[number])


class HelpDialog(FilterDialog):
    """As tall as all of it, so that nothing moves while one types."""

    sign = "?"
    hint = "a key, a sign, a word: tokens, mask, export, shift …"
    picking = headed = False

    def __init__(self, context: str, keymap: Keymap) -> None:
        self.context, self.keymap = context, keymap
        super().__init__("help", self.made, keymap, {"accept": "Enter lists the help pages"})

    def matching(self, text: str) -> Sequence[Any]:
        sections = help_sections(self.context, self.keymap)
        return [entry for section in sections for entry in section.entries if has_words(entry.text, text)]

    def made(self, width: int) -> Sequence[Line]:
        return help_lines(self.context, self.keymap, width, self.text)

    def keys(self) -> str:
        return "type to filter · ↑ ↓ scroll · Enter pages · Esc closes"


KEYS_WIDTH = 14
TITLE_WIDTH = 24
UNLISTED = ("palette", "close", "interrupt")


class PaletteDialog(FilterDialog):
    """Letters filter, arrows move, Enter runs."""

    sign = ":"
    hint = "a command, or a row number"
    headed = False

    def __init__(self, context: str, keymap: Keymap, chosen: Callable[[Command | int], None]) -> None:
        self.context, self.keymap, self.chosen = context, keymap, chosen
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
