"""Where keys work: the panes that may hold them, a dialog, and anywhere."""

from __future__ import annotations

ANY = "anywhere"
TOKENS = "tokens"
LIST = "row list"
RECIPE = "recipe"
OTHER_SIDE = "other side"
"""The tokens of the side of a preference that has not the cursor: with the keys, it has."""
FINDINGS = "findings"
FIGURES = "figures"
DOCUMENT = "other panes"
DIALOG = "dialog"
CONTEXTS = (ANY, TOKENS, LIST, RECIPE, FINDINGS, FIGURES, DOCUMENT, DIALOG)
"""A pane's own commands win over those that work anywhere; a dialog knows only its own."""

CONVERSATION, RENDERED, RAW, BOUNDARY = "conversation", "rendered text", "raw row", "prompt boundary"
CONVERSATION_PANE = "conversation pane"
"""The conversation that stands next to the tokens on a wide screen: a pane of its own, with the keys of other panes."""

BATCH, PACKS, COMPARE, WASTE, WHY = "batch", "packs", "compare", "waste", "why"
"""What the document pane shows; findings and figures are views with a pane of their own."""
HOLDERS = {FINDINGS: FINDINGS, FIGURES: FIGURES, WHY: TOKENS}
"""Who gets the keys with a view that is opened, where that is not the document pane; the card of a token leaves them to
the tokens."""
COMMAND_OF = {
    **{RECIPE: "recipe", FINDINGS: "findings", FIGURES: "figures", CONVERSATION: "pane.conversation"},
    **{
        RENDERED: "pane.rendered",
        RAW: "pane.raw",
        BOUNDARY: "boundary",
        BATCH: "batch",
        PACKS: "packs",
        WASTE: "waste",
    },
    **{COMPARE: "compare", WHY: "tokens.explain", "rows": "list.toggle", "text": "zoom"},
    **{"columns": "zoom", "tokens": "zoom", "chosen": "side", "rejected": "side"},
}
"""The command that leads to what a title names."""
CYCLE = (CONVERSATION, RENDERED, RAW, None)
"""The views that come in turn, and none again."""


def keys_of(pane: str) -> str:
    """Whose keys work while a pane holds them."""
    return DOCUMENT if pane == CONVERSATION_PANE else pane
