"""Laying tokens out on bands for one width: the only step that looks at every token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from sftui.text import NEWLINE, SPACE, cell_width
from sftui.views.cells import bands
from sftui.views.grid import GridLayout, Zoom
from sftui.views.table import CUT, END, LEARNT, WEIGHTED, TokenTable, loss_changes, other_weight, weight_cell
from sftui.views.words import NOTHING_FOLLOWS, NOTHING_PRECEDES

T = TypeVar("T")
LABEL_WIDTH = 7
"""Cells of the frozen row names at the left of the columns zoom."""
MAX_COLUMN = 18
PLAIN_ROWS = ("pos", "token", "id", "label", "mask", "part")
SHIFT_ROWS = ("pos", "sees", "learns", "label", "mask", "part")
ROOMY = 64
"""From this width on the text zoom names roles whole."""
GLYPH = 2
"""Cells of the loss glyph of a line of the text zoom, and a space."""


def gutter_width(width: int) -> int:
    """Cells at the left of the text zoom: the role of the message, the loss glyph of the line and a space."""
    return GLYPH + (10 if width >= ROOMY else 5 if width >= 30 else 0)


OPEN_TRAINED, CLOSE_TRAINED = "⟦", "⟧"
"""Drawn around trained runs in the text zoom, so that they show without any style."""


def lay_out(table: TokenTable | None, zoom: Zoom, shift: bool, width: int, *, roles: bool = True) -> GridLayout:
    """The bands of one row at one width; `width` may be smaller than any token. Without `roles` the text zoom does not
    name who wrote a line."""
    count = len(table) if table is not None else 0
    if table is None or not count:
        return GridLayout(zoom, shift, width, 0, (), len(row_names(table, shift)) + 1 if zoom is Zoom.COLUMNS else 1)
    if zoom is Zoom.ROWS:
        ghost = table.first if _has_ghost(table, shift) else None
        starts = tuple(range(count)) if ghost is None else (*range(ghost + 1), *range(ghost, count))
        return GridLayout(zoom, shift, width, count, starts, header=1)
    if zoom is Zoom.TEXT:
        return _text(table, shift, width, gutter_width(width) if roles else GLYPH)
    return _columns(table, shift, width)


def row_names(table: TokenTable | None, shift: bool) -> tuple[str, ...]:
    """The lines of a band of the columns zoom; the weight only where there are weights."""
    names = SHIFT_ROWS if shift else PLAIN_ROWS
    return names if table is None or table.weights is None else (*names[:-1], "weight", names[-1])


def _has_ghost(table: TokenTable, shift: bool) -> bool:
    """The shift view shows the first label too, before the first input."""
    return shift and table.first is not None and table.labels is not None


def prelude_width(table: TokenTable, shift: bool) -> int:
    """Cells of the ghost column before the first token in the shift view, its gap included.

    It shows the label that nothing can predict; 0 where there is none.
    """
    if table.first is None or not _has_ghost(table, shift):
        return 0
    cell = min(cell_width(table.cells[table.first]), MAX_COLUMN)
    return max(cell, len(NOTHING_PRECEDES)) + 1


def _columns(table: TokenTable, shift: bool, width: int) -> GridLayout:
    room = max(width - LABEL_WIDTH, 1)
    widths = _column_widths(table, shift, min(MAX_COLUMN, room))
    needs = [*widths]
    if extra := prelude_width(table, shift):
        needs[table.first or 0] += extra
    height = len(row_names(table, shift)) + 1
    return GridLayout(Zoom.COLUMNS, shift, width, len(table), tuple(bands(needs, room)), height, tuple(widths))


def _column_widths(table: TokenTable, shift: bool, limit: int) -> list[int]:
    cells = _each(table.cells, lambda cell: min(cell_width(cell), limit))
    numbers = _each(table.ids, lambda value: len(str(value)))
    weights = [0] * len(table) if table.weights is None else _each(table.weights, lambda weight: len(f"{weight:g}"))
    positions = [len(str(i)) for i in range(len(table))]
    if not shift:
        return [w if w < limit else limit for w in map(max, cells, numbers, positions, weights)]
    widths = [w if w < limit else limit for w in map(max, cells, positions)]
    loss = table.loss_shifted
    for start, end in table.kept:
        for i in range(start, end - 1):
            if loss[i] in LEARNT:
                widths[i] = min(max(widths[i], cells[i + 1], numbers[i + 1], weights[i + 1]), limit)
    for _, end in table.kept if table.labels is not None else ():
        after = table.follower(end - 1)
        need = len(NOTHING_FOLLOWS) if after is None else max(cells[after], numbers[after], weights[after])
        widths[end - 1] = min(max(widths[end - 1], need), limit)
    return widths


def _each(values: Sequence[T], measure: Callable[[T], int]) -> list[int]:
    """The cells that each value takes, measured once for all that are alike."""
    widths = {value: measure(value) for value in {*values}}
    return [widths[value] for value in values]


def flow_cell(table: TokenTable, i: int, loss: str, shift: bool, text: str | None = None) -> str:
    """The text of token `i` in the text zoom, or another in its place, with the marks that open and close a run.

    Trained runs stand in ⟦ ⟧, with ×0.3 behind it where their weight is not 1; ✂ stands where a cut run begins or ends;
    ┊ after the last input.
    """
    cell = table.tagged[i] if text is None else text
    if loss[i] == CUT:
        before = CUT if i == 0 or loss[i - 1] != CUT else ""
        after = CUT if i + 1 < len(loss) and loss[i + 1] != CUT else ""
        return before + cell + after
    if loss[i] == END:
        return cell + END
    if loss[i] not in LEARNT:
        return cell
    if i == 0 or loss[i - 1] != loss[i] or other_weight(table, i, loss, shift):
        cell = OPEN_TRAINED + cell
    if i + 1 == len(loss) or loss[i + 1] != loss[i] or other_weight(table, i + 1, loss, shift):
        cell = cell + CLOSE_TRAINED
        if loss[i] == WEIGHTED:
            cell += f"×{weight_cell(table, i, shift)}"
    return cell


def _text(table: TokenTable, shift: bool, width: int, gutter: int) -> GridLayout:
    """Greedy lines that break before words where they can, and after every token that ends a line or a message."""
    room = max(width - gutter, 2)
    loss = table.loss_shifted if shift else table.loss
    starts, offsets = ([0, 0], [0, 0]) if _has_ghost(table, shift) else ([0], [0])
    used = word = word_used = 0
    last = len(table) - 1
    for i, (cell_cells, begins_word, ends_line) in enumerate(_measured(table, loss, shift)):
        if begins_word:
            word, word_used = i, used
        if used and used + cell_cells > room:
            at_word = starts[-1] < word < i and used - word_used + cell_cells <= room
            starts.append(word if at_word else i)
            offsets.append(0)
            used = used - word_used if at_word else 0
        if used + cell_cells > room:
            used = _break_inside(flow_cell(table, i, loss, shift), i, room, starts, offsets)
        else:
            used += cell_cells
        if ends_line and i < last:
            starts.append(i + 1)
            offsets.append(0)
            used = 0
    return GridLayout(Zoom.TEXT, shift, width, len(table), tuple(starts), 1, (), tuple(offsets), gutter=gutter)


BROKEN = ("content", "injected")
"""Parts of a message in which a line feed breaks the line; of what the template writes only the message's end does."""


