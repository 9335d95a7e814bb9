"""Who holds the keys, and what Esc closes."""

from __future__ import annotations

from sftui.tui.commands import compare, search, writing
from sftui.tui.commands.command import Command, both_ways
from sftui.tui.contexts import FINDINGS, RECIPE, TOKENS
from sftui.tui.inspector import Inspector

ALONG = both_ways(
    Inspector.next_pane,
    Command("pane.next", ("tab",), "next pane", "Move", help="Focus the next pane."),
    Command("pane.previous", ("shift+tab",), "previous pane", "Move", help="Focus the previous pane."),
)


@Command("close", ("escape",), "close or cancel", "Move", means="close")
def close(here: Inspector, count: int | None) -> None:
    """Cancel input or a search; otherwise close the side pane."""
    # What Esc closes, innermost first: a search, a message, a pane alone, a pane; else back to the tokens.
    if search.cancel(here) or writing.cancel(here):
        return
    now = here.state.open
    if now.alone:
        here.put(now._replace(alone=False))
        return
    if now.view is None and compare.drop_preview(here):
        here.open_view(FINDINGS)
        return
    if now.view is not None and now.context != RECIPE:
        here.close_view()
    else:
        here.put(now._replace(recipe=False, context=TOKENS))
