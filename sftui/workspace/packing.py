"""The packed sequences that the rows from a place on fill, for the pack view."""

from __future__ import annotations

from collections.abc import Iterator

from sftui.errors import SftuiError
from sftui.model import Inspection, Problem
from sftui.workspace.events import PacksReady
from sftui.workspace.requests import PacksRequest
from sftui.workspace.session import Session

FULL = 4
"""Packs' worth of tokens after which no more rows are taken: what a screen can show."""
MOST_ROWS = 512
MOST_TOKENS = 65_536


def packs(session: Session, asked: PacksRequest, version: int) -> Iterator[PacksReady | None]:
    """Rows are prepared one at a time until they fill some packs, and then packed as one group."""
    try:
        session.checks()
    except SftuiError as error:
        yield PacksReady(asked.ticket, version, problem=Problem(error.what, error.why, error.fix))
        return
    recipe = session.recipe
    enough = min(FULL * (recipe.length.max or MOST_TOKENS), MOST_TOKENS)
    made: list[Inspection] = []
    tokens = 0
    while tokens < enough and len(made) < min(MOST_ROWS, recipe.pack.group or MOST_ROWS):
        index = asked.start + len(made)
        if session.past_end(index):
            break
        inspection = session.inspect_row(session.row(index), spans=False)
        made.append(inspection)
        if inspection.example is not None:
            tokens += sum(len(one.input_ids) for one in (inspection.example, *inspection.more))
        yield None
    try:
        found, batch = session.packs(made)
    except SftuiError as error:
        yield PacksReady(asked.ticket, version, rows=len(made), problem=Problem(error.what, error.why, error.fix))
        return
    yield PacksReady(asked.ticket, version, found, batch, len(made))
