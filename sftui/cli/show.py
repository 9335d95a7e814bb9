"""`sftui show`: one row, printed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import click

from sftui.cli.loading import DataNotes, loaded_session, print_stops
from sftui.cli.opening import open_options
from sftui.cli.terminal import narrate, terminal_width
from sftui.errors import SourceError
from sftui.exports.records import as_json, records, shift_record
from sftui.model import SIDES, Inspection, Row
from sftui.recipe import Recipe
from sftui.session.opened import PREPARED, settle_split
from sftui.session.ready import Ready
from sftui.text import share, visible
from sftui.views.cells import line, plain, wrap
from sftui.views.draw import draw_all
from sftui.views.grid import GridState, Zoom
from sftui.views.layout import lay_out
from sftui.views.pairs import pair_figures, pair_words, parting, side_words
from sftui.views.table import TokenTable, make_table, weighted_tokens
from sftui.views.words import EVALUATES, convention, evaluation_words, shift_warning, why_stopped
from sftui.where import FilterCount

PATIENCE = 10.0
"""Seconds in which data is looked through for what decides how its rows are read, before one of them is shown."""
LINES_AT_ONCE = 1_000
"""Lines held and written together: a row may have millions of tokens, and each write is a call of the system."""


def show(row: int, shift: bool, view: str, form: str, explain: bool, width: int | None, **given: Any) -> int:
    """Print one row; 2 where there is no such row or it cannot be prepared."""
    told = not (explain and form == "text")
    with contextlib.closing(
        loaded_session(open_options(given, row), unread=True, notes=told, seconds=PATIENCE)
    ) as session:
        notes = DataNotes(session)
        notes.look()
        only = session.only
        found = session.one_row(row) if only is None else first_match(session, only, row)
        split = settle_split(session, PREPARED)
        inspection = session.inspect_row(found)
        recipe = session.recipe
        notes.print()
        if split.note:
            narrate(split.note + "; `sftui encode` marks them" * split.later)
        stops = print_stops([session])
    if form == "json":
        pre_shifted = inspection.example is not None and inspection.example.shifted
        for made in records(inspection, explain)[: len(inspection.sides)]:
            click.echo(as_json(shift_record(made) if shift and not pre_shifted else made))
    else:
        lines = text_lines(inspection, recipe, view, shift, explain, width or terminal_width())
        while some := [line.rstrip() for line in islice(lines, LINES_AT_ONCE)]:
            click.echo("\n".join(some))
    return 2 if inspection.problem is not None or stops else 0


def first_match(session: Ready, only: FilterCount, start: int) -> Row:
    """The first row from `start` on for which the expression is true; SourceError where there is none."""
    found = next(session.rows(start), None)
    if found is None:
        raise SourceError(f"no row matches from row {start} on", why="; ".join(only.sentences()))
    return found


def text_lines(
    inspection: Inspection, recipe: Recipe, view: str, shift: bool, explain: bool, width: int
) -> Iterator[str]:
    """The row as lines of visible text, at most `width` cells wide where that is possible."""

    def wrapped(text: str) -> Iterator[str]:
        yield from plain(wrap(line(visible(text)), width)).splitlines()

    yield from wrapped(_head(inspection, recipe))
    for sentence in (why_stopped(inspection), evaluation_words(inspection)):
        if sentence:
            yield from wrapped(sentence)
    if shift:
        yield from wrapped(shift_warning(recipe.loss.shift) or convention(recipe.loss.shift))
    if explain:
        for note in inspection.notes:
            yield from wrapped(note)
    state = GridState(zoom=Zoom(view), shift=shift, cursor=-1, width=width, height=1)
    before: TokenTable | None = None
    for name, side in zip(SIDES, inspection.alone):
        # A script looks for `<|im_end|>`, not for the screen's tag, and for what spans lines.
        table = make_table(side, ignore_index=recipe.mask.ignore_index, tags=False)
        yield ""
        if inspection.rejected is not None:
            yield from wrapped(f"{name}: {side_words(side)}")
        if table is None:
            if side.rendered is not None or side.problem is not None:
                yield from wrapped(side.rendered.text if side.rendered is not None else side.row.raw)
            continue
        layout, alike = lay_out(table, state.zoom, shift, width, roles=False), 0
        if before is not None and (alike := parting(before, table)):
            yield from wrapped(f"tokens 0 to {alike - 1:,} are those of {SIDES[0]}")
        top = layout.band_of(max(alike - shift, 0)) if alike else 0
        yield from ("".join(run.text for run in drawn) for drawn in draw_all(table, layout, replace(state, top=top)))
        before = table


def _head(inspection: Inspection, recipe: Recipe) -> str:
    parts, pair = [f"row {inspection.row.index}", recipe.preset], pair_figures(inspection)
    if inspection.dropped is not None:
        parts.append(f"dropped: {inspection.dropped}")
    elif inspection.evaluates:
        parts.append(EVALUATES)
    elif pair is not None and pair.scored:
        parts.append("one score for each side")
    elif inspection.received is not None:
        total = inspection.received
        part = f" ({share(inspection.trained, total)})" if total else ""
        parts.append(f"{inspection.trained:,} of {total:,} trained{part}")
        weighted = sum(map(weighted_tokens, inspection.examples))
        if weighted:
            parts.append(f"{weighted:,} with a weight other than 1")
    if pair is not None:
        parts.append(pair_words(pair))
    return " · ".join(parts)
