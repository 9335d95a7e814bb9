"""Drawing the grid: only the bands in view, whatever the length of the row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

from sftui.views.cells import Line, Role, crop, line
from sftui.views.columns import draw_band
from sftui.views.flow import draw_flow, draw_row, row_header
from sftui.views.grid import GridLayout, GridState, Zoom
from sftui.views.table import TokenTable

NO_TOKENS = "no tokens"
MOST_BANDS = 512
"""Bands kept: more than a screen has, in each zoom."""
LinesOfBand: TypeAlias = Callable[[TokenTable, GridLayout, GridState, int], tuple[Line, ...]]


def draw(
    table: TokenTable | None, layout: GridLayout, state: GridState, drawn: DrawnBands | None = None
) -> tuple[Line, ...]:
    """The lines of the pane, top to bottom, `state.height` at most; O(what is seen).

    The rows zoom gives its first line to the names of its columns. `drawn`: the bands that need not be drawn again.
    """
    lines = draw_all(table, layout, state, None if drawn is None else drawn.lines)
    return tuple(islice(lines, state.height))


def draw_all(
    table: TokenTable | None, layout: GridLayout, state: GridState, lines_of: LinesOfBand | None = None
) -> Iterator[Line]:
    """Every line from the first band in view on, however many, each drawn on request."""
    if table is None or not layout.count:
        yield crop(line((NO_TOKENS, Role.DIM)), layout.width)
        return
    if layout.header:
        yield row_header(table, layout)
    for band in range(state.top, layout.bands):
        yield from (lines_of or draw_lines)(table, layout, state, band)


def draw_lines(table: TokenTable, layout: GridLayout, state: GridState, band: int) -> tuple[Line, ...]:
    """The `layout.band_height` lines of one band."""
    if layout.zoom is Zoom.COLUMNS:
        return draw_band(table, layout, state, band)
    if layout.zoom is Zoom.TEXT:
        return (draw_flow(table, layout, state, band),)
    return (draw_row(table, layout, state, band),)


class DrawnBands:
    """The bands of a table as they were drawn: most keys change what lies over one or two of them."""

    def __init__(self) -> None:
        self._table: TokenTable | None = None
        self._bands: dict[tuple[Zoom, bool, int], tuple[GridLayout, object, tuple[Line, ...]]] = {}

    def lines(self, table: TokenTable, layout: GridLayout, state: GridState, band: int) -> tuple[Line, ...]:
        """What `draw_lines` gives."""
        if table is not self._table or len(self._bands) >= MOST_BANDS:
            self._table, self._bands = table, {}
        key, over = (layout.zoom, layout.shift, band), _over(state, layout.tokens_of(band))
        known, before = self._bands.get(key), tuple[Line, ...]()
        if known is not None and known[0] == layout:
            if known[1] == over:
                return known[2]
            before = known[2]
        columns = layout.zoom is Zoom.COLUMNS
        lines = draw_band(table, layout, state, band, before) if columns else draw_lines(table, layout, state, band)
        self._bands[key] = layout, over, lines
        return lines


def _over(state: GridState, tokens: range) -> tuple[int | None, tuple[int, ...]]:
    """What lies over some tokens (`views.grid.over`): the cursor and the hits."""
    hits = state.hits[bisect_left(state.hits, tokens.start) : bisect_right(state.hits, tokens.stop - 1)]
    return state.cursor if state.cursor in tokens else None, hits
