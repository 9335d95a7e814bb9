"""The rules between panes, with their names in them: which pane holds the keys shows without colour too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sftui.text import cell_width, clip
from sftui.views.cells import Line, LineBuilder, Role, crop

ACTIVE = "▸"
"""Stands before the name of the pane that holds the keys."""
LIGHT = {"lr": "─", "ud": "│", "udlr": "┼", "dlr": "┬", "ulr": "┴", "udr": "├", "udl": "┤", "dr": "┌", "dl": "┐",
         "ur": "└", "ul": "┘", "l": "─", "r": "─", "u": "│", "d": "│", "": " "}  # fmt: skip
HEAVY = {"lr": "━", "ud": "┃", "udlr": "╋", "dlr": "┳", "ulr": "┻", "udr": "┣", "udl": "┫", "dr": "┏", "dl": "┓",
         "ur": "┗", "ul": "┛", "l": "━", "r": "━", "u": "┃", "d": "┃", "": " "}  # fmt: skip


class FramedPane(NamedTuple):
    """A pane at its place: cells of the body, and its `title` where a rule is above it."""

    x: int
    y: int
    width: int
    height: int
    title: Line | None = None
    active: bool = False


def frame_lines(panes: Sequence[FramedPane], width: int, height: int) -> tuple[Line, ...]:
    """What stands around panes in a body of so many cells: rules on top of those with a title, and between columns.

    Lines are kept as they were drawn: most keys change one title.
    """
    untitled = tuple(pane._replace(title=pane.title and ()) for pane in panes)
    titled = [pane for pane in panes if pane.title is not None]
    return tuple(
        _line(y, tuple(pane for pane in titled if pane.y - 1 == y), untitled, width, height) for y in range(height)
    )


class _RuleCells(NamedTuple):
    """The cells of each line that have a rule: around the pane that holds the keys a heavy one."""

    light: dict[int, set[int]]
    heavy: dict[int, set[int]]

    def of(self, y: int) -> set[int]:
        return self.light.get(y, set()) | self.heavy.get(y, set())


@lru_cache(2)
def _rules(panes: tuple[FramedPane, ...], width: int, height: int) -> _RuleCells:
    found = _RuleCells({}, {})
    for pane in panes:
        rules = found.heavy if pane.active else found.light
        top = pane.y - (pane.title is not None)
        if pane.title is not None:
            rules.setdefault(top, set()).update(range(pane.x, min(pane.x + pane.width, width)))
        for x in (pane.x - 1, pane.x + pane.width):
            if 0 <= x < width:
                for y in range(top, min(pane.y + pane.height, height)):
                    rules.setdefault(y, set()).add(x)
    return found


@lru_cache(512)
def _line(y: int, titled: Sequence[FramedPane], panes: tuple[FramedPane, ...], width: int, height: int) -> Line:
    rules = _rules(panes, width, height)
    ruled, above, below = rules.of(y), rules.of(y - 1), rules.of(y + 1)
    heavy = rules.heavy.get(y, set())
    across = {x for pane in titled for x in range(pane.x, pane.x + pane.width)}
    starts = {pane.x: pane for pane in titled}
    builder = LineBuilder()
    for x in sorted(at for at in ruled | starts.keys() if at < width):
        if x < builder.width:
            continue  # within a title
        builder.add(" " * (x - builder.width), Role.PLAIN)
        pane = starts.get(x)
        for run in crop(pane.title, pane.width) if pane is not None and pane.title else ():
            builder.add(run.text, run.role, run.over)
        if x == builder.width and x in ruled:  # no title, or one of a pane without cells
            builder.add(*_cell(x, above, below, across, x in heavy))
    return builder.add(" " * (width - builder.width), Role.PLAIN).line()


def _cell(x: int, above: set[int], below: set[int], across: set[int], bold: bool) -> tuple[str, Role]:
    sides = {"u": x in above, "d": x in below, "l": x - 1 in across, "r": x + 1 in across}
    joins = "lr" if x in across else "".join(side for side, there in sides.items() if there)
    return (HEAVY if bold else LIGHT)[joins], Role.FOCUS if bold else Role.BORDER


def title_cells(name: str, hint: str, width: int, active: bool, rule: bool = True) -> Line:
    """The name of a pane and what its keys do: of these, parted by ` · `, as many as fit whole. In a `rule`, a cell of
    it stands before."""
    builder = LineBuilder()
    if rule:
        builder.add(HEAVY["lr"] if active else LIGHT["lr"], Role.FOCUS if active else Role.BORDER)
    builder.add(ACTIVE if active else " ", Role.FOCUS if active and rule else Role.TITLE)
    builder.add(f"{clip(name, width - 2 - rule)} ", Role.TITLE)
    hints = hint.split(" · ") if hint else []
    while hints and cell_width(" · ".join(hints)) > width - builder.width - 2:
        hints.pop()
    if hints:
        builder.add("" if rule else " ", Role.PLAIN).add(" · ".join(hints) + (" " if rule else ""), Role.DIM)
    return builder.line()
