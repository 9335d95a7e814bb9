"""The frames around panes, with their numbers, names and keys: which one holds the keys shows without colour."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sftui.text import cell_width, clip
from sftui.views.cells import Line, LineBuilder, Role, crop

ACTIVE = "▸"
"""Stands before the name of the pane that holds the keys."""
RULE, SIDE = "─", "│"


class FramedPane(NamedTuple):
    """A pane at its place: cells of the body inside its frame. `boxed`: the frame goes all around, else it is a rule
    above where there is a `title`. `rules` are lines of the pane that are rules themselves, which the frame joins."""

    x: int
    y: int
    width: int
    height: int
    title: Line | None = None
    active: bool = False
    boxed: bool = True
    rules: tuple[int, ...] = ()


class _Edge(NamedTuple):
    """What one line of the body shows of a frame: cells from `x` on, with `ends` at both sides of it where it is boxed;
    a `title` where it is the top."""

    x: int
    width: int
    ends: str
    across: bool
    title: Line
    active: bool


def frame_lines(panes: Sequence[FramedPane], width: int, height: int) -> tuple[Line, ...]:
    """What stands around panes in a body of so many cells.

    Lines are kept as they were drawn: most keys change one title.
    """
    lines = list(_untitled(tuple(pane._replace(title=pane.title and ()) for pane in panes), width, height))
    for y in {pane.y - 1 for pane in panes if pane.title and 0 < pane.y <= height}:
        lines[y] = _line(_edges(panes, y), width)
    return tuple(lines)


@lru_cache(4)
def _untitled(panes: tuple[FramedPane, ...], width: int, height: int) -> tuple[Line, ...]:
    return tuple(_line(_edges(panes, y), width) for y in range(height))


def _edges(panes: Sequence[FramedPane], y: int) -> tuple[_Edge, ...]:
    """What a line shows of the frames, from left to right."""
    edges = []
    for pane in panes:
        x, cells = (pane.x - 1, pane.width + 2) if pane.boxed else (pane.x, pane.width)
        if y == pane.y - 1 and pane.title is not None:
            edges.append(_Edge(x, cells, "╭╮" if pane.boxed else "", True, pane.title, pane.active))
        elif pane.boxed and pane.y <= y < pane.y + pane.height:
            ends = "├┤" if y - pane.y in pane.rules else SIDE * 2
            edges.append(_Edge(x, cells, ends, False, (), pane.active))
        elif pane.boxed and y == pane.y + pane.height:
            edges.append(_Edge(x, cells, "╰╯", True, (), pane.active))
    return tuple(sorted(edges, key=lambda edge: edge.x))


@lru_cache(512)
def _line(edges: tuple[_Edge, ...], width: int) -> Line:
    builder = LineBuilder()
    for x, cells, ends, across, title, active in edges:
        role = Role.FOCUS if active else Role.BORDER
        builder.add(" " * (x - builder.width), Role.PLAIN).add(ends[:1], role)
        room = max(cells - len(ends), 0)
        for run in crop(title, room):
            builder.add(run.text, run.role, run.over)
            room -= run.width
        builder.add((RULE if across else " ") * room, role if across else Role.PLAIN).add(ends[1:], role)
    return crop(builder.add(" " * (width - builder.width), Role.PLAIN).line(), width)


def title_cells(
    name: str, hint: str, width: int, active: bool, *, number: int = 0, key: str = "", rule: bool = True
) -> Line:
    """The number and the name of a pane, the key that leads to it, and what its keys do: of these, parted by ` · `, as
    many as fit whole. In a `rule`, a cell of it stands where the sign of the keys would."""
    sign = ACTIVE if active else RULE if rule else " "
    builder = LineBuilder().add(sign, Role.FOCUS if active or not rule else Role.BORDER)
    named = f"{number} {name}" if number else name
    builder.add(f"{clip(named, width - 2)} ", Role.TITLE)
    if key and builder.width + cell_width(key) + 3 <= width:
        builder.add(f"({key}) ", Role.KEY)
    hints = hint.split(" · ") if hint else []
    while hints and cell_width(" · ".join(hints)) > width - builder.width - 2:
        hints.pop()
    if hints:
        builder.add("" if rule else " ", Role.PLAIN).add(" · ".join(hints) + (" " if rule else ""), Role.DIM)
    return builder.line()
