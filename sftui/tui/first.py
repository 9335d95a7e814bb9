"""The first screen where nothing was named, or no tokenizer: lists to pick from, which follow what is typed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual import events

from sftui.text import cell_width, clip, fit, visible
from sftui.tui.base import KeyedApp
from sftui.tui.filtering import Filtering
from sftui.tui.keys import Keymap
from sftui.tui.picking import Picking, matching
from sftui.tui.themes import Styles
from sftui.views.cells import Line, LineBuilder, Role, line, wrap

WIDEST_NAME = 44


class Pick(Filtering):
    """One question: letters filter what may be picked, what is typed may be taken as it is."""

    sign = ">"

    def __init__(self, picking: Picking, keymap: Keymap, look: Styles) -> None:
        self.picking = picking
        self.hint = f"type to filter, or {picking.typed}"
        self.choices = picking.choices(Path())
        self.found = self.choices
        self.complaint = ""
        super().__init__(picking.title, self.entries, keymap, look, picking=True)

    def filtered(self) -> None:
        self.found = matching(self.choices, self.text)
        self.complaint = ""

    def entries(self, width: int) -> Sequence[Line]:
        """What matches, and last what was typed."""
        widest = min(max((cell_width(visible(one.value)) for one in self.found), default=0), WIDEST_NAME, width // 2)
        lines = []
        for one in self.found:
            cells = LineBuilder().add(f" {fit(visible(one.value or '–'), widest)}  ", Role.TITLE)
            lines.append(cells.add(fit(clip(visible(one.about), width), max(0, width - cells.width)), Role.DIM).line())
        if self.text.strip():
            said = self.complaint or f"open `{visible(self.text.strip())}` as it is typed"
            lines.append(line((clip(f" {said}", width), Role.ERROR if self.complaint else Role.VALUE)))
        return lines

    def title_lines(self, width: int) -> tuple[Line, ...]:
        return (*wrap(line((f" {self.picking.title}", Role.TITLE)), width, " "), *super().title_lines(width))

    def keys(self) -> str:
        return f"↑ ↓ move · Enter takes it · Esc {'goes back' if self.picking.at else 'leaves'}"

    def choose(self, number: int | None) -> None:
        """Takes a choice, or what was typed where that can be."""
        if number is not None and number < len(self.found):
            self.answer(self.found[number].value)
        elif text := self.text.strip():
            self.complaint = self.picking.refused(text)
            if self.complaint:
                self.lines.draw_anew()
            else:
                self.answer(text)

    def answer(self, value: str) -> None:
        self.value = value
        self.dismiss(0)

    def take_key(self, event: events.Key) -> None:
        if event.key == "ctrl+c":
            self.app.exit(None)
        else:
            super().take_key(event)
            self.fit(self.app.size)


class FirstApp(KeyedApp[dict[str, str] | None], inherit_bindings=False):
    """Asks one question after the other; its result is what was picked, None where the user left."""

    def __init__(self, picking: Picking, keymap: Keymap, theme: str | None, in_ascii: bool = False) -> None:
        super().__init__(theme, in_ascii)
        self.picking = picking
        self.keymap = keymap

    def on_mount(self) -> None:
        self.ask()

    def ask(self) -> None:
        if not self.picking.question:
            self.exit(dict(self.picking.chosen))
            return
        question = Pick(self.picking, self.keymap, self.look)

        def answered(answer: int | None) -> None:
            after = self.picking.back() if answer is None else self.picking.picked(question.value)
            if after is None:
                self.exit(None)
            else:
                self.picking = after
                self.ask()

        self.push_screen(question, answered)
