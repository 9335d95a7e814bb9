"""The roles of drawn cells as letters, for goldens of views."""

from __future__ import annotations

from collections.abc import Iterable

from sftui.text import cell_width
from sftui.views.cells import Line, Over, Role

ROLE_LETTERS: dict[Role, str] = {
    Role.PLAIN: ".",
    Role.TRAINED: "T",
    Role.LEARNT: "L",
    Role.WEIGHTED: "w",
    Role.MASKED: "m",
    Role.SPECIAL: "S",
    Role.HEADER: "h",
    Role.CUT: "x",
    Role.GHOST: "g",
    Role.PAD: "p",
    Role.BORDER: "|",
    Role.LABEL: "l",
    Role.POSITION: "n",
    Role.NUMBER: "#",
    Role.TITLE: "t",
    Role.DIM: "d",
    Role.KEY: "k",
    Role.VALUE: "v",
    Role.CHANGED: "c",
    Role.WARNING: "!",
    Role.ERROR: "E",
    Role.GOOD: "o",
    Role.ADDED: "+",
    Role.REMOVED: "-",
    Role.FOCUS: "F",
    Role.SYSTEM: "s",
    Role.USER: "u",
    Role.ASSISTANT: "a",
    Role.TOOL: "f",
}
OVER_LETTERS: dict[Over, str] = {Over.CURSOR: "@", Over.BAR: "=", Over.HIT: "?", Over.MARK: "*"}


def role_map(lines: Iterable[Line]) -> str:
    """One letter for the role of each cell, in the shape of `plain`."""
    rows = []
    for cells in lines:
        letters = "".join((OVER_LETTERS.get(s.over) or ROLE_LETTERS[s.role]) * s.width for s in cells)
        text_width = cell_width("".join(s.text for s in cells).rstrip())
        rows.append(letters[:text_width])
    return "\n".join(rows) + "\n"
