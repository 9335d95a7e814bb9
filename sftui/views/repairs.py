"""Data repairs as lines: what they do to a row and how many rows they change; nothing of it is in the file yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sftui.model import Row
from sftui.text import many, visible
from sftui.views.cells import Line, Role, line, wrap
from sftui.views.knobs import diff_text_lines

STAR = "*"
"""Stands wherever a row is shown otherwise than the file has it."""


class SkippedRows(Protocol):
    """Rows on which a repair could not be made: how many, and the first of them by number, place and reason."""

    @property
    def skipped(self) -> int: ...
    @property
    def named(self) -> Sequence[tuple[int, str, str]]: ...


class RepairCounts(SkippedRows, Protocol):
    """What was counted of some repairs."""

    @property
    def rows(self) -> int: ...
    @property
    def changed(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def by_repair(self) -> Sequence[tuple[str, int]]: ...


def repair_words(counted: RepairCounts) -> str:
    """`12 of 41,203 rows changed, 3 left out`, and how many could not be repaired."""
    skipped = f", {counted.skipped:,} could not be repaired" if counted.skipped else ""
    return f"{counted.changed:,} of {many(counted.rows, 'row')} changed, {counted.dropped:,} left out{skipped}"


def skipped_words(counted: SkippedRows) -> list[str]:
    """A sentence for each row that stays as it is because a repair could not be made on it: row, place and why."""
    text = [f"row {row:,} ({where}) stays as it is: {why}" for row, where, why in counted.named]
    more = counted.skipped - len(text)
    return [*text, f"and {more:,} more, each in the log"] if more > 0 else text


def repair_count_lines(counted: RepairCounts | None, total: int | None, done: bool, width: int) -> tuple[Line, ...]:
    """What repairs do to the dataset, in all and one by one; honest about how far the count is."""
    if counted is None:
        return wrap(line(("over the dataset: counting …", Role.DIM)), width)
    so_far = "" if done else f" so far, of {total:,}" if total is not None else " so far"
    lines = list(wrap(line((repair_words(counted), Role.TITLE), (so_far, Role.DIM)), width, "  "))
    widest = max((len(name) for name, _ in counted.by_repair), default=0)
    for name, rows in counted.by_repair:
        lines += wrap(
            line((f"  {visible(name):<{widest}}", Role.KEY), (f"  {many(rows, 'row')}", Role.PLAIN)),
            width,
            "    ",
        )
    for text in skipped_words(counted):
        lines += wrap(line((f"  ! {visible(text)}", Role.WARNING)), width, "    ")
    return tuple(lines)


def repaired_row_lines(row: Row, diff: str, width: int) -> tuple[Line, ...]:
    """What repairs do to one row: each change in words, then its data before and after."""
    if row.left_out is not None:
        return wrap(
            line((f"{STAR} row {row.index:,} is left out, because {visible(row.left_out)}", Role.CHANGED)), width, "  "
        )
    if row.skipped is not None:
        return wrap(
            line((f"! row {row.index:,} cannot be repaired and stays as it is: {visible(row.skipped)}", Role.WARNING)),
            width,
            "  ",
        )
    if not row.repairs:
        return (line((f"row {row.index:,} stays as it is", Role.DIM)),)
    lines = list(wrap(line((f"{STAR} row {row.index:,} becomes", Role.TITLE)), width))
    for text in row.repairs:
        lines += wrap(line((f"  {visible(text)}", Role.CHANGED)), width, "    ")
    return (*lines, *(diff_text_lines(diff, width) if diff else ()))
