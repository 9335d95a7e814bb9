"""Who holds the keys, and what Esc closes."""

from __future__ import annotations

from sftui.tui.commands import compare, facets, filters, search, writing
from sftui.tui.commands.command import Command
from sftui.tui.contexts import FINDINGS, LIST, RECIPE, TOKENS
from sftui.tui.inspector import Inspector


@Command("pane.next", ("tab",), "next pane", "Move", counted=True)
def following(here: Inspector, count: int | None) -> None:
    """Focus the next pane; 2Tab focuses the second one."""
    if count is None:
        here.next_pane(1)
    else:
        here.pane_numbered(count)


@Command("pane.previous", ("shift+tab",), "previous pane", "Move")
def previous(here: Inspector, count: int | None) -> None:
    """Focus the previous pane."""
    here.next_pane(-1)


@Command("close", ("escape",), "close or cancel", "Move", means="close")
def close(here: Inspector, count: int | None) -> None:
    """Cancel input, a search or a filter; otherwise close the side pane."""
    # What Esc closes, innermost first: a search, a message, a pane alone, a pane; else back to the tokens.
    now = here.state.open
    if (
        filters.find_nothing(here)
        or facets.cancel(here)
        or search.cancel(here)
        or writing.cancel(here)
        or (now.context == LIST and filters.cancel(here))
    ):
        return
    if now.alone:
        here.put(now._replace(alone=False))
        return
    if now.view is None and compare.drop_preview(here):
        here.open_view(FINDINGS)
        return
    if now.view is not None and now.context != RECIPE:
        here.close_view()
    elif now.recipe or now.context != TOKENS or not filters.cancel(here):
        here.put(now._replace(recipe=False, context=TOKENS))
