"""`sftui waste`: what length limits and packing strategies cost over the whole dataset."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, replace
from typing import Any

import click

from sftui.cli.loading import DataNotes, loaded_session, print_matches
from sftui.cli.opening import open_options
from sftui.cli.terminal import narrate, terminal_width
from sftui.cli.writing import Progress
from sftui.errors import RecipeError
from sftui.exports.records import as_json
from sftui.session.opened import settle_split
from sftui.session.waste import sizes_of, waste_lines, waste_table
from sftui.views import waste as views
from sftui.views.cells import plain


def waste(lengths: str | None, strategies: tuple[str, ...], form: str, width: int | None, **given: Any) -> int:
    """Print the table; 2 where no line of it is known."""
    with contextlib.closing(loaded_session(open_options(given))) as session:
        notes = DataNotes(session)
        notes.print()
        split = settle_split(session)
        if split.note:
            narrate(f"{split.note}; figures cover all rows")
        progress = Progress(session.count_now())
        for sizes in sizes_of(session):
            progress.at(len(sizes.rows))
        table = waste_table(session, sizes, _numbers(lengths), strategies)
        for step in waste_lines(session, sizes, table):
            table = replace(table, lines=(*table.lines, step()))
            progress.at(len(sizes.rows), f", {len(table.lines)} of {len(table.strategies) * len(table.limits)} lines")
        progress.end()
        notes.print()
        own = session.recipe.length.max
    print_matches(session)
    if form == "json":
        click.echo(as_json(asdict(table)))
    else:
        click.echo(plain(views.waste_lines(table, width or terminal_width(), own=own)))
    return 0 if any(not line.unknown for line in table.lines) else 2


def _numbers(lengths: str | None) -> tuple[int, ...]:
    """The lengths of an option."""
    try:
        return tuple(int(one) for one in (lengths or "").replace("_", "").split(",") if one.strip())
    except ValueError:
        raise RecipeError(f"--lengths {lengths} is not a list of numbers", fix="give e.g. 1024,2048,4096") from None
