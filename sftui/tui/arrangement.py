"""Which panes are seen at a size, and who of them holds the keys. Pure."""

from __future__ import annotations

from typing import NamedTuple

from sftui.tui.contexts import DOCUMENT, FIGURES, FINDINGS, LIST, RECIPE, TOKENS
from sftui.tui.state import Open

NARROW = 80
WIDE = 120
WIDEST = 160
"""From this width on a wide screen has room for the list, the recipe and two panes."""
TALL = 36
SIDES = (DOCUMENT, FINDINGS, FIGURES)
"""Who may hold the keys beside the tokens, or in their place."""


class Arrangement(NamedTuple):
    """The panes that are seen, from left to right and from above; a side pane stands beside the tokens, below them, or
    in their place."""

    narrow: bool
    wide: bool
    beside: bool
    below: bool
    panes: tuple[str, ...]

    def holder(self, context: str) -> str:
        """Who holds the keys where `context` should: the nearest one where that pane is hidden."""
        if context in self.panes:
            return context
        return next((one for one in SIDES if one in self.panes), TOKENS)


def arrange(what: Open, width: int, height: int) -> Arrangement:
    """The panes at a size in cells; the list gives way to the recipe where there is no room."""
    wide, roomy = width >= WIDE, width >= WIDEST
    beside = wide and not (what.recipe and not roomy)
    side = {None: None, FINDINGS: FINDINGS, FIGURES: FIGURES}.get(what.view, DOCUMENT)
    seen = {
        LIST: what.rows and (not what.recipe or roomy),
        RECIPE: what.recipe,
        TOKENS: what.view is None or beside or height >= TALL,
        DOCUMENT: side == DOCUMENT,
        FINDINGS: side == FINDINGS,
        FIGURES: side == FIGURES,
    }
    shown = tuple(name for name, on in seen.items() if on)
    return Arrangement(width < NARROW, wide, beside, not beside and height >= TALL, shown)
