"""Drawing the grid: only the bands in view, whatever the length of the row; the text zoom, in which the rendered text
flows, the columns zoom, and the rows zoom, one line per token."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from sftui.text import NEWLINE, SPACE, cell_width, clip, fit
from sftui.views.cells import Line, LineBuilder, Over, Role, crop, line, writer
from sftui.views.frame import RULE
from sftui.views.grid import GridLayout, GridState, Zoom, over
from sftui.views.layout import GLYPH, LABEL_WIDTH, flow_cell, lay_out, prelude_width, row_names
from sftui.views.table import (
    BORDER,
    CUT,
    END,
    LEARNT,
    LOSS_ROLES,
    MASKED,
    MASKED_LABEL,
    MIXED,
    TRAINED,
    WEIGHTED,
    TokenTable,
    weight_cell,
)
from sftui.views.words import LENS, NOTHING_FOLLOWS, NOTHING_PRECEDES, what_is_learnt, what_is_trained

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
    """The `layout.band_height` lines of one band, in the columns zoom with the empty one after it."""
    if layout.zoom is Zoom.COLUMNS:
        tokens, names = layout.tokens_of(band), row_names(table, layout.shift)
        return (*(crop(_line_of(table, layout, state, tokens, name), layout.width) for name in names), ())
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
        above = (*_over(state, layout.tokens_of(band)), state.blanks, state.quiet)
        key = layout.zoom, layout.shift, band
        known = self._bands.get(key)
        if known is None or known[:2] != (layout, above):
            known = self._bands[key] = (layout, above, draw_lines(table, layout, state, band))
        return known[2]


def _over(state: GridState, tokens: range) -> tuple[int | None, tuple[int, ...]]:
    """What lies over some tokens (`views.grid.over`): the cursor and the hits."""
    hits = state.hits[bisect_left(state.hits, tokens.start) : bisect_right(state.hits, tokens.stop - 1)]
    return state.cursor if state.cursor in tokens else None, hits


# — the columns zoom: aligned bands of position, token, id, label, loss and part, one column a token —

FILLED = LEARNT + MASKED
"""The glyphs that fill their column."""
_OVER = ("token", "sees")
"""The lines on which the cursor and the hits lie."""


def _line_of(table: TokenTable, layout: GridLayout, state: GridState, tokens: range, name: str) -> Line:
    builder = LineBuilder().add(name.ljust(LABEL_WIDTH), Role.LABEL)
    if name in ("part", "why"):
        return _part_row(builder, table, layout, tokens, name)
    ghost = prelude_width(table, layout.shift)
    loss = table.loss_shifted if layout.shift else table.loss
    cells = [_cell(table, layout.shift, loss, name, i) for i in tokens]
    for i, (text, role), after in zip(tokens, cells, (*cells[1:], None)):
        if ghost and i == table.first:
            first, of_first = _ghost_cell(table, name)
            builder.add(fit(first, ghost - 1), of_first).add(" ")
        width, fill = layout.columns[i], name == "mask" and loss[i] in FILLED
        above = over(state, i) if name in _OVER else Over.NONE
        builder.add(text * width if fill else fit(text, width), role, above)
        if after is None:
            break
        if (loss[i] == CUT) != (loss[i + 1] == CUT) or (not table.joined and table.predecessor(i + 1) is None):
            builder.add(END, Role.BORDER)
        elif fill and loss[i] == loss[i + 1]:
            builder.add(text, role)
        else:
            builder.add(" ", role if after[1] is role else Role.PLAIN)
    return builder.line()


def _cell(table: TokenTable, shift: bool, loss: str, name: str, i: int) -> tuple[str, Role]:
    glyph = loss[i]
    if name == "pos":
        return str(i), Role.CUT if glyph == CUT else Role.POSITION
    if name in ("token", "sees"):
        return table.cells[i], table.roles[i] if not shift else _sees_role(table, i)
    if name == "id":
        return str(table.ids[i]), Role.CUT if glyph == CUT else Role.NUMBER
    if name == "mask":
        return glyph, LOSS_ROLES[glyph]
    if name == "weight":
        return weight_cell(table, i, shift), LOSS_ROLES[glyph]
    if name == "label" and not shift:
        return table.label_cell(i), LOSS_ROLES[glyph]
    return _learnt_cell(table, name, glyph, i)


def _sees_role(table: TokenTable, i: int) -> Role:
    """In the shift view the token seen is context, whether it is trained itself or not."""
    role = table.roles[i]
    return Role.PLAIN if role is Role.TRAINED else role


def _learnt_cell(table: TokenTable, name: str, glyph: str, i: int) -> tuple[str, Role]:
    if glyph in LEARNT:
        after = table.follower(i)
        if after is not None:
            return (table.target_cell(after) if name == "learns" else table.label_cell(after)), LOSS_ROLES[glyph]
    if glyph == END:
        return (NOTHING_FOLLOWS if name == "learns" else END), Role.GHOST
    if glyph == MASKED:
        return MASKED_LABEL, Role.MASKED
    return glyph, LOSS_ROLES[glyph]


def _ghost_cell(table: TokenTable, name: str) -> tuple[str, Role]:
    """The column before the first token: its label, which nothing precedes."""
    first = table.first if table.first is not None else 0
    texts = {
        "sees": NOTHING_PRECEDES,
        "learns": table.target_cell(first) if table.loss[first] in LEARNT else table.cells[first],
        "label": table.label_cell(first),
        "mask": END,
    }
    return texts.get(name, ""), Role.GHOST


def _part_row(builder: LineBuilder, table: TokenTable, layout: GridLayout, tokens: range, name: str) -> Line:
    """The part, or why it is trained or masked, named once per run of tokens, over all the columns of the run."""
    ghost = prelude_width(table, layout.shift)
    start = tokens[0]
    while start <= tokens[-1]:
        end = start + 1
        told = _reason(table, start, layout.shift) if name == "why" else table.parts[start]
        while end <= tokens[-1] and not (ghost and end == table.first):
            if told != _reason(table, end, layout.shift) if name == "why" else not _same_part(table, start, end):
                break
            end += 1
        if ghost and start == table.first:
            builder.add(" " * ghost)
        width = sum(layout.columns[i] + 1 for i in range(start, end)) - 1
        role = Role.CUT if table.loss[start] == CUT else writer(table.writer(start), Role.HEADER)
        builder.add(_named(told, width), Role.DIM if name == "why" else role)
        if end <= tokens[-1]:
            builder.add(" ", role)
        start = end
    return builder.line()


def _same_part(table: TokenTable, a: int, b: int) -> bool:
    first, second = ((table.parts[i], table.messages[i], table.loss[i] == CUT) for i in (a, b))
    return first == second


def _named(name: str, width: int) -> str:
    """`name` over `width` cells, or what the lens calls it, or its last word, with a rule to the end of its run."""
    if width < len(name):
        name = LENS.get(name, name.rpartition(" ")[2])
    if width < len(name) + 2:
        return fit(name, width)
    return f"{name} " + "╌" * (width - len(name) - 1)


# — the text and the rows zoom —

WEIGHT_WIDTH = 6

MAX_TOKEN = 22
REASON_WIDTH = 16
WORDS_WIDTH = 26
"""The words name the reason too, so the column of reasons is the first to go where it is narrow."""


def draw_flow(table: TokenTable, layout: GridLayout, state: GridState, band: int) -> Line:
    """One line of the text zoom: the gutter with the role and the loss glyph, then the tokens that stand on it."""
    tokens = layout.tokens_of(band)
    if not tokens:
        return _ghost(table, layout)
    loss = table.loss_shifted if layout.shift else table.loss
    builder = _margin(table, layout, band)
    builder.add(*_gutter(loss, tokens)).add(" ")
    for i in tokens:
        shown = None if state.blanks or state.cursor == i else _read(table, loss, i)
        cell = flow_cell(table, i, loss, layout.shift, shown)
        if i == tokens[-1] and band + 1 < layout.bands and layout.starts[band + 1] == i:
            cell = cell[: layout.offsets[band + 1]]
        if i == tokens[0]:
            cell = cell[layout.offsets[band] :]
            wrapped = not _begins(table, i) and not table.tagged[i - 1].endswith(NEWLINE)
            cell = cell[1:] if wrapped and shown is not None and cell.startswith(" ") else cell
        role = _FLOW_ROLES.get(loss[i], table.roles[i])
        if layout.shift and role in (Role.TRAINED, Role.WEIGHTED) and loss[i] not in LEARNT:
            role = LOSS_ROLES[loss[i]]
        builder.add(cell, role, over(state, i))
    return crop(builder.line(), layout.width)


def _begins(table: TokenTable, i: int) -> bool:
    return not i or table.messages[i - 1] != table.messages[i]


_FLOW_ROLES = {TRAINED: Role.LEARNT, WEIGHTED: Role.WEIGHTED}
SHORT_NAMES = {"assistant": "asst", "system": "sys", "developer": "dev", "function": "func"}


def _margin(table: TokenTable, layout: GridLayout, band: int) -> LineBuilder:
    """Who wrote a line of the text zoom: the role where its message begins, below it a rule in the same colour."""
    first, cells = layout.starts[band], layout.gutter - GLYPH
    name = table.writer(first)
    begins = not layout.offsets[band] and _begins(table, first)
    if cells < len("assistant"):
        name = SHORT_NAMES.get(name, name)
    shown = f"{clip(name, cells - 1)}" if begins else f"{BORDER:>{cells - 1}}" if name and cells else ""
    return LineBuilder().add(fit(shown, cells), writer(table.writer(first), Role.HEADER))


_LONE = re.compile(r"(?<![␣\0])␣(?![␣⏎\0])|(?<=⏎)␣+(?!\0)|(?<![⏎\0])⏎(?![⏎\0])")
"""White space that decides nothing: a space between words, an indentation, the end of a line within a text. \0 is the
edge of a run, of a message or of a part of it."""


INDENT = 64
"""Cells of an indentation whose beginning is looked for."""


@lru_cache(8192)
def _prose(before: str, cell: str, after: str) -> str:
    """A token's text with white space only where it decides something."""
    return _LONE.sub(lambda found: " " * len(found[0]), before + cell + after)[len(before) : len(before + cell)]


