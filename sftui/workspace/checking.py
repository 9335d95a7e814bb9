"""What is wrong with a row and with the set-up, and what would turn the label of a token over, for the panes."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sftui.session.deciding import decide
from sftui.session.opened import HEAVY, OpenData
from sftui.session.ready import Ready
from sftui.session.trial import with_cures
from sftui.workspace.events import FindingsReady, WhyReady
from sftui.workspace.requests import FindingsRequest, WhyRequest

if TYPE_CHECKING:
    from sftui.findings import Context, Finding

SETUP = "the set-up's findings"


def findings(session: OpenData, request: FindingsRequest, version: int) -> Iterator[FindingsReady | None]:
    """The row's findings at once, then with those of the set-up, which are worked out once a recipe, then with the
    cures of each that were tried and help."""
    whole = session.ready()
    context = whole.checks()
    found, waived = whole.sifted(whole.inspect(request.index))
    ready = FindingsReady(request.ticket, version, request.index, found, waived=waived, tried=False)
    known: tuple[tuple[Finding, ...], int] | None = context.memo.get(SETUP)
    if known is None:
        yield ready
        yield from (None for _ in _setup(whole, context))
        known = context.memo[SETUP]
    ready = replace(ready, setup=known[0], setup_waived=known[1])
    yield ready
    row = yield from _with_cures(whole, found)
    setup = yield from _with_cures(whole, known[0])
    yield replace(ready, findings=row, setup=setup, tried=True)


def why(session: OpenData, request: WhyRequest, version: int) -> Iterator[WhyReady | None]:
    """The ways of a token, once all recipes were tried on its row."""
    found = yield from decide(session.ready(), request.index, request.token)
    yield WhyReady(request.ticket, version, request.index, request.token, found.ways, found.failing)


def _with_cures(session: Ready, found: tuple[Finding, ...]) -> Generator[None, None, tuple[Finding, ...]]:
    made = []
    for finding in found:
        made.append((yield from with_cures(session, finding)))
    return tuple(made)


def _setup(session: Ready, context: Context) -> Iterator[None]:
    """Check the set-up with the first rows, a row at a time, and keep what was found in the context."""
    from sftui.findings import check_setup

    sample = []
    for row in session.sample:
        if row.size <= HEAVY:
            sample.append(session.inspect_row(row, text=False))
            yield None
    context.memo[SETUP] = session.sift(check_setup(context, sample))
