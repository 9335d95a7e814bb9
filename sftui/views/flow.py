"""Text zoom and rows zoom: the rendered text flowing, and one line per token."""

from __future__ import annotations

from functools import lru_cache

from sftui.text import clip, fit
from sftui.views.cells import Line, LineBuilder, Role, crop, line
from sftui.views.columns import LOSS_ROLES
from sftui.views.grid import GridLayout, GridState, over
from sftui.views.layout import GUTTER, flow_cell
from sftui.views.table import CUT, END, LEARNT, MASKED_LABEL, WEIGHTED, TokenTable, weight_cell
from sftui.views.words import NOTHING_FOLLOWS, NOTHING_PRECEDES, what_is_learnt, what_is_trained
from sftui.views.writers import writer

MIXED = "▒"
"""In the gutter: this line holds both trained and masked tokens."""
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
    builder = LineBuilder()
    named = (("weight", WEIGHT_WIDTH),) if weighted else ()
    for name, width in (("pos", pos), *(_names(layout, token)), ("", 1), *named):
        builder.add(fit(name, width), Role.LABEL).add(" ", Role.LABEL)
    for name, width in (("reason", reason), ("part", part), ("in words", words)):
        if width:
            builder.add(fit(name, width), Role.LABEL).add(" ", Role.LABEL)
    return crop(builder.line(), layout.width)


def _names(layout: GridLayout, token: int) -> tuple[tuple[str, int], ...]:
    if layout.shift:
        return (("sees", token), ("learns", token), ("label", 6))
    return (("token", token), ("id", 6), ("label", 6))


def _ghost(table: TokenTable, layout: GridLayout) -> Line:
    """The line before the first input: the first label, which no input precedes."""
    first = table.first or 0
    return crop(
        line((f"{END} {NOTHING_PRECEDES} {table.cells[first]}: this first label is never predicted", Role.GHOST)),
        layout.width,
    )


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