def _read(table: TokenTable, loss: str, i: int) -> str:
    """The text of a token as one reads it, between what stands before and after it."""
    cell = table.tagged[i]
    if SPACE not in cell and NEWLINE not in cell:
        return cell

    def edge(a: int, b: int) -> bool:
        return loss[a] != loss[b] or table.parts[a] != table.parts[b] or table.messages[a] != table.messages[b]

    before, at = "", i
    while at and not edge(at - 1, at) and not before.strip(SPACE) and len(before) < INDENT:
        at -= 1
        before = table.tagged[at][-1:] + before if table.tagged[at].strip(SPACE) else table.tagged[at] + before
    before = before or "\0"
    after = "\0" if i + 1 == len(loss) or edge(i, i + 1) else table.tagged[i + 1][:1]
    return _prose(before, cell, after)


def token_of_flow(table: TokenTable, layout: GridLayout, band: int, x: int) -> int | None:
    """The token of a line of the text zoom that stands in a cell, or the nearest one."""
    tokens, at = layout.tokens_of(band), layout.gutter
    loss = table.loss_shifted if layout.shift else table.loss
    for i in tokens:
        cell = flow_cell(table, i, loss, layout.shift)
        at += cell_width(cell[layout.offsets[band] :] if i == tokens[0] else cell)
        if at > x:
            return i
    return tokens[-1] if tokens else None


