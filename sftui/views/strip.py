"""A whole row in one line: what is trained, where messages begin, and where the cursor is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import log1p

from sftui.model import Inspection, Part, Reason, RowSummary
from sftui.views.cells import Line, LineBuilder, Over, Role, writer
from sftui.views.pairs import pair_figures
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
    """What is trained of what the trainer receives of a row, over a few cells: `░░▒███`; "" where it gets nothing. Each
    side of a preference has half of them."""
    sides = inspection.alone
    if len(sides) > 1:
        return "".join(_small(side, SMALL // 2) for side in sides)
    return _small(inspection, SMALL)


def _small(side: Inspection, most: int) -> str:
    examples = side.examples
    labels = [label for example in examples for label in example.counted]
    count, made = len(labels), []
    cells = min(most, count)
    for n in range(cells):
        some = labels[count * n // cells : count * (n + 1) // cells]
        masked = some.count(examples[0].ignore_index)
        made.append(TRAINED if not masked else MASKED if masked == len(some) else MIXED)
    return "".join(made)


BARS = "▁▂▃▄▅▆▇█"


def sparks(rows: Sequence[tuple[int, RowSummary]], cells: int) -> tuple[tuple[str, str], ...]:
    """The trained share and the length (its logarithm) along rows that are known, as bars over so many cells."""
    known = [one for _, one in rows if one.trained is not None and one.tokens]
    shares = [(one.trained or 0) / (one.tokens or 1) for one in known]
    lengths = [log1p(one.tokens or 0) for one in known]
    return (("trained", _bars(shares, 1.0, cells)), ("tokens", _bars(lengths, max(lengths, default=1.0), cells)))


def _bars(values: Sequence[float], most: float, cells: int) -> str:
    """The means of so many stretches of values; `most` fills a cell."""
    cells = min(cells, len(values))
    parts = [values[len(values) * n // cells : len(values) * (n + 1) // cells] for n in range(cells)]
    return "".join(BARS[round(sum(part) / len(part) / most * (len(BARS) - 1))] for part in parts)


def ends_of(inspection: Inspection) -> tuple[int, int] | None:
    """Of how many answers that are trained the end token is trained, too, and how many there are; None where nothing
    says what ends an answer."""
    found = [_ends_of(side) for side in inspection.alone]
    known = [one for one in found if one is not None]
    return (sum(ended for ended, _ in known), sum(answers for _, answers in known)) if known else None


def _ends_of(inspection: Inspection) -> tuple[int, int] | None:
    labels, tokens = inspection.labels, inspection.tokens
    if labels is None or tokens is None or not tokens.parts:
        return None
    trained: set[tuple[Part, int]] = set()
    appended, end = False, 0
    for (part, message, reason), run in groupby(zip(tokens.parts, tokens.messages, labels.reasons)):
        start, end = end, end + sum(1 for _ in run)
        if any(start < b and a < end for a, b in labels.ranges) and any(start < b and a < end for a, b in labels.kept):
            trained.add((part, message))
            appended = appended or reason is Reason.APPENDED
    answers = {message for part, message in trained if part is Part.CONTENT}
    if not answers or not (appended or Part.TERMINATOR in tokens.parts):
        return None
    ended = {message for message in answers if (Part.TERMINATOR, message) in trained}
    return len(ended | ({max(answers)} if appended else set())), len(answers)


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
        ends=ends_of(inspection),
        pair=pair_figures(inspection),
    )
