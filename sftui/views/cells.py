"""Cells as data: a line is a tuple of segments, each a run of one role.

Roles say what a run means, never how it looks; a theme maps them to styles. Nothing may be shown by role alone: a glyph
always says it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from sftui.text import ELLIPSIS, cell_width, split_at, visible


class Role(str, Enum):
    """What a run of cells means."""

    PLAIN = "plain"
    TRAINED = "trained"
    LEARNT = "learnt"
    WEIGHTED = "weighted"
    MASKED = "masked"
    SPECIAL = "special"
    HEADER = "header"
    CUT = "cut"
    GHOST = "ghost"
    PAD = "pad"
    BORDER = "border"
    LABEL = "label"
    POSITION = "position"
    NUMBER = "number"
    TITLE = "title"
    DIM = "dim"
    KEY = "key"
    VALUE = "value"
    CHANGED = "changed"
    WARNING = "warning"
    ERROR = "error"
    GOOD = "good"
    ADDED = "added"
    REMOVED = "removed"
    FOCUS = "focus"
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Over(str, Enum):
    """What lies over a run, whatever its role: the widget reverses, underlines or boxes it."""

    NONE = ""
    CURSOR = "cursor"
    BAR = "bar"
    HIT = "hit"
    MARK = "mark"


class Segment(NamedTuple):
    """A run of cells: `text` is already visible. A tuple, because thousands are made and hashed to paint a screen."""

    text: str
    role: Role = Role.PLAIN
    over: Over = Over.NONE

    @property
    def width(self) -> int:
        return cell_width(self.text)


Line = tuple[Segment, ...]


class LineBuilder:
    """Collects runs and merges neighbours of one role, so that a line stays a few segments."""

    def __init__(self) -> None:
        self._runs: list[Segment] = []
        self._texts: list[str] = []
        self._role = Role.PLAIN
        self._over = Over.NONE
        self.width = 0

    def add(self, text: str, role: Role = Role.PLAIN, over: Over = Over.NONE) -> LineBuilder:
        if not text:
            return self
        if role is not self._role or over is not self._over:
            self._flush()
            self._role, self._over = role, over
        self._texts.append(text)
        self.width += cell_width(text)
        return self

    def pad_to(self, width: int) -> LineBuilder:
        """Plain spaces up to column `width`."""
        return self.add(" " * (width - self.width))

    def line(self) -> Line:
        self._flush()
        return tuple(self._runs)

    def _flush(self) -> None:
        if self._texts:
            self._runs.append(Segment("".join(self._texts), self._role, self._over))
            self._texts = []


def line(*parts: str | tuple[str, Role] | Segment) -> Line:
    """A line of plain strings, (text, role) pairs and segments, runs merged."""
    builder = LineBuilder()
    for part in parts:
        if isinstance(part, str):
            builder.add(part)
        else:
            builder.add(*part)
    return builder.line()


def crop(cells: Line, width: int) -> Line:
    """A line cut to at most `width` cells, with … where anything but spaces is cut."""
    if sum(s.width for s in cells) <= width:
        return cells
    text = "".join(s.text for s in cells)
    cut = "" if cell_width(text.rstrip(" ")) <= width else ELLIPSIS
    kept: list[Segment] = []
    used = 0
    for segment in cells:
        if used + segment.width + len(cut) > width:
            head, _ = split_at(segment.text, max(width - used - len(cut), 0))
            kept.append(segment._replace(text=head + cut if width > used else ""))
            break
        kept.append(segment)
        used += segment.width
    return line(*kept)


def wrap(cells: Line, width: int, indent: str = "") -> tuple[Line, ...]:
    """A line as lines of at most `width` cells, later ones indented; breaks at spaces where it can."""
    lines: list[Line] = []
    builder = LineBuilder()
    for segment in cells:
        for word in _words(segment.text):
            rest = word
            while rest:
                room = width - builder.width
                if cell_width(rest.rstrip(" ")) <= room:
                    head, rest = split_at(rest, room)[0], ""
                elif cell_width(rest) <= width - len(indent) and builder.width > len(indent):
                    head = ""
                else:
                    head, rest = split_at(rest, room)
                    if not head and builder.width <= (len(indent) if lines else 0):
                        head, rest = rest[:1], rest[1:]
                builder.add(head, segment.role, segment.over)
                if rest:
                    lines.append(builder.line())
                    builder = LineBuilder().add(indent)
    lines.append(builder.line())
    return tuple(lines)


def text_lines(text: str, width: int, role: Role = Role.PLAIN, indent: str = "") -> tuple[Line, ...]:
    """Visible text, with real line feeds between its lines, wrapped to `width`."""
    return tuple(row for part in text.split("\n") for row in wrap(line((part, role)), width, indent))


def barred(cells: Line, width: int, active: bool) -> Line:
    """A line of a list as the bar that marks it, from side to side; the `active` one is where the keys are."""
    over = Over.CURSOR if active else Over.BAR
    filled = line(*cells, " " * max(width - sum(run.width for run in cells), 0))
    return tuple(run._replace(over=over) for run in filled)


def warned(text: str, width: int) -> tuple[Line, ...]:
    """A warning, wrapped, whatever stands in it."""
    return wrap(line((visible(text), Role.WARNING)), width)


def bands(widths: Iterable[int], room: int) -> Iterator[int]:
    """Where each band begins, of columns with a cell between them in so many cells; a column has its band at least."""
    used = 0
    for number, width in enumerate(widths):
        if not number or (used and used + width > room):
            yield number
            used = 0
        used += width + 1


def plain(lines: Iterable[Line]) -> str:
    """The lines as text, without trailing spaces."""
    return "\n".join("".join(s.text for s in cells).rstrip() for cells in lines) + "\n"


def _words(text: str) -> Iterator[str]:
    """Words with the spaces that follow them; a per cent sign is one word with its number."""
    start = 0
    while start < len(text):
        end = text.find(" ", start)
        while end > 0 and text[end - 1].isdigit() and text[end + 1 : end + 2] == "%":
            end = text.find(" ", end + 1)
        if end < 0:
            yield text[start:]
            return
        while end < len(text) and text[end] == " ":
            end += 1
        yield text[start:end]
        start = end


WRITERS = {
    name: role
    for role, names in (
        (Role.SYSTEM, ("system", "developer")),
        (Role.USER, ("user", "human")),
        (Role.ASSISTANT, ("assistant", "model", "gpt", "chatbot", "function_call")),
        (Role.TOOL, ("tool", "function", "observation", "ipython", "environment")),
    )
    for name in names
}
"""The roles of messages, as trainers and data name them."""


def writer(name: str, other: Role) -> Role:
    """How the role of a message is drawn; one that is not known as `other`."""
    return WRITERS.get(name.lower(), other)