def _measured(table: TokenTable, loss: str, shift: bool) -> list[tuple[int, bool, bool]]:
    """Per token: its cells, whether it begins a word, whether it ends a line.

    Only tokens at the borders of a run carry marks, so all others are measured once per text.
    """
    facts = {cell: (cell_width(cell), cell.startswith(SPACE), cell.endswith(NEWLINE)) for cell in {*table.tagged}}
    found = [facts[cell] for cell in table.tagged]
    for i, (message, after) in enumerate(pairwise(table.messages)):
        cells, begins, ends = found[i]
        if message != after or (ends and not table.parts[i].endswith(BROKEN)):
            found[i] = cells, begins, message != after
    changes = loss_changes(table, shift)
    for i in {0, *changes, *(c - 1 for c in changes), len(loss) - 1}:
        _, begins, ends = found[i]
        found[i] = (cell_width(flow_cell(table, i, loss, shift)), begins, ends)
    return found


def _break_inside(cell: str, i: int, room: int, starts: list[int], offsets: list[int]) -> int:
    """Breaks a token wider than the pane over lines; returns the cells used on its last one."""
    at = 0
    used = 0
    for k, w in enumerate(map(cell_width, cell)):
        if used + w > room:
            starts.append(i)
            offsets.append(k)
            at, used = k, 0
        used += w
    return cell_width(cell[at:])
