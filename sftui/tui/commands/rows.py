"""Rows: which one is shown, and going to others."""

from __future__ import annotations

import re
from functools import partial

from sftui.errors import SftuiError
from sftui.model import Inspection, Stage
from sftui.recipe import Recipe
from sftui.text import many
from sftui.tui.commands import notes
from sftui.tui.commands.command import Command, both_ways
from sftui.tui.inspector import Inspector
from sftui.tui.state import Status
from sftui.views.cells import Role
from sftui.views.pairs import pair_figures
from sftui.views.strip import ends_of
from sftui.views.words import what_is_chosen

_NUMBER = re.compile(r"[+-]?\d{1,18}")
RELOADING = "reloading the data"
STOPPED = {
    Stage.ROW: "the row cannot be read",
    Stage.CONVERSATION: "the row has no conversation",
    Stage.RENDERED: "the chat template failed",
    Stage.TOKENS: "the row is not tokenized",
    Stage.LABELS: "the row has no labels",
}
"""What the first line says of a row that goes no further."""
PATIENCE = 0.15
"""Seconds the tokens of another row may stay on screen before the pane says that it waits."""


def step(here: Inspector, rows: int) -> None:
    """So many rows on, stopping at the ends."""
    go(here, here.panes.rows.following(here.state.row, rows))


ALONG = both_ways(
    step,
    Command("row.next", ("]",), "next row", "Rows", help="Show the next row.", counted=True),
    Command("row.previous", ("[",), "previous row", "Rows", help="Show the previous row.", counted=True),
)


@Command("row.last", ("G",), "last row", "Rows", counted=True, means="end")
def to_last(here: Inspector, count: int | None) -> None:
    """Go to the last row of the list, or with a count, to that row (12G)."""
    go(here, here.panes.rows.end if count is None else count)


@Command("row.goto", ("g",), "go to row", "Rows", counted=True)
def goto(here: Inspector, count: int | None) -> None:
    """Ask for a row number; 12g and :12 go there at once, gg goes to the first row of the list."""
    # The prompt for a row: a number, +n, -n, g for the first, $ for the last.
    if count is not None:
        go(here, count)
        return
    here.ask("row: a number, +5, -5, g first, $ last", partial(_answer, here), at_once=("g", "$", "G"))


def _answer(here: Inspector, text: str) -> None:
    text = text.replace(",", "").replace("_", "")
    if text in ("g", "$", "G"):
        go(here, here.panes.rows.row_at(0) if text == "g" else here.panes.rows.end)
    elif text and _NUMBER.fullmatch(text) is None:
        raise SftuiError(f"{text[:20]} is not a row number")
    elif text and text[0] in "+-":
        step(here, int(text))
    elif text:
        go(here, int(text))


@Command("reopen", ("D", "f5"), "reload the data", "Rows")
def reopen(here: Inspector, count: int | None) -> None:
    """Reload the data from disk, keeping the recipe, repairs, marks and position."""
    here.panes.rows.set_order(None)
    here.put(here.state.status._replace(order=""))
    here.workspace.reopen()
    here.say(RELOADING, Role.DIM)


# — going to a row —


def go(here: Inspector, row: int, *, hits: tuple[int, ...] | None = None, backwards: bool = False) -> None:
    """Shows a row; past the last one known, that one, and says so."""
    status, shown = here.state.status, here.panes.tokens.inspection
    if row > status.last:
        known = "the last row" if status.exact else "the last row found so far: the file is still being indexed"
        if status.exact and here.state.reading.damage:
            known = f"the last readable row: {here.state.reading.damage}"
        if row != status.row + 1 or status.row == status.last:
            here.say(f"row {status.last:,} is {known}", Role.DIM)
        row = status.last
    here.put(here.state.reading._replace(hits=hits, backwards=backwards))
    if row == status.row and shown is not None and hits is None:
        return
    if row != status.row and here.panes.rows.line_of(row) is None:
        here.say(f"row {row:,} is not in the list ({status.order}) · ] returns to it, Esc shows all rows", Role.DIM)
    here.put(_as_listed(here, status.at(row)))
    notes.say_own(here)
    here.workspace.request_row(row)
    here.set_timer(PATIENCE, here.drawing(lambda: _still_waiting(here, row)))


def _as_listed(here: Inspector, status: Status) -> Status:
    """With the figures of the row that the list has already: the status line is drawn once, not twice a row."""
    listed = None if status.side else here.panes.rows.figures(status.row)
    if listed is None or listed.dropped or listed.problem or listed.repaired:
        return status  # what to say of these is known once the row is open
    return status._replace(
        trained=listed.trained,
        total=listed.tokens,
        evaluates=listed.evaluates,
        verdict=listed.verdict,
        found=here.panes.rows.found(status.row),
        ends=listed.ends,
        pair=listed.pair,
    )


def _still_waiting(here: Inspector, row: int) -> None:
    shown = here.panes.tokens.inspection
    if here.state.row == row and (shown is None or shown.row.index != row):
        for pane in here.sides:
            pane.wait(row)


def show_figures(here: Inspector, inspection: Inspection, recipe: Recipe | None = None, side: str = "") -> None:
    """Figures of a row under a recipe, the one in force unless another is named, in the status line."""
    recipe = recipe or here.workspace.recipe
    table = here.panes.tokens.table
    stopped = ""
    if inspection.row.left_out is not None:
        stopped = "left out by a repair"
    elif inspection.dropped is not None:
        stopped = "the trainer drops this row"
    elif inspection.stopped_at is not None:
        stopped = STOPPED[inspection.stopped_at]
    total = inspection.received if inspection.received is not None else len(table) if table else None
    status = here.state.status._replace(
        rule=trainer_words(recipe, inspection),
        side=side,
        trained=inspection.trained,
        verdict=None if side else here.panes.rows.verdict(inspection.row.index),
        found=None if side else here.panes.rows.found(inspection.row.index),
        ends=ends_of(inspection),
        pair=pair_figures(inspection),
        total=total,
        stopped=stopped,
        evaluates=inspection.evaluates,
        repaired=_repaired(inspection, len(here.workspace.repairs)),
    )
    here.put(status)


def trainer_words(recipe: Recipe, inspection: Inspection | None = None) -> str:
    """Which trainer and release, and what they train; what `auto` comes to is seen in a row."""
    from sftui.trainers import traits_of

    name = " ".join(filter(None, (traits_of(recipe.preset).title, recipe.version)))
    return f"{name} · {what_is_chosen(recipe, inspection)}"


def _repaired(inspection: Inspection, repairs: int) -> str:
    """That the row is not as the file has it, or that other rows are not."""
    row = inspection.row
    if row.left_out is not None or row.repairs:
        return "*left out" if row.left_out is not None else "*repaired"
    if row.skipped is not None:
        return "!not repaired"
    return f"*{many(repairs, 'repair')}" if repairs else ""
