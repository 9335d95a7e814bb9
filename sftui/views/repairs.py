"""Data repairs as lines: what they do to a row and how many rows they change; nothing of it is in the file yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sftui.model import Row
from sftui.text import many, visible
from sftui.views.cells import Line, Role, line, wrap
from sftui.views.knobs import diff_text_lines

STAR = "*"
"""Stands wherever a row is shown otherwise than the file has it."""


class RepairCount(NamedTuple):
    """How many rows repairs change and leave out, and how many each of them touches; in the order of most rows.

    `skipped` rows stay as they are because a repair could not be made on them; `named` are the first of them: number,
    where, why.
    """

    rows: int = 0
    changed: int = 0
    dropped: int = 0
    by_repair: tuple[tuple[str, int], ...] = ()
    skipped: int = 0
    named: tuple[tuple[int, str, str], ...] = ()


def repair_words(counted: RepairCount) -> str:
    """`12 of 41,203 rows changed, 3 dropped`, and how many could not be repaired."""
    skipped = f", {counted.skipped:,} could not be repaired" if counted.skipped else ""
    return f"{counted.changed:,} of {many(counted.rows, 'row')} changed, {counted.dropped:,} dropped{skipped}"


def skipped_words(skipped: int, named: Sequence[tuple[int, str, str]]) -> list[str]:
    """A sentence for each reason why rows stay as they are, of so many, because a repair could not be made on them: the
    first such row, its place and why."""
    first = {why: f"row {row:,} ({where}) stays unchanged: {why}" for row, where, why in reversed(named)}
    text = [*first.values()][::-1]
    more = skipped - len(text)
    return [*text, f"and {more:,} more, all in the log"] if more > 0 else text


def repair_count_lines(counted: RepairCount | None, total: int | None, done: bool, width: int) -> tuple[Line, ...]:
    """What repairs do to the dataset, in all and one by one; honest about how far the count is."""
    if counted is None:
        return wrap(line(("counting over the dataset …", Role.DIM)), width)
    so_far = "" if done else f" so far, of {total:,}" if total is not None else " so far"
    lines = list(wrap(line((repair_words(counted), Role.TITLE), (so_far, Role.DIM)), width, "  "))
    widest = max((len(name) for name, _ in counted.by_repair), default=0)
    for name, rows in counted.by_repair:
        lines += wrap(line((f"  {visible(name):<{widest}}", Role.KEY), f"  {many(rows, 'row')}"), width, "    ")
    for text in skipped_words(counted.skipped, counted.named):
        lines += wrap(line((f"  ! {visible(text)}", Role.WARNING)), width, "    ")
    return tuple(lines)


def repaired_row_lines(row: Row, diff: str, width: int) -> tuple[Line, ...]:
    """What repairs do to one row: each change in words, then its data before and after."""
    if row.left_out is not None:
        text = f"{STAR} row {row.index:,} is dropped, because {visible(row.left_out)}"
        return wrap(line((text, Role.CHANGED)), width, "  ")
    if row.skipped is not None:
        text = f"! row {row.index:,} cannot be repaired and stays unchanged: {visible(row.skipped)}"
        return wrap(line((text, Role.WARNING)), width, "  ")
    if not row.repairs:
        return (line((f"row {row.index:,} stays unchanged", Role.DIM)),)
    lines = list(wrap(line((f"{STAR} row {row.index:,} becomes", Role.TITLE)), width))
    for text in row.repairs:
        lines += wrap(line((f"  {visible(text)}", Role.CHANGED)), width, "    ")
    return (*lines, *(diff_text_lines(diff, width) if diff else ()))
