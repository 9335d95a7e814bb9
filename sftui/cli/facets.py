"""`sftui facets`: how often each value of a column, or of any expression, comes in the rows."""

from __future__ import annotations

import contextlib
from typing import Any

import click

from sftui.cli.loading import print_matches
from sftui.cli.opening import open_options
from sftui.cli.repair import opened_for
from sftui.cli.terminal import narrate
from sftui.cli.writing import Progress
from sftui.exports.records import as_json
from sftui.session.facets import Facets, needs_tokens
from sftui.text import many
from sftui.views.facets import facet_bar


def facets(of: str, top: int, form: str, **given: Any) -> int:
    """Print the most frequent values; 2 where there are no rows."""
    with contextlib.closing(opened_for(open_options(given), needs_tokens(of), unread=True)) as session:
        counted = Facets(session, of)
        progress = Progress(session.count_now())
        for row in session.rows():
            counted.add(row)
            progress.at(counted.rows)
        progress.end()
        print_matches(session)
    narrate(*counted.sentences())
    found = counted.most(top)
    left = counted.different - len(found)
    if form == "json":
        values = [{"value": one.shown, "rows": one.rows, "where": one.where or None} for one in found]
        unknown = dict(counted.unknown)
        click.echo(as_json({"of": of, "rows": counted.rows, "different": counted.different, "values": values,
                            "no_value": unknown}))  # fmt: skip
    else:
        for one in found:
            click.echo(f"{facet_bar(one.rows, found[0].rows, counted.rows)} {one.shown}")
        if left:
            click.echo(f"… and {many(left, 'more value')} (--top N prints more)")
    return 0 if counted.rows else 2
