"""The packed sequences that the rows from a place on fill, for the pack view."""

from __future__ import annotations

from collections.abc import Iterator

from sftui.model import Inspection
from sftui.session.opened import OpenData
from sftui.workspace.events import PacksReady
from sftui.workspace.requests import PacksRequest

MOST_ROWS = 1000
MOST_TOKENS = 65_536
"""A packing group of no more rows and tokens is packed whole, as `sftui encode` packs it."""


def packs(session: OpenData, request: PacksRequest, version: int) -> Iterator[PacksReady | None]:
    """Rows are prepared one at a time until they are a packing group, or many, and then packed as one."""
    ready = session.ready()
    ready.checks()
    recipe = ready.recipe
    made: list[Inspection] = []
    tokens, passed = 0, 0
    while tokens < MOST_TOKENS and len(made) < min(MOST_ROWS, recipe.pack.group or MOST_ROWS):
        index = request.start + len(made) + passed
        if ready.past_end(index):
            break
        inspection = ready.inspect_row(ready.row(index), spans=False)
        if made and inspection.evaluates != made[0].evaluates:  # rows that train and rows that evaluate never meet
            passed += 1
            yield None
            continue
        made.append(inspection)
        tokens += sum(len(one.input_ids) for one in inspection.examples)
        yield None
    yield PacksReady(request.ticket, version, *ready.packs(made), len(made))
