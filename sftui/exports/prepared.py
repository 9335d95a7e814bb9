"""What an export needs to know besides the recipe, and the sentence that every exported file begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sftui.conversations import Detection
from sftui.errors import ExportError
from sftui.model import Row
from sftui.recipe import Recipe, diff
from sftui.sources.source import UNKNOWN, Loading
from sftui.tokens import TokenizerFacts
from sftui.trainers.config import OpenedConfig

LONGEST = 60


@dataclass(frozen=True, slots=True)
class ExportInput:
    """What an export needs to know besides the recipe.

    `detected` is how rows are read, `loading` how others load them, `template_source` the chat
    template in force as text where it is not the tokenizer's own. `config` is the trainer's own
    config where one was opened; `plainly` is how rows are read by no trainer's rules, which is what
    another trainer's config is written from. `repairs` are chosen and lie over the rows; `repaired`
    is the file that has them; `sample` holds the first rows. `ranges` are the rows that a part of a
    split takes of its files. `chosen` are the knobs that the user set. Missing parts are None.
    """

    paths: tuple[str, ...]
    split: str | None = None
    ranges: tuple[tuple[int, int | None], ...] | None = ()
    subset: str | None = None
    data_revision: str | None = None
    loading: Loading = UNKNOWN
    detected: Detection | None = None
    tokenizer: TokenizerFacts | None = None
    template_source: str | None = None
    config: OpenedConfig | None = None
    plainly: Detection | None = None
    repairs: tuple[str, ...] = ()
    repaired: str | None = None
    sample: tuple[Row, ...] = ()
    chosen: frozenset[str] = frozenset()

    def reading(self) -> Detection:
        """How rows are read; ExportError while the data is not open."""
        if self.detected is None:
            raise ExportError("the data is not open yet", fix="try again when the first row is shown")
        return self.detected

    def facts(self) -> TokenizerFacts:
        """What is known of the tokenizer; ExportError while it is not loaded."""
        if self.tokenizer is None:
            raise ExportError("the tokenizer is not loaded yet", fix="try again when tokens are shown")
        return self.tokenizer


def correction_line(recipe: Recipe, base: Recipe) -> str:
    """One line of plain ASCII-safe text: what was corrected against the starting recipe."""
    changes = diff(base, recipe)
    if not changes:
        return "sftui: no changes to the starting recipe"
    listed = ", ".join(f"{c.path} {_short(c.before)} -> {_short(c.after)}" for c in changes)
    return f"sftui: changes to the starting recipe: {listed}"


def _short(value: Any) -> str:
    """A value on one line, whatever it holds: it ends up in a comment of a script."""
    text = "null" if value is None else value if isinstance(value, str) else repr(value)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
