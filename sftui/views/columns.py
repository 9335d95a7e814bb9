"""Columns zoom: aligned bands of position, token, id, label, loss and part, one column a token."""

from __future__ import annotations

from sftui.text import fit
from sftui.views.cells import Line, LineBuilder, Over, Role, crop, writer
from sftui.views.grid import GridLayout, GridState, over
from sftui.views.layout import LABEL_WIDTH, prelude_width, row_names
from sftui.views.table import CUT, END, LEARNT, LOSS_ROLES, MASKED, MASKED_LABEL, TokenTable, weight_cell
from sftui.views.words import NOTHING_FOLLOWS, NOTHING_PRECEDES

FILLED = LEARNT + MASKED
"""The glyphs that fill their column."""
_OVER = ("pos", "token", "sees")
"""The lines on which the cursor and the hits lie."""


def draw_band(
    table: TokenTable, layout: GridLayout, state: GridState, band: int, before: tuple[Line, ...] = ()
) -> tuple[Line, ...]:
    """The lines of one band and the empty one after it. `before` are those with the cursor and the hits elsewhere."""
    tokens = layout.tokens_of(band)
    lines = [
        before[at] if before and name not in _OVER else crop(_row(table, layout, state, tokens, name), layout.width)
        for at, name in enumerate(row_names(table, layout.shift))
    ]
    return (*lines, ())


def _row(table: TokenTable, layout: GridLayout, state: GridState, tokens: range, name: str) -> Line:
    builder = LineBuilder().add(name.ljust(LABEL_WIDTH), Role.LABEL)
    if name == "part":
        return _part_row(builder, table, layout, tokens)
    ghost = prelude_width(table, layout.shift)
    loss = table.loss_shifted if layout.shift else table.loss
    last = tokens[-1]
    for i in tokens:
        if ghost and i == table.first:
            text, role = _ghost(table, name)
            builder.add(fit(text, ghost - 1), role).add(" ")
        width = layout.columns[i]
        text, role = _cell(table, layout.shift, loss, name, i)
        above = over(state, i) if name in _OVER else Over.NONE
        fill = name == "loss" and loss[i] in FILLED
        builder.add(text * width if fill else fit(text, width), role, above)
        if i != last:
            _gap(builder, table, name, i, role, text, loss, layout.shift)
    return builder.line()


def _gap(
    builder: LineBuilder, table: TokenTable, name: str, i: int, role: Role, text: str, loss: str, shift: bool
) -> None:
    if (loss[i] == CUT) != (loss[i + 1] == CUT) or (not table.joined and table.predecessor(i + 1) is None):
        builder.add(END, Role.BORDER)
    elif name == "loss" and loss[i] == loss[i + 1] and loss[i] in FILLED:
        builder.add(text, role)
    else:
        after = _cell(table, shift, loss, name, i + 1)[1]
        builder.add(" ", role if after is role else Role.PLAIN)


def _cell(table: TokenTable, shift: bool, loss: str, name: str, i: int) -> tuple[str, Role]:
    glyph = loss[i]
    if name == "pos":
        return str(i), Role.CUT if glyph == CUT else Role.POSITION
    if name in ("token", "sees"):
        return table.cells[i], table.roles[i] if not shift else _sees_role(table, i)
    if name == "id":
        return str(table.ids[i]), Role.CUT if glyph == CUT else Role.NUMBER
    if name == "loss":
        return glyph, LOSS_ROLES[glyph]
    if name == "weight":
        return weight_cell(table, i, shift), LOSS_ROLES[glyph]
    if name == "label" and not shift:
        return table.label_cell(i), LOSS_ROLES[glyph]
    return _learns(table, name, glyph, i)


def _sees_role(table: TokenTable, i: int) -> Role:
    """In the shift view the token seen is context, whether it is trained itself or not."""
    role = table.roles[i]
    return Role.PLAIN if role is Role.TRAINED else role


def _learns(table: TokenTable, name: str, glyph: str, i: int) -> tuple[str, Role]:
    if glyph in LEARNT:
        after = table.follower(i)
        if after is not None:
            return (table.target_cell(after) if name == "learns" else table.label_cell(after)), LOSS_ROLES[glyph]
    if glyph == END:
        return (NOTHING_FOLLOWS if name == "learns" else END), Role.GHOST
    if glyph == MASKED:
        return MASKED_LABEL, Role.MASKED
    return glyph, LOSS_ROLES[glyph]


def _ghost(table: TokenTable, name: str) -> tuple[str, Role]:
    """The column before the first token: its label, which nothing precedes."""
    first = table.first if table.first is not None else 0
    texts = {
        "sees": NOTHING_PRECEDES,
        "learns": table.target_cell(first) if table.loss[first] in LEARNT else table.cells[first],
        "label": table.label_cell(first),
        "loss": END,
    }
    return texts.get(name, ""), Role.GHOST


def _part_row(builder: LineBuilder, table: TokenTable, layout: GridLayout, tokens: range) -> Line:
    """The part named once per run of tokens, over all the columns of the run."""
    ghost = prelude_width(table, layout.shift)
    start = tokens[0]
    while start <= tokens[-1]:
        end = start + 1
        while end <= tokens[-1] and _same_part(table, start, end) and not (ghost and end == table.first):
            end += 1
        if ghost and start == table.first:
            builder.add(" " * ghost)
        width = sum(layout.columns[i] + 1 for i in range(start, end)) - 1
        role = Role.CUT if table.loss[start] == CUT else writer(table.writer(start), Role.HEADER)
        builder.add(_named(table.parts[start], width), role)
        if end <= tokens[-1]:
            builder.add(" ", role)
        start = end
    return builder.line()


def _same_part(table: TokenTable, a: int, b: int) -> bool:
    first, second = ((table.parts[i], table.messages[i], table.loss[i] == CUT) for i in (a, b))
    return first == second


def _named(name: str, width: int) -> str:
    """`name` over `width` cells, with a rule to the end of its run; its last word where it is narrow."""
    if width < len(name):
        name = name.rpartition(" ")[2]
    if width < len(name) + 2:
        return fit(name, width)
    return f"{name} " + "╌" * (width - len(name) - 1)
