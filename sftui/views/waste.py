"""The waste of length limits and packing strategies as lines: a plot of one strategy, and the table of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sftui.audit.bars import short
from sftui.text import many, share, visible
from sftui.views.cells import Line, Over, Role, crop, line, text_lines

if TYPE_CHECKING:
    from sftui.audit.waste import WasteLine, WasteTable

COLUMN, HIGHEST = 9, 8
"""Cells of one limit in the plot, and its lines."""
HEAD = (
    f"  {'limit':>7} {'tokens':>7} {'padding':>7} {'share':>7} {'steps':>9}"
    f" {'cut':>7} {'lost':>7} {'split':>7} {'rows lost':>9}"
)
EXPLAINED = (
    "cut, lost, split: answers that lose their end or start, that are not trained at all, that go on in another pack;"
    " rows lost: never trained"
)


def waste_lines(
    table: WasteTable, width: int, chosen: tuple[str, int] | None = None, own: int | None = None
) -> tuple[Line, ...]:
    """The plot of the `chosen` strategy, with its limit marked, where there is one, then every line, `own` with a `*`;
    at most `width` cells wide."""
    head = (
        many(table.rows, "row"),
        many(table.answers, "answer"),
        f"{table.tokens:,} tokens",
        f"longest {table.longest:,}",
    )
    lines = [*text_lines(" · ".join(head), width, Role.TITLE)]
    for note in table.notes:
        lines += text_lines(note, width, Role.DIM)
    if chosen is not None:
        lines += [(), *_plot(table, chosen, width)]
    for strategy in table.strategies:
        rows = [one for one in table.lines if one.strategy == strategy]
        lines += [(), line((strategy, Role.KEY)), line((HEAD, Role.LABEL))]
        for one in rows:
            lines += _row(one, width, one.limit == own, chosen == (strategy, one.limit))
        if len(rows) < len(table.limits):
            lines.append(line(("  …", Role.DIM)))
    lines += [(), *text_lines(EXPLAINED + ("; * the recipe's limit" if own in table.limits else ""), width, Role.DIM)]
    return tuple(crop(cells, width) for cells in lines)


def _row(one: WasteLine, width: int, own: bool, marked: bool) -> Sequence[Line]:
    limit = f"{'*' if own else ' '} {one.limit:>7,} "
    if one.unknown:
        return text_lines(f"{limit}{visible(one.unknown)}", width, Role.WARNING, "          ")
    figures = (
        f"{short(one.tokens):>7} {short(one.padding):>7} {share(one.padding, one.tokens + one.padding or 1, 1):>7}"
        f" {one.steps:>9,} {short(one.cut):>7} {short(one.lost):>7} {short(one.split):>7} {short(one.rows_lost):>9}"
    )
    cells = line((limit, Role.KEY), (figures, Role.NUMBER))
    return (tuple(run._replace(over=Over.CURSOR) for run in cells) if marked else cells,)


def _plot(table: WasteTable, chosen: tuple[str, int], width: int) -> Sequence[Line]:
    """A bar for each limit: the positions of an epoch, tokens below and padding above, beside the most of them."""
    strategy, limit = chosen
    known = {one.limit: one for one in table.lines if one.strategy == strategy and not one.unknown}
    room = max(width // COLUMN, 1)
    at = table.limits.index(limit)
    first = max(0, min(at - room // 2, len(table.limits) - room))
    limits = table.limits[first : first + room]
    most = max((one.tokens + one.padding for one in known.values()), default=0) or 1
    drawn = [
        line(
            (f"{strategy}: tokens ", Role.TITLE),
            ("█", Role.TRAINED),
            (" and padding ", Role.TITLE),
            ("░", Role.MASKED),
            (" of one epoch", Role.TITLE),
        )
    ]
    for level in range(HIGHEST, 0, -1):
        parts: list[tuple[str, Role]] = []
        for one in limits:
            found = known.get(one)
            tokens, whole = (found.tokens, found.tokens + found.padding) if found is not None else (0, 0)
            half = (level - 0.5) * most / HIGHEST
            bar = (
                ("████", Role.TRAINED)
                if tokens > half
                else ("░░░░", Role.MASKED)
                if whole > half
                else ("    ", Role.PLAIN)
            )
            parts += [("   ", Role.PLAIN), bar, ("  ", Role.PLAIN)]
        drawn.append(line(*parts))
    labels = [
        (
            f"{short(one):^{COLUMN}}" if one != limit else f"{'▸' + short(one):^{COLUMN}}",
            Role.KEY if one == limit else Role.LABEL,
        )
        for one in limits
    ]
    return (*drawn, line(*labels))
