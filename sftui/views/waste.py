"""The waste of length limits and packing strategies as lines: every one of the table, or a plot of one strategy with
what a limit does under all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sftui.audit.bars import short
from sftui.text import many, share, visible
from sftui.views.cells import Line, Over, Role, crop, line, text_lines

if TYPE_CHECKING:
    from sftui.audit.waste import WasteLine, WasteTable

COLUMN, HIGHEST = 9, 5
"""Cells of one limit in the plot, and its lines."""
WIDE = {"tokens": 7, "padding": 7, "share": 7, "steps": 9, "cut": 6, "lost": 6, "split": 6, "rows lost": 9}
NARROW = {"share": 5, "steps": 5, "cut": 4, "lost": 4, "split": 5, "rows": 4}
"""Columns and their cells; the narrow ones where the others have no room."""
NARROW_TABLE = 76
EXPLAINED = (
    "cut, lost, split: answers that lose some of their tokens, that are not trained at all, that go on in another pack;"
    " rows lost: not trained at all"
)


def waste_lines(table: WasteTable, width: int, own: int | None = None) -> tuple[Line, ...]:
    """Every line, strategy after strategy, the recipe's `own` limit with a `*`; at most `width` cells wide."""
    lines = [*_head(table, width)]
    for note in table.notes:
        lines += text_lines(note, width, Role.DIM)
    for strategy in table.strategies:
        lines += [(), line((strategy, Role.KEY)), *_limits(table, strategy, width, own)]
    return tuple(crop(cells, width) for cells in (*lines, (), *text_lines(_explained(table, own), width, Role.DIM)))


def chosen_lines(table: WasteTable, width: int, strategy: str, limit: int, own: int | None = None) -> tuple[Line, ...]:
    """A plot and every limit of one strategy, the chosen one marked, and what this limit does under each strategy."""
    lines = [*_head(table, width), (), *_plot(table, strategy, limit, width), ()]
    lines += _limits(table, strategy, width, own, limit)
    widest = max(map(len, table.strategies))
    lines += [(), line((f"{limit:,} tokens under each strategy", Role.TITLE))]
    lines.append(_heads(" " * widest, width))
    for name in table.strategies:
        found = next((one for one in table.lines if (one.strategy, one.limit) == (name, limit)), None)
        lines += _row(found, f"{name:{widest}}", width, name == strategy)
    lines.append(())
    for note in (_explained(table, own), *table.notes):
        lines += text_lines(note, width, Role.DIM)
    return tuple(crop(cells, width) for cells in lines)


def _explained(table: WasteTable, own: int | None) -> str:
    return EXPLAINED + ("; * the recipe's limit" if own in table.limits else "")


def _head(table: WasteTable, width: int) -> Sequence[Line]:
    rows, answers = many(table.rows, "row"), many(table.answers, "answer")
    return text_lines(f"{rows} · {answers} · {table.tokens:,} tokens · longest {table.longest:,}", width, Role.TITLE)


def _limits(table: WasteTable, strategy: str, width: int, own: int | None, limit: int = 0) -> Iterator[Line]:
    known = {one.limit: one for one in table.lines if one.strategy == strategy}
    yield _heads("   limit", width)
    for one in table.limits:
        yield from _row(known.get(one), f"{'*' if one == own else ' '}{one:>7,}", width, one == limit)


def _heads(name: str, width: int) -> Line:
    return line((name + _in_columns(tuple(WIDE if width >= NARROW_TABLE else NARROW), width), Role.LABEL))


def _in_columns(figures: Sequence[str], width: int) -> str:
    cells = (WIDE if width >= NARROW_TABLE else NARROW).values()
    return "".join(f" {figure:>{room}}" for figure, room in zip(figures, cells, strict=True))


def _row(one: WasteLine | None, name: str, width: int, marked: bool) -> Sequence[Line]:
    if one is None:
        return (line((f"{name} …", Role.DIM)),)
    if one.unknown:
        return text_lines(f"{name} {visible(one.unknown)}", width, Role.WARNING, " " * (len(name) + 1))
    counts, whole = tuple(map(short, (one.cut, one.lost, one.split, one.rows_lost))), one.tokens + one.padding or 1
    if width < NARROW_TABLE:
        figures = (share(one.padding, whole), short(one.steps), *counts)
    else:
        padded = share(one.padding, whole, 1)
        figures = (short(one.tokens), short(one.padding), padded, f"{one.steps:,}", *counts)
    cells = line((name, Role.KEY), (_in_columns(figures, width), Role.NUMBER))
    return (tuple(run._replace(over=Over.CURSOR) for run in cells) if marked else cells,)


def _plot(table: WasteTable, strategy: str, limit: int, width: int) -> Iterator[Line]:
    """A bar for each limit: the positions of an epoch, tokens below and padding above, beside the most of them."""
    known = {one.limit: one for one in table.lines if one.strategy == strategy}
    room = max(width // COLUMN, 1)
    first = max(0, min(table.limits.index(limit) - room // 2, len(table.limits) - room))
    limits = table.limits[first : first + room]
    most = max((one.tokens + one.padding for one in known.values()), default=0) or 1
    signs = (("█", Role.TRAINED), (" tokens  ", Role.DIM), ("░", Role.MASKED), (" padding of one epoch", Role.DIM))
    yield line((f"{strategy}  ", Role.KEY), *signs)
    for level in range(HIGHEST, 0, -1):
        half, parts = (level - 0.5) * most / HIGHEST, list[tuple[str, Role]]()
        for at in limits:
            one = known.get(at)
            tokens, whole = (one.tokens, one.tokens + one.padding) if one is not None else (0, 0)
            sign, role = (
                ("█", Role.TRAINED) if tokens > half else ("░", Role.MASKED) if whole > half else (" ", Role.PLAIN)
            )
            parts += [("  ", Role.PLAIN), (sign * (COLUMN - 4), role), ("  ", Role.PLAIN)]
        yield line(*parts)
    names = [(f"▸{short(at)}" if at == limit else short(at), Role.KEY if at == limit else Role.LABEL) for at in limits]
    yield line(*((f"{name:^{COLUMN}}", role) for name, role in names))
