"""Drawing the grid: only the bands in view, whatever the length of the row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from sftui.views.cells import Line, Role, crop, line
from sftui.views.columns import draw_band
from sftui.views.flow import draw_flow, draw_row, row_header
from sftui.views.grid import GridState, Layout, Zoom
from sftui.views.table import TokenTable

NO_TOKENS = "no tokens"


def draw(table: TokenTable | None, layout: Layout, state: GridState) -> tuple[Line, ...]:
    """The lines of the pane, top to bottom, `state.height` at most; O(what is seen).

    The rows zoom gives its first line to the names of its columns.
    """
    return tuple(islice(draw_all(table, layout, state), state.height))


def draw_all(table: TokenTable | None, layout: Layout, state: GridState) -> Iterator[Line]:
    """Every line from the first band in view on, however many, each drawn on request."""
    if table is None or not layout.count:
        yield crop(line((NO_TOKENS, Role.DIM)), layout.width)
        return
    if layout.header:
        yield row_header(table, layout)
    for band in range(state.top, layout.bands):
        yield from draw_lines(table, layout, state, band)


def draw_lines(table: TokenTable, layout: Layout, state: GridState, band: int) -> tuple[Line, ...]:
    """The `layout.band_height` lines of one band."""
    if layout.zoom is Zoom.COLUMNS:
        return draw_band(table, layout, state, band)
    if layout.zoom is Zoom.TEXT:
        return (draw_flow(table, layout, state, band),)
    return (draw_row(table, layout, state, band),)
