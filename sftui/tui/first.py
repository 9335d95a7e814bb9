"""The first screen where nothing was named, or no tokenizer: lists to pick from, which follow what is typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from textual import events

from sftui.errors import SftuiError
from sftui.session.at_hand import Choice, data_in, hub_cache, left_before, tokenizers_at_hand, trainers_at_hand
from sftui.settings import UserSettings
from sftui.text import cell_width, clip, fit, has_words, visible
from sftui.tui.base import KeyedApp
from sftui.tui.commands.table import COMMANDS
from sftui.tui.dialogs import DialogAnswer
from sftui.tui.filter_dialog import FilterDialog
from sftui.tui.keys import Keymap, build_keymap
from sftui.views.cells import Line, LineBuilder, Role, line

DATA, TOKENIZER, TRAINER = "data", "tokenizer", "trainer"
DEMO = "sftui demo"
"""Picked as data: the bundled rows, with all that belongs to them."""
TITLES = {
    DATA: ("What do you want to look at?", "a path, a pattern, a URL or a Hub dataset"),
    TOKENIZER: ("Which tokenizer?", "a Hub name, a folder, a tokenizer.json or a .gguf"),
    TRAINER: ("Which trainer should it follow?", "NAME@VERSION"),
}


class Picking(NamedTuple):
    """`asks` are what is to be picked, `chosen` what is known by now, `at` which of `asks` is the question."""

    asks: tuple[str, ...]
    chosen: Mapping[str, str]
    at: int = 0

    @property
    def question(self) -> str:
        """What is to be picked now; empty where nothing is left."""
        return self.asks[self.at] if self.at < len(self.asks) else ""

    @property
    def title(self) -> str:
        """The question, and the how manieth it is."""
        many = f" ({self.at + 1} of {len(self.asks)})" if len(self.asks) > 1 else ""
        return TITLES[self.question][0] + many

    def picked(self, value: str) -> Picking:
        """The next question; none after what brings all else with it."""
        from sftui.trainers.recognise import is_config

        if self.question == DATA and value in (left := left_before()):
            value = left[value][0]
        chosen = {**self.chosen, self.question: value}
        whole = self.question == DATA and (value == DEMO or is_config(value))
        return Picking(self.asks, chosen, len(self.asks) if whole else self.at + 1)

    def back(self) -> Picking | None:
        """The question before; None before the first one."""
        return self._replace(at=self.at - 1) if self.at else None

    def choices(self, folder: Path) -> tuple[Choice, ...]:
        """What there is to pick from in a folder and on this disk."""
        if self.question == DATA:
            left = (choice for _, choice in left_before().values())
            return (*left, *data_in(folder), Choice(DEMO, "bundled rows with defects, and a six-step tour"))
        if self.question == TOKENIZER:
            here = Path(self.chosen.get(DATA) or ".").parent
            folders = dict.fromkeys((here if here.is_dir() else Path(), Path()))
            return (*tokenizers_at_hand(folders, hub_cache()), Choice("", "none: show rows without tokens"))
        return trainers_at_hand()

    def refused(self, value: str) -> str:
        """Why a typed value cannot be; empty where it may."""
        if self.question != TRAINER:
            return ""
        from sftui.trainers import preset

        try:
            preset(value)
        except SftuiError as error:
            return str(error)
        return ""


WIDEST_NAME = 44


class Pick(FilterDialog):
    """One question: letters filter what may be picked, what is typed may be taken as it is."""

    def __init__(self, asked: Picking, keymap: Keymap) -> None:
        self.asked = asked
        self.hint = f"type to filter, or {TITLES[asked.question][1]}"
        self.choices = asked.choices(Path())
        self.complaint = ""
        super().__init__(asked.title, self.entries, keymap)

    def matching(self, text: str) -> Sequence[Choice]:
        return tuple(one for one in self.choices if has_words(f"{one.value} {one.about}", text))

    def filtered(self) -> None:
        self.complaint = ""
        super().filtered()

    def entries(self, width: int) -> Sequence[Line]:
        """What matches, and last what was typed."""
        widest = min(max((cell_width(visible(one.value)) for one in self.found), default=0), WIDEST_NAME, width // 2)
        lines = []
        for one in self.found:
            cells = LineBuilder().add(f" {fit(visible(one.value or '–'), widest)}  ", Role.TITLE)
            lines.append(cells.add(fit(clip(visible(one.about), width), max(0, width - cells.width)), Role.DIM).line())
        if self.text.strip():
            said = self.complaint or f"open `{visible(self.text.strip())}` as typed"
            lines.append(line((clip(f" {said}", width), Role.ERROR if self.complaint else Role.VALUE)))
        return lines

    def keys(self) -> str:
        return f"↑ ↓ move · Enter selects · Esc {'goes back' if self.asked.at else 'leaves'}"

    def choose(self, number: int | None) -> None:
        """Takes a choice, or what was typed where that can be."""
        if number is not None and number < len(self.found):
            self.dismiss(self.found[number].value)
        elif text := self.text.strip():
            self.complaint = self.asked.refused(text)
            if self.complaint:
                self.lines.draw_anew()
            else:
                self.dismiss(text)

    def take_key(self, event: events.Key) -> None:
        if event.key == "ctrl+c":
            self.app.exit(None)
        else:
            super().take_key(event)
            self.fit(self.app.size)


class FirstApp(KeyedApp[dict[str, str] | None], inherit_bindings=False):
    """Asks one question after the other; its result is what was picked, None where the user left."""

    def __init__(self, picking: Picking, settings: UserSettings) -> None:
        super().__init__(settings)
        self.picking = picking
        self.keymap = build_keymap(COMMANDS, settings.keymap)

    def on_mount(self) -> None:
        self.ask()

    def ask(self) -> None:
        if not self.picking.question:
            self.exit(dict(self.picking.chosen))
            return

        def answered(answer: DialogAnswer) -> None:
            after = self.picking.picked(answer) if isinstance(answer, str) else self.picking.back()
            if after is None:
                self.exit(None)
            else:
                self.picking = after
                self.ask()

        self.push_screen(Pick(self.picking, self.keymap), answered)
