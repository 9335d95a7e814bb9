"""The views next to the tokens: what each shows of the row on screen, how it is drawn anew, and what follows it."""

from __future__ import annotations

from functools import partial

from sftui.model import Inspection
from sftui.text import visible
from sftui.tui.commands import batch, compare, figures, findings, why
from sftui.tui.contexts import BATCH, BOUNDARY, COMPARE, CONVERSATION, FIGURES, FINDINGS, PACKS, RAW, RENDERED, WHY
from sftui.tui.inspector import Inspector, View
from sftui.tui.panes.document_pane import HINT
from sftui.views.cells import Line, Role, line, text_lines


def _document(here: Inspector, name: str, keep: bool) -> None:
    """A view of one row."""
    inspection, pane = here.panes.tokens.inspection, here.pane_showing(name)
    hint = HINT if here.state.open.view == name else ""
    make = partial(_no_row, here) if inspection is None else partial(_lines, name, inspection)
    pane.show(name, make, keep=keep, hint=hint)


def _no_row(here: Inspector, width: int) -> tuple[Line, ...]:
    failure = here.panes.tokens.failure
    if failure is None:
        return (line((f"loading row {here.state.row:,} …", Role.DIM)),)
    return text_lines(f"✗ {visible(failure.sentence())}", width, Role.ERROR)


def _lines(name: str, inspection: Inspection, width: int) -> tuple[Line, ...]:
    from sftui.views.boundary import boundary_lines
    from sftui.views.panes import conversation_lines, raw_lines, rendered_lines

    views = {CONVERSATION: conversation_lines, RENDERED: rendered_lines, BOUNDARY: boundary_lines}
    return raw_lines(inspection.row, width) if name == RAW else views[name](inspection, width)


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
