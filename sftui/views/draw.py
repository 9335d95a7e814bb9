"""Drawing the grid: only the bands in view, whatever the length of the row; the text zoom, in which the rendered text
flows, and the rows zoom, one line per token (`columns` has the other)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from sftui.text import clip, fit
from sftui.views.cells import Line, LineBuilder, Role, crop, line, writer
from sftui.views.columns import draw_band
from sftui.views.grid import GridLayout, GridState, Zoom, over
from sftui.views.layout import GUTTER, flow_cell
from sftui.views.table import CUT, END, LEARNT, LOSS_ROLES, MASKED_LABEL, MIXED, WEIGHTED, TokenTable, weight_cell
from sftui.views.words import NOTHING_FOLLOWS, NOTHING_PRECEDES, what_is_learnt, what_is_trained

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
        key, above = (layout.zoom, layout.shift, band), _over(state, layout.tokens_of(band))
        known, before = self._bands.get(key), tuple[Line, ...]()
        if known is not None and known[0] == layout:
            if known[1] == above:
                return known[2]
            before = known[2]
        columns = layout.zoom is Zoom.COLUMNS
        lines = draw_band(table, layout, state, band, before) if columns else draw_lines(table, layout, state, band)
        self._bands[key] = layout, above, lines
        return lines


def _over(state: GridState, tokens: range) -> tuple[int | None, tuple[int, ...]]:
    """What lies over some tokens (`views.grid.over`): the cursor and the hits."""
    hits = state.hits[bisect_left(state.hits, tokens.start) : bisect_right(state.hits, tokens.stop - 1)]
    return state.cursor if state.cursor in tokens else None, hits


# — the text and the rows zoom —

WEIGHT_WIDTH = 6

MAX_TOKEN = 22
REASON_WIDTH = 16
WORDS_WIDTH = 26
"""The words name the reason too, so the column of reasons is the first to go where it is narrow."""


def draw_flow(table: TokenTable, layout: GridLayout, state: GridState, band: int) -> Line:
    """One line of the text zoom: the gutter's loss glyph, then the tokens that stand on it."""
    tokens = layout.tokens_of(band)
    if not tokens:
        return _ghost(table, layout)
    loss = table.loss_shifted if layout.shift else table.loss
    builder = LineBuilder().add(*_gutter(loss, tokens)).add(" " * (GUTTER - 1))
    for i in tokens:
        cell = flow_cell(table, i, loss, layout.shift)
        if i == tokens[-1] and band + 1 < layout.bands and layout.starts[band + 1] == i:
            cell = cell[: layout.offsets[band + 1]]
        if i == tokens[0]:
            cell = cell[layout.offsets[band] :]
        role = LOSS_ROLES[loss[i]] if loss[i] in LEARNT else table.roles[i]
        if layout.shift and role in (Role.TRAINED, Role.WEIGHTED) and loss[i] not in LEARNT:
            role = LOSS_ROLES[loss[i]]
        builder.add(cell, role, over(state, i))
    return crop(builder.line(), layout.width)


def _gutter(loss: str, tokens: range) -> tuple[str, Role]:
    glyphs = loss[tokens[0] : tokens[-1] + 1]
    rest = glyphs.strip(LEARNT)
    if rest and rest != glyphs:
        return MIXED, Role.TRAINED
    glyph = WEIGHTED if WEIGHTED in glyphs else glyphs[0]
    return glyph, LOSS_ROLES[glyph]


def row_header(table: TokenTable, layout: GridLayout) -> Line:
    """The names of the columns of the rows zoom."""
    pos = _pos_width(table)
    weighted = table.weights is not None
    token, words, reason, part = _row_columns(pos, layout.width, layout.shift, weighted)
    own = (("sees", token), ("learns", token)) if layout.shift else (("token", token), ("id", 6))
    left = (("pos", pos), *own, ("label", 6), ("", 1), ("weight", WEIGHT_WIDTH if weighted else 0))
    names = [
        f"{fit(name, width)} "
        for name, width in (*left, ("reason", reason), ("part", part), ("in words", words))
        if width
    ]
    return crop(line(("".join(names), Role.LABEL)), layout.width)


