"""The keys worth knowing in each pane, by the ids of their commands."""

from __future__ import annotations

from sftui.tui.contexts import ANY, DOCUMENT, FIGURES, FINDINGS, RECIPE

_FOOTERS: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    RECIPE: (
        (("recipe.previous", "recipe.next"), "change"),
        (("recipe.edit",), "edit"),
        (("recipe.reset",), "reset"),
        (("undo", "redo"), "undo/redo"),
        (("recipe",), "close"),
        (("help",), "help"),
    ),
    FINDINGS: (
        (("findings.tokens",), "tokens"),
        (("findings.preview",), "diff"),
        (("findings.apply",), "apply"),
        (("findings.explain",), "why"),
        (("findings.waive",), "waive"),
        (("findings.next",), "next row"),
        (("close",), "close"),
    ),
    FIGURES: (
        (("figures.down", "figures.up"), "finding"),
        (("figures.rows",), "rows"),
        (("figures.explain",), "why"),
        (("order",), "filter"),
        (("repairs",), "repairs"),
        (("figures",), "close"),
    ),
    DOCUMENT: (
        (("document.down", "document.up"), "scroll"),
        (("pane.cycle",), "next pane"),
        (("close",), "close"),
        (("row.previous", "row.next"), "row"),
        (("help",), "help"),
    ),
    ANY: (
        (("row.previous", "row.next"), "row"),
        (("zoom",), "zoom"),
        (("shift",), "shift"),
        (("search",), "search"),
        (("recipe",), "recipe"),
        (("help",), "help"),
    ),
}


def footer(context: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The at most seven entries of the footer: the commands whose keys are shown, and a word."""
    return _FOOTERS.get(context, _FOOTERS[ANY])
