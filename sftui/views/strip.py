"""A whole row in one line: what is trained, where messages begin, and where the cursor is."""

from __future__ import annotations

from collections.abc import Sequence

from sftui.model import Inspection, RowSummary
from sftui.views.cells import Line, LineBuilder, Over, Role, writer
from sftui.views.table import CUT, LEARNT, LOSS_ROLES, MASKED, MIXED, TRAINED, WEIGHTED, TokenTable, message_starts

Cell = tuple[str, Role]
CELLS_A_MESSAGE = 4
"""Where messages have as many cells as this on average, each shows its letter: the first one of its role's name; where
they are shorter, only those of two cells and more."""


def strip(table: TokenTable, width: int, shift: bool = False) -> tuple[Cell, ...]:
    """The row over at most `width` cells, as many for each token as fit where they are no more.

    A cell is `█` where all of its tokens are trained, `░` where none is, `▒` where some are, `✂` where some are cut.
    Where a message begins stands the letter of its role; what is not trained has that role's colour.
    """
    loss = table.loss_shifted if shift else table.loss
    tokens = len(loss)
    cells = width // tokens * tokens if 0 < tokens <= width else width if tokens else 0
    spans = ((tokens * n // cells, max(tokens * (n + 1) // cells, tokens * n // cells + 1)) for n in range(cells))
    made = [_cell(loss[a:b], writer(table.writer(a), Role.MASKED)) for a, b in spans]
    starts = message_starts(table)
    least = 1 if len(starts) * CELLS_A_MESSAGE <= cells else 2
    for start, end in zip(starts, (*starts[1:], len(loss))):
        at, after = start * cells // len(loss), end * cells // len(loss)
        name = table.writer(start)
        if name and after - at >= least:
            made[at] = (name[0], writer(name, Role.HEADER))
    return tuple(made)


def _cell(loss: str, masked: Role) -> Cell:
    """A stretch of the row; what is not trained is drawn as who wrote it."""
    rest = loss.strip(LEARNT)
    if rest and rest != loss:
        return MIXED, Role.TRAINED
    if not rest:
        glyph = WEIGHTED if TRAINED not in loss else TRAINED
    elif CUT in loss:
        glyph = CUT
    else:
        glyph = MASKED if MASKED in loss else loss[0]
    return glyph, masked if glyph == MASKED else LOSS_ROLES[glyph]


def with_cursor(cells: Sequence[Cell], token: int, tokens: int) -> Line:
    """The strip of a row of so many tokens, with the cursor on the cells that hold `token`."""
    builder = LineBuilder()
    for number, (glyph, role) in enumerate(cells):
        first = tokens * number // len(cells)
        here = first <= token < max(tokens * (number + 1) // len(cells), first + 1)
        builder.add(glyph, role, Over.CURSOR if here else Over.NONE)
    return builder.line()


SMALL = 8
"""Cells of a row's strip in the list of rows."""


def strip_of(inspection: Inspection) -> str:
    """What is trained of what the trainer receives of a row, over a few cells: `░░▒███`; "" where it gets nothing."""
    examples = inspection.examples
    labels = [label for example in examples for label in example.counted]
    count, made = len(labels), []
    cells = min(SMALL, count)
    for n in range(cells):
        some = labels[count * n // cells : count * (n + 1) // cells]
        masked = some.count(examples[0].ignore_index)
        made.append(TRAINED if not masked else MASKED if masked == len(some) else MIXED)
    return "".join(made)


def row_summary(inspection: Inspection, preview: str) -> RowSummary:
    """The line of a row in the list, figures as far as the inspection went."""
    tokens = inspection.received  # as the status line counts: cut, and shifted where it is stored so
    if tokens is None and inspection.tokens is not None:
        tokens = len(inspection.tokens)
    return RowSummary(
        inspection.row.index,
        preview,
        tokens,
        inspection.trained if inspection.labels is not None else None,
        inspection.cut,
        inspection.row.left_out or inspection.dropped,
        inspection.problem.sentence() if inspection.problem is not None else None,
        repaired=bool(inspection.row.repairs) or inspection.row.left_out is not None,
        evaluates=inspection.evaluates,
        strip=strip_of(inspection),
    )
