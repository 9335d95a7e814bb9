"""What is picked before anything is open: data, a tokenizer, a trainer, in this order. Pure, no Textual."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sftui.errors import SftuiError
from sftui.session.at_hand import Choice, data_in, hub_cache, tokenizers_at_hand, trainers_at_hand

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

    @property
    def typed(self) -> str:
        """What may be typed instead."""
        return TITLES[self.question][1]

    def picked(self, value: str) -> Picking:
        """The next question; none after what brings all else with it."""
        chosen = {**self.chosen, self.question: value}
        whole = self.question == DATA and (value == DEMO or is_config(value))
        return Picking(self.asks, chosen, len(self.asks) if whole else self.at + 1)

    def back(self) -> Picking | None:
        """The question before; None before the first one."""
        return self._replace(at=self.at - 1) if self.at else None

    def choices(self, folder: Path) -> tuple[Choice, ...]:
        """What there is to pick from in a folder and on this disk."""
        if self.question == DATA:
            return (*data_in(folder), Choice(DEMO, "bundled rows with defects, and a tour of six steps"))
        if self.question == TOKENIZER:
            here = Path(self.chosen.get(DATA) or ".").parent
            folders = dict.fromkeys((here if here.is_dir() else Path(), Path()))
            return (*tokenizers_at_hand(folders, hub_cache()), Choice("", "none: the rows without their tokens"))
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


def is_config(value: str) -> bool:
    """Whether data of this name is a trainer's config."""
    from sftui.trainers.recognise import is_config

    return is_config(value)


def matching(choices: tuple[Choice, ...], text: str) -> tuple[Choice, ...]:
    """The choices that hold every word of a text, in their order."""
    words = text.casefold().split()
    return tuple(one for one in choices if all(word in f"{one.value} {one.about}".casefold() for word in words))
