"""The waste of the whole dataset: a length limit and a strategy are chosen in its table, and put into the recipe.

The worker goes through all rows while the view is open; once they are known, another recipe takes no second pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from sftui.model import RecipeChange
from sftui.recipe import with_changes
from sftui.tui.commands.command import Command
from sftui.tui.contexts import DOCUMENT, WASTE
from sftui.tui.inspector import Inspector
from sftui.tui.state import StatusMessage, unless
from sftui.views.cells import Line, Role, line
from sftui.views.status import problem_lines
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

T = TypeVar("T")
HINT = "← → length · ↑ ↓ strategy · Enter applies"


@Command("waste", ("O w",), "waste and cuts", "Look")
def open_view(here: Inspector, count: int | None) -> None:
    """Show padding, steps, cut answers and lost rows of the whole dataset, for length limits and packing strategies."""
    here.open_view(WASTE)


def show(here: Inspector, name: str, keep: bool) -> None:
    """It is of no row."""
    if here.state.wasted.ticket is None:
        here.put(here.state.wasted._replace(ticket=here.workspace.ask(rq.WasteRequest)))
    paint(here, name, keep)


def paint(here: Inspector, name: str, keep: bool = True) -> None:
    here.panes.document.show(name, partial(lines, here), keep=keep, hint=HINT)


def closed(here: Inspector) -> None:
    """The rows are still gone through; of the table nothing is worked out that nobody sees, and what is known stays."""
    now = here.state.wasted
    if now.ticket is not None and now.answer is not None and now.answer.table is not None:
        here.workspace.cancel(now.ticket)
        here.put(here.state.wasted._replace(ticket=None))


def on_answer(here: Inspector, event: ev.WasteReady) -> None:
    if event.ticket == here.state.wasted.ticket:
        here.put(here.state.wasted.answered(event, here.workspace.recipe.length.max))
        here.paint_view(WASTE)


def lines(here: Inspector, width: int) -> tuple[Line, ...]:
    """How far the pass is, or the table."""
    from sftui.views.waste import chosen_lines

    now = here.state.wasted
    if now.answer is not None and now.answer.problem is not None:
        return problem_lines(now.answer.problem, width)
    if now.answer is None or now.answer.table is None:
        done, total = (0, None) if now.answer is None else (now.answer.rows, now.answer.total)
        of = "" if total is None else f" of {total:,}"
        return (line((f"measuring all rows … {done:,}{of}", Role.DIM)),)
    return chosen_lines(now.answer.table, width, now.strategy, now.limit, here.workspace.recipe.length.max)


def choose(here: Inspector, *, limits: int = 0, strategies: int = 0) -> None:
    """So many limits, or strategies, on (back)."""
    now = here.state.wasted
    table = now.answer.table if now.answer is not None else None
    if table is not None and table.limits:
        limit = _on(table.limits, now.limit, limits)
        here.put(now._replace(limit=limit, strategy=_on(table.strategies, now.strategy, strategies)))
        here.paint_view(WASTE)


def _on(names: Sequence[T], now: T, steps: int) -> T:
    return names[max(0, min(names.index(now) + steps, len(names) - 1))]


def _not_chosen(here: Inspector) -> StatusMessage | None:
    """Why there is no limit to apply."""
    if here.state.open.view != WASTE:
        return StatusMessage("Enter applies a limit in the waste table; O w opens it", Role.DIM)
    return unless(here.state.wasted.limit, "still measuring the rows; try again in a moment")


@Command("waste.apply", ("enter",), "apply the limit", "Recipe", DOCUMENT, when=_not_chosen, means="enter")
def apply(here: Inspector, count: int | None) -> None:
    """In the waste table, put the chosen limit and packing into the recipe; u undoes it."""
    from sftui.audit.waste import GROUPED
    from sftui.session.waste import packing_changes

    now, recipe = here.state.wasted, here.workspace.recipe
    wanted = {**dict(packing_changes(recipe, now.strategy)), "length.max": now.limit}
    changed = here.workspace.set_recipe(
        with_changes(recipe, (RecipeChange(path, None, to) for path, to in wanted.items()))
    )
    if not changed:
        here.say("the recipe already has this setting", Role.DIM)
        return
    sampler = " (the sampler groups by length: set that in the trainer's config)" * (now.strategy == GROUPED)
    said = ", ".join(f"{path} = {value}" for path, value in wanted.items())
    here.say(f"applied: {said}{sampler} · u undoes it, x exports")
