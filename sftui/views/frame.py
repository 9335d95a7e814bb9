"""The rules between panes, with their names in them: which pane holds the keys shows without colour too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sftui.text import cell_width, clip
from sftui.views.cells import Line, LineBuilder, Role, crop

ACTIVE = "▸"
"""Stands before the name of the pane that holds the keys."""
LIGHT = {"lr": "─", "ud": "│", "udlr": "┼", "dlr": "┬", "ulr": "┴", "udr": "├", "udl": "┤", "dr": "┌", "dl": "┐",
         "ur": "└", "ul": "┘", "l": "─", "r": "─", "u": "│", "d": "│", "": " "}  # fmt: skip
HEAVY = {"lr": "━", "ud": "┃", "udlr": "╋", "dlr": "┳", "ulr": "┻", "udr": "┣", "udl": "┫", "dr": "┏", "dl": "┓",
         "ur": "┗", "ul": "┛", "l": "━", "r": "━", "u": "┃", "d": "┃", "": " "}  # fmt: skip


class Framed(NamedTuple):
    """A pane at its place: cells of the body, and its `title` where a rule is above it."""

    x: int
    y: int
    width: int
    height: int
    title: Line | None = None
    active: bool = False


def frame_lines(panes: Sequence[Framed], width: int, height: int) -> tuple[Line, ...]:
    """What stands around panes in a body of so many cells: rules on top of those with a title, and between columns."""
    light: dict[int, set[int]] = {}
    heavy: dict[int, set[int]] = {}
    titles: dict[int, list[Framed]] = {}
    for pane in panes:
        rules = heavy if pane.active else light
        top = pane.y - (pane.title is not None)
        if pane.title is not None:
            titles.setdefault(top, []).append(pane)
            rules.setdefault(top, set()).update(range(pane.x, min(pane.x + pane.width, width)))
        for x in (pane.x - 1, pane.x + pane.width):
            if 0 <= x < width:
                for y in range(top, min(pane.y + pane.height, height)):
                    rules.setdefault(y, set()).add(x)
    return tuple(_line(y, light, heavy, titles.get(y, ()), width) for y in range(height))


def _line(y: int, light: dict[int, set[int]], heavy: dict[int, set[int]], titled: Sequence[Framed], width: int) -> Line:
    ruled = light.get(y, set()) | heavy.get(y, set())
    above, below = (light.get(at, set()) | heavy.get(at, set()) for at in (y - 1, y + 1))
    across = {x for pane in titled for x in range(pane.x, pane.x + pane.width)}
    builder = LineBuilder()
    starts = {pane.x: pane for pane in titled}
    x = 0
    while x < width:
        pane = starts.pop(x, None)  # once: a pane of no cells leaves the place where it is
        if pane is not None and pane.title:
            for run in crop(pane.title, pane.width):
                builder.add(run.text, run.role, run.over)
            x = builder.width
            continue
        bold = x in heavy.get(y, ())
        builder.add(*_cell(x, ruled, above, below, across, bold))
        x += 1
    return builder.line()


def _cell(x: int, ruled: set[int], above: set[int], below: set[int], across: set[int], bold: bool) -> tuple[str, Role]:
    if x not in ruled:
        return " ", Role.PLAIN
    joins = ""
    if x in across:
        joins = "lr"
    else:
        joins += "u" if x in above else ""
        joins += "d" if x in below else ""
        joins += "l" if x - 1 in across else ""
        joins += "r" if x + 1 in across else ""
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
