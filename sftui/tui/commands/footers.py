"""The keys worth knowing in each pane, by the ids of their commands."""

from __future__ import annotations

from sftui.tui.contexts import ANY, DOCUMENT, FIGURES, FINDINGS, LIST, RECIPE

Entry = tuple[tuple[str, ...], str]
HELP: Entry = (("help",), "help")
_ROWS: tuple[Entry, ...] = (
    (("row.previous", "row.next"), "row"),
    (("findings",), "findings"),
    (("figures",), "audit"),
    (("export",), "export"),
    (("search",), "search"),
    (("recipe",), "recipe"),
)
"""What the two panes share stands where it stood when the focus goes from one to the other."""
_FOOTERS: dict[str, tuple[Entry, ...]] = {
    RECIPE: (
        (("recipe.previous", "recipe.next"), "change"),
        (("recipe.edit",), "edit"),
        (("recipe.find",), "find"),
        (("recipe.reset",), "reset"),
        (("undo", "redo"), "undo/redo"),
        (("export",), "export"),
        (("recipe",), "close"),
    ),
    FINDINGS: (
        (("findings.tokens",), "tokens"),
        (("findings.preview",), "diff"),
        (("findings.apply",), "apply"),
        (("findings.explain",), "why"),
        (("findings.waive",), "ignore"),
        (("findings.next",), "next row"),
        (("close",), "close"),
    ),
    FIGURES: (
        (("figures.down", "figures.up"), "move"),
        (("figures.rows",), "rows"),
        (("figures.explain",), "why"),
        (("order",), "filter"),
        (("repairs",), "repairs"),
        (("figures",), "close"),
    ),
    DOCUMENT: (
        (("document.down", "document.up"), "scroll"),
        (("why.turn",), "train/mask"),
        (("compare.take",), "apply"),
        (("pane.cycle",), "next pane"),
        (("row.previous", "row.next"), "row"),
        (("close",), "close"),
    ),
    LIST: (*_ROWS, (("row_list.enter",), "open"), (("order",), "filter")),
    ANY: (*_ROWS, (("tokens.explain",), "open"), (("zoom",), "zoom"), (("shift",), "shift"), (("compare",), "compare")),
}


def footer(context: str) -> tuple[Entry, ...]:
    """The entries of the footer, what matters most first: the commands whose keys are shown, and a word. Help is always
    the last one."""
    return (*_FOOTERS.get(context, _FOOTERS[ANY]), HELP)
