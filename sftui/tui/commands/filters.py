"""The row list with only the rows for which an expression is true, as the worker finds them; Esc shows all again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sftui.text import visible
from sftui.tui.commands import rows
from sftui.tui.commands.command import Command
from sftui.tui.contexts import FIGURES, FINDINGS, RECIPE
from sftui.tui.inspector import Inspector
from sftui.tui.state import FilterState
from sftui.views.cells import Role
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

RUNNING = "filtering … "


@Command("filter", ("&",), "filter by expression", "Rows")
def ask(here: Inspector, count: int | None) -> None:
    """List only rows for which an expression is true, e.g. len(messages) > 4; Esc lists all rows again."""
    label = "rows where (e.g. len(messages) > 4 and trained < 0.2; empty lists all rows)"
    here.ask(label, partial(_answer, here), value=here.state.filtering.text, raw=True)


def _answer(here: Inspector, text: str) -> None:
    if text.strip():
        start(here, text)
    else:
        cancel(here)


def start(here: Inspector, text: str, listed: Sequence[int] | None = None) -> None:
    """List the rows that match, of all or of those that F `listed`, as they are found; RecipeError for what is no
    expression."""
    from sftui.where import Filter

    wanted = Filter(text)
    by = here.state.audited.listed if listed is not None else ""
    forget(here)
    marks = here.state.kept.marks.kinds() if wanted.marks else {}
    ticket = here.workspace.ask(rq.FilterRequest, wanted.text, marks, listed)
    here.put(FilterState(wanted.text, ticket), here.state.audited._replace(listed=by))
    here.say(f"{RUNNING}Esc cancels", Role.DIM)


def forget(here: Inspector) -> None:
    """Other rows are listed than those that match."""
    here.workspace.cancel(here.state.filtering.ticket)
    here.put(FilterState(), here.state.audited._replace(listed="", after=None))


def cancel(here: Inspector) -> bool:
    """Lists all rows again; False where they are listed, and not being filtered."""
    if not here.state.filtering.text and here.panes.rows.order is None:
        return False
    list_all(here)
    return True


def list_all(here: Inspector) -> None:
    """Every row, without filter or order."""
    forget(here)
    here.put(here.state.status._replace(order=""))
    here.panes.rows.set_order(None)
    here.say("every row, in file order", Role.DIM)


# — a list by the words of what is in it —


def _find(here: Inspector, count: int | None) -> None:
    """The list follows what is typed; Enter goes on in it."""
    pane = here.by_context[here.state.open.context]
    label = "list only lines with these words; Enter keeps them, Esc lists all"
    here.ask(label, pane.set_filter, value=pane.filter, raw=True, typed=pane.set_filter)


FINDS = tuple(
    Command(f"{context}.find", ("/",), f"find {what}", "Search", context, words, run=_find, means="search")
    for context, what, words in (
        (RECIPE, "a knob", "List only knobs with the words you type: name, config key, meaning or value."),
        (FINDINGS, "a finding", "List only findings with the words you type; Esc lists all again."),
        (FIGURES, "a figure", "List only findings and figures with the words you type; Esc lists all again."),
    )
)


def find_nothing(here: Inspector) -> bool:
    """Lists all that the pane has again; False where it is not filtered."""
    pane = here.by_context[here.state.open.context]
    if not pane.filter:
        return False
    pane.set_filter("")
    return True


def on_matched(here: Inspector, event: ev.RowsMatched) -> None:
    """More rows match: the list shows them, too; the first of them is opened once."""
    now, pane = here.state.filtering, here.panes.rows
    if event.ticket != now.ticket:
        return
    if event.problem is not None:
        here.say(event.problem.sentence(), Role.ERROR)
        return
    before, ours = now, here.state.said.text.startswith(RUNNING)
    now = now.with_rows(event)
    here.put(now)
    if now.rows:
        ending = "" if event.done else " …"
        here.put(here.state.status._replace(order=f"{len(now.rows):,} match{ending}"))
        if before.rows and event.first:
            pane.rebuild()  # rows were added to the end of the order
        else:
            pane.set_order(now.rows, ascending=True)
        if not before.opened:
            here.put(now._replace(opened=True))
            if pane.line_of(here.state.row) is None:
                rows.go(here, now.rows[0])
    elif event.done:
        list_all(here)
    if event.done and (ours or not before.opened):
        here.say(visible(f"{event.sentence} · ] [ next and previous, Esc all rows" if now.rows else event.sentence))
    elif ours:
        here.say(f"{RUNNING}{event.searched:,} rows, {len(now.rows):,} match, Esc cancels", Role.DIM)