def _ghost(table: TokenTable, layout: GridLayout) -> Line:
    """The line before the first input: the first label, which no input precedes."""
    words = f"{END} {NOTHING_PRECEDES} {table.cells[table.first or 0]}: this first label is never predicted"
    return crop(line((words, Role.GHOST)), layout.width)


def draw_row(table: TokenTable, layout: GridLayout, state: GridState, band: int) -> Line:
    """One line of the rows zoom: position, token, id, label, loss, reason, part, words."""
    if not layout.tokens_of(band):
        return _ghost(table, layout)
    i = layout.starts[band]
    pos = _pos_width(table)
    weighted = table.weights is not None
    token, words, reason, part = _row_columns(pos, layout.width, layout.shift, weighted)
    loss = table.loss_shifted if layout.shift else table.loss
    glyph = loss[i]
    role = table.roles[i]
    loss_role = LOSS_ROLES[glyph]
    builder = LineBuilder()
    builder.add(str(i).rjust(pos) + " ", Role.CUT if glyph == CUT else Role.POSITION)
    builder.add(fit(table.cells[i], token), role, over(state, i)).add(" ")
    if layout.shift:
        learns, label = _learns(table, i, glyph)
        builder.add(fit(learns, token) + " " + fit(label, 6, right=True), loss_role).add(" ")
    else:
        builder.add(fit(str(table.ids[i]), 6, right=True) + " ", Role.NUMBER)
        builder.add(fit(table.label_cell(i), 6, right=True), loss_role).add(" ")
    builder.add(glyph, loss_role).add(" ")
    if weighted:
        builder.add(fit(weight_cell(table, i, layout.shift), WEIGHT_WIDTH, right=True) + " ", loss_role)
    if reason:
        builder.add(fit(_reason(table, i, layout.shift), reason) + " ", loss_role)
    if part:
        builder.add(fit(table.parts[i], part) + " ", writer(table.writer(i), Role.HEADER))
    if words:
        said = what_is_learnt(table, i) if layout.shift else what_is_trained(table, i)
        builder.add(clip(said, words), loss_role)
    drawn = builder.line()
    return drawn if builder.width <= layout.width else crop(drawn, layout.width)


def _learns(table: TokenTable, i: int, glyph: str) -> tuple[str, str]:
    after = table.follower(i)
    if glyph in LEARNT and after is not None:
        return table.target_cell(after), table.label_cell(after)
    if after is None and table.loss[i] != CUT:
        return NOTHING_FOLLOWS, glyph
    return MASKED_LABEL, MASKED_LABEL if glyph != CUT else CUT


def _reason(table: TokenTable, i: int, shift: bool) -> str:
    if table.reasons is None:
        return ""
    if not shift or table.loss[i] == CUT:
        return table.reasons[i].value
    after = table.follower(i)
    return table.reasons[after].value if after is not None else "last input"


def _pos_width(table: TokenTable) -> int:
    return max(len(str(len(table) - 1)), 3)


@lru_cache(maxsize=8)
def _row_columns(pos: int, width: int, shift: bool, weighted: bool) -> tuple[int, int, int, int]:
    """Widths of token, words, reason and part; the last three are 0 where there is no room."""
    fixed = pos + 1 + 7 + 2 + (WEIGHT_WIDTH + 1 if weighted else 0)
    tokens = 2 if shift else 1
    fixed += 0 if shift else 7
    token = min(max((width - fixed) // 4, 8), MAX_TOKEN)
    left = width - fixed - tokens * (token + 1)
    reason = REASON_WIDTH if left >= WORDS_WIDTH + REASON_WIDTH else 0
    left -= reason + 1 if reason else 0
    part = REASON_WIDTH if left >= WORDS_WIDTH + REASON_WIDTH else 0
    left -= part + 1 if part else 0
    return token, max(left, 0), reason, part
