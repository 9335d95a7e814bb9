"""A pane of lines to read: conversation, rendered text, raw row, boundary, batch."""

from __future__ import annotations

from collections.abc import Callable

from sftui.tui.line_view import LineView
from sftui.views.cells import Line, Role, line
from sftui.views.frame import title_cells

HINT = "o next pane · Esc closes"
Maker = Callable[[int], tuple[Line, ...]]
"""Lines for a width in cells."""


class DocumentPane(LineView):
    """Shows what a maker gives for its width; scrolls down and, where lines are wider, right."""

    def __init__(self, ident: str) -> None:
        super().__init__(ident)
        self.name_of_view = ""
        self.lines: tuple[Line, ...] = ()
        self.hint = HINT
        self._make: Maker = lambda width: ()

    def show(self, name: str, make: Maker, *, keep: bool = False, hint: str = HINT) -> None:
        """Another document, with what its keys do next to the title; `keep` stays where the reader is (the same view of
        a changed row)."""
        if not (keep and name == self.name_of_view):
            self.top = self.left = 0
        self.name_of_view, self._make, self.hint = name, make, hint
        self.resized()
        self.repaint()

    def resized(self) -> None:
        self.lines = self._make(max(self.size.width - 1, 8)) if self.size.width else ()
        super().resized()

    def title(self, width: int, active: bool) -> Line:
        return title_cells(self.name_of_view, self.hint, width, active)

    @property
    def heads(self) -> int:
        """Lines of its own title: one where no rule above has it."""
        return int(not self.headed)

    @property
    def widest(self) -> int:
        return max((sum(run.width for run in cells) for cells in self.lines), default=0)

    def line_count(self) -> int:
        return len(self.lines) + self.heads

    def line_cells(self, number: int) -> Line:
        if number < self.heads:
            return title_cells(self.name_of_view, self.hint, self.size.width, self.active, rule=False)
        return line((" ", Role.PLAIN)) + self.lines[number - self.heads]
