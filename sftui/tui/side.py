"""The views next to the tokens: what each shows of the row on screen, how it is drawn anew, and what follows it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from sftui.model import Inspection
from sftui.text import visible
from sftui.tui.commands import batch, compare, figures, findings, why
from sftui.tui.contexts import BATCH, BOUNDARY, COMPARE, CONVERSATION, FIGURES, FINDINGS, PACKS, RAW, RENDERED, WHY
from sftui.tui.inspector import Inspector
from sftui.tui.panes.document_pane import HINT
from sftui.views.cells import Line, Role, line, wrap

Show = Callable[[Inspector, str, bool], None]
"""Shows a view by its name; True: where the reader is."""


class View(NamedTuple):
    """`show` it for the row on screen, `paint` it once something else is known; `closed` gives the view that is opened
    in its place, None for none."""

    show: Show
    paint: Show
    closed: Callable[[Inspector], str | None] = lambda here: None


def _document(here: Inspector, name: str, keep: bool) -> None:
    """A view of one row."""
    inspection, pane = here.panes.tokens.inspection, here.pane_showing(name)
    hint = HINT if here.state.open.view == name else ""
    if inspection is None:
        pane.show(name, partial(_no_row, here), keep=keep, hint=hint)
    else:
        pane.show(name, lambda width: _lines(name, inspection, width), keep=keep, hint=hint)


def _no_row(here: Inspector, width: int) -> tuple[Line, ...]:
    failure = here.panes.tokens.failure
    if failure is None:
        return (line((f"loading row {here.state.row:,} …", Role.DIM)),)
    return tuple(wrap(line((f"✗ {visible(failure.sentence())}", Role.ERROR)), width))


def _lines(name: str, inspection: Inspection, width: int) -> tuple[Line, ...]:
    from sftui.views.boundary import boundary_lines
    from sftui.views.panes import conversation_lines, raw_lines, rendered_lines

    views: dict[str, Callable[[Inspection, int], tuple[Line, ...]]] = {
        CONVERSATION: conversation_lines,
        RENDERED: rendered_lines,
        BOUNDARY: boundary_lines,
        RAW: lambda inspection, width: raw_lines(inspection.row, width),
    }
    return views[name](inspection, width)


def _comparison_closed(here: Inspector) -> str | None:
    """The finding that it previewed is shown again; where the tokens under B are to be seen, nothing ends."""
    compare.stop_counting(here)
    return FINDINGS if not here.state.compared.peeking and compare.drop_preview(here) else None


VIEWS = {
    **{name: View(_document, _document) for name in (CONVERSATION, RENDERED, RAW, BOUNDARY)},
    FINDINGS: View(findings.show, findings.show),
    WHY: View(why.show, why.paint, why.closed),
    COMPARE: View(compare.show, compare.paint, _comparison_closed),
    BATCH: View(batch.show, batch.paint),
    PACKS: View(batch.show, batch.paint),
    FIGURES: View(figures.show, figures.paint),
}