def named_rule(name: str, width: int) -> Line:
    """What stands between the text and what is below it, from side to side."""
    return crop(line((f"{RULE} {name} {RULE * max(width - len(name) - 3, 0)}", Role.BORDER)), width)


def draw_words(table: TokenTable, state: GridState, height: int) -> tuple[Line, ...]:
    """The page of lines of the rows zoom that the cursor is on."""
    layout = lay_out(table, Zoom.ROWS, state.shift, state.width)
    page = max(height - layout.header, 1)
    page = layout.bands if layout.bands <= page else page
    top = layout.band_of(state.cursor) // page * page
    return draw(table, layout, replace(state, top=top, height=height))


def draw_lens(
    table: TokenTable, lens: GridLayout, state: GridState, bands: int, known: dict[object, Line] | None = None
) -> tuple[Line, ...]:
    """The aligned table around the cursor: the page of so many bands that it is on. `lens` is a layout of columns,
    `known` are its lines that were drawn already: the cursor lies on one alone."""
    known = {} if known is None else known
    first = lens.band_of(state.cursor) // bands * bands
    lines: list[Line] = []
    for band in range(first, min(first + bands, lens.bands)):
        tokens = lens.tokens_of(band)
        above = _over(state, tokens)
        for name in row_names(table, lens.shift):
            name = "why" if name == "part" else name
            key = (band, name, above if name in _OVER else None)
            if key not in known:
                known[key] = crop(_line_of(table, lens, state, tokens, name), lens.width)
            lines.append(known[key])
        lines.append(())
    return tuple(lines[:-1])


