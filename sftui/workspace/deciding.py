"""What would turn the label of a token over, for the card that says why it is trained or masked."""

from __future__ import annotations

from collections.abc import Iterator

from sftui.errors import SftuiError
from sftui.model import Problem
from sftui.session.deciding import decide
from sftui.session.opened import Opened
from sftui.workspace.events import WhyReady
from sftui.workspace.requests import WhyRequest


def why(session: Opened, request: WhyRequest, version: int) -> Iterator[WhyReady | None]:
    """The ways of a token, once all recipes were tried on its row."""
    try:
        found = yield from decide(session.ready(), request.index, request.token)
    except SftuiError as error:
        problem = Problem(error.what, error.why, error.fix)
        yield WhyReady(request.ticket, version, request.index, request.token, problem=problem)
        return
    yield WhyReady(request.ticket, version, request.index, request.token, found.ways, found.failing)
