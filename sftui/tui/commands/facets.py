"""The values of a column with how many rows have each, and the rows that have one."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sftui.text import many
from sftui.tui.commands import filters
from sftui.tui.commands.command import Command
from sftui.tui.inspector import Inspector
from sftui.views.cells import Role
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

OWN = (
    ("roles", "the roles of each conversation"),
    ("turns", "the number of messages"),
    ("outcome", "what happens to the row: trained, dropped, failed, …"),
    ("codes", "the findings of each row, by code"),
    ("marked", "your review marks"),
)
EXPRESSION = ("…", 'another expression, e.g. data["meta"]["language"]')


@Command("facets", ("V",), "values of a column", "Rows")
def pick(here: Inspector, count: int | None) -> None:
    """Count the values of a column or expression in the rows that are listed; Enter lists the rows of one."""
    values: dict[str, list[Any]] = {}
    for row in here.workspace.sample:
        for key, value in (row.data or {}).items():
            values.setdefault(_expression(str(key)), []).append(value)
    entries = [*((name, "a key of the rows") for name in values), *OWN]
    entries = [*sorted(entries, key=lambda entry: _tells_little(values.get(entry[0], ()))), EXPRESSION]
    here.pick("count the values of", entries, lambda number: _picked(here, entries[number][0]))


def _tells_little(values: Sequence[Any]) -> bool:
    """Whether each value of a key of the first rows comes once, or is a list or an object."""
    held = any(isinstance(value, (list, Mapping)) for value in values)
    return held or 1 < len(values) == len(set(map(repr, values)))


def _expression(key: str) -> str:
    """What names a key of the record in an expression."""
    from keyword import iskeyword

    from sftui.where import FUNCTIONS, NAMES

    plain = key.isidentifier() and not iskeyword(key) and key not in NAMES and key not in FUNCTIONS
    return key if plain else f"data[{json.dumps(key)}]"


def _picked(here: Inspector, text: str) -> None:
    if text == EXPRESSION[0]:
        here.ask("count the values of (e.g. len(messages) or lower(source))", partial(start, here))
    else:
        start(here, text)


def start(here: Inspector, text: str) -> None:
    """Count the values of an expression in the rows that are listed; RecipeError for what is none."""
    from sftui.where import Filter

    Filter(text)
    now, marks = here.state.filtering, here.state.kept.marks.kinds()
    cancel(here)
    ticket = here.workspace.ask(rq.FacetsRequest, text, marks, _listed(here))
    here.put(now._replace(counting=ticket))
    here.say("counting … Esc cancels", Role.DIM)


def cancel(here: Inspector) -> bool:
    """Gives the count up; False where none runs."""
    now = here.state.filtering
    if now.counting is None:
        return False
    here.workspace.cancel(now.counting)
    here.put(now._replace(counting=None))
    here.say("counting cancelled", Role.DIM)
    return True


def on_counted(here: Inspector, event: ev.FacetsCounted) -> None:
    """How far it is; the list of values once all rows are counted."""
    now = here.state.filtering
    if event.ticket != now.counting:
        return
    if event.problem is not None:
        here.put(now._replace(counting=None))
        here.say(event.problem.sentence(), Role.ERROR)
    elif not event.done:
        here.say(f"counting … {event.searched:,} rows, Esc cancels", Role.DIM)
    else:
        from sftui.views.facets import facet_bar

        here.put(now._replace(counting=None))
        here.say("; ".join(event.sentences))
        most = event.values[0].rows if event.values else 0
        entries = [(facet_bar(one.rows, most, event.searched), one.shown) for one in event.values]
        left = f" · … and {many(event.different - len(entries), 'more value')}" * (event.different > len(entries))
        title = f"{event.sentences[0]}{left} · Enter lists its rows"
        if entries:
            here.pick(title, entries, lambda number: _list(here, event.values[number].where))


def _listed(here: Inspector) -> array[int] | None:
    """The rows of the list, in file order; None where it has all."""
    order = here.panes.rows.order
    return None if order is None else array("L", sorted(order))


def _list(here: Inspector, where: str) -> None:
    """List the rows that have a value, of those that are listed."""
    among = here.state.filtering.text
    if not where:
        here.say("no expression can name this value: it is too long, or an object", Role.WARNING)
        return
    listed = _listed(here) if here.state.audited.listed else None
    filters.start(here, f"({among}) and {where}" if among else where, listed)