def _gutter(loss: str, tokens: range) -> tuple[str, Role]:
    glyphs = loss[tokens[0] : tokens[-1] + 1]
    rest = glyphs.strip(LEARNT)
    if rest and rest != glyphs:
        return MIXED, Role.TRAINED
    glyph = WEIGHTED if WEIGHTED in glyphs else glyphs[0]
    return glyph, LOSS_ROLES[glyph]


def row_header(table: TokenTable, layout: GridLayout) -> Line:
    """The names of the columns of the rows zoom."""
    names = [f"{fit(name if name != 'mask' else '', cells)} " for name, cells in _columns_of(table, layout)]
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
    builder = LineBuilder()
    for name, cells in _columns_of(table, layout):
        text, role = _row_cell(table, layout.shift, name, i)
        shown = (
            clip(text, cells)
            if name == "in words"
            else fit(text, cells, right=name in ("pos", "id", "label", "weight"))
        )
        if name in ("token", "sees", "label", "mask"):
            builder.add(shown, role, over(state, i) if name in ("token", "sees") else Over.NONE).add(" ")
        else:
            builder.add(shown if name == "in words" else f"{shown} ", role)
    drawn = builder.line()
    return drawn if builder.width <= layout.width else crop(drawn, layout.width)


def _row_cell(table: TokenTable, shift: bool, name: str, i: int) -> tuple[str, Role]:
    """What stands in a column of the rows zoom."""
    loss = table.loss_shifted if shift else table.loss
    if name in ("token", "sees"):
        return table.cells[i], table.roles[i]
    if name == "id":
        return str(table.ids[i]), Role.NUMBER
    if name == "part":
        return table.parts[i], writer(table.writer(i), Role.HEADER)
    if name == "in words":
        text = what_is_learnt(table, i) if shift else what_is_trained(table, i)
    elif name == "reason":
        text = _reason(table, i, shift)
    elif shift and name in ("learns", "label"):
        text = _learns(table, i, loss[i])[name == "label"]
    else:
        return _cell(table, shift, loss, name, i)
    return text, LOSS_ROLES[loss[i]]


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


def _columns_of(table: TokenTable, layout: GridLayout) -> tuple[tuple[str, int], ...]:
    return _row_columns(max(len(str(len(table) - 1)), 3), layout.width, layout.shift, table.weights is not None)


@lru_cache(maxsize=8)
def _row_columns(pos: int, width: int, shift: bool, weighted: bool) -> tuple[tuple[str, int], ...]:
    """The columns of the rows zoom, each with its cells; the last three only where there is room."""
    own = ("sees", "learns") if shift else ("token",)
    numbers = (("id", 0 if shift else 6), ("label", 6), ("mask", 1), ("weight", WEIGHT_WIDTH if weighted else 0))
    room = width - pos - 1 - sum(cells + 1 for _, cells in numbers if cells)
    token = min(max(room // 4, 8), MAX_TOKEN)
    left = room - len(own) * (token + 1)
    reason = REASON_WIDTH if left >= WORDS_WIDTH + REASON_WIDTH else 0
    left -= reason + 1 if reason else 0
    part = REASON_WIDTH if left >= WORDS_WIDTH + REASON_WIDTH else 0
    left -= part + 1 if part else 0
    texts = (("reason", reason), ("part", part), ("in words", left))
    columns = (("pos", pos), *((name, token) for name in own), *numbers, *texts)
    return tuple(column for column in columns if column[1] > 0)
