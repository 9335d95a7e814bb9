"""A pane of lines to read: conversation, rendered text, raw row, boundary, batch; and of figures, some of which can be
marked."""

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


Owned = tuple[tuple[Line, str], ...]
"""Lines, each with what lists the rows behind it, a code or a number of the figures; "" where there are none."""


class FiguresPane(DocumentPane):
    """A pane to read in which moves go over what has rows where that is on screen, and scroll elsewhere."""

    def __init__(self, ident: str) -> None:
        super().__init__(ident)
        self.marked: Callable[[], str] = lambda: ""
        self.mark: Callable[[str], None] = lambda by: None
        self._owners: tuple[str, ...] = ()
        self._owned: Callable[[int], Owned] = lambda width: ()

    def show_owned(self, name: str, make: Callable[[int], Owned], *, keep: bool, hint: str) -> None:
        """Other figures; `make` gives their lines for a width in cells."""
        self._owned = make
        self.show(name, self._lines, keep=keep, hint=hint)

    def _lines(self, width: int) -> tuple[Line, ...]:
        made = self._owned(width)
        self._owners = tuple(by for _, by in made)
        return tuple(cells for cells, _ in made)

    def line_cells(self, number: int) -> Line:
        cells = super().line_cells(number)
        by = self._owner(number)
        if not by or by != self.marked() or self._owners.index(by) != number - self.heads:
            return cells
        return line(("▸", Role.PLAIN)) + cells[1:]

    def _owner(self, number: int) -> str:
        """What lists the rows behind a line; "" where there are none."""
        at = number - self.heads
        return self._owners[at] if 0 <= at < len(self._owners) else ""

    # — moving —

    def _on_screen(self) -> list[str]:
        """What has rows and its first line on screen, from above."""
        last = min(self.top + self.size.height, self.line_count())
        return [
            by
            for number in range(max(self.heads, self.top), last)
            if (by := self._owner(number)) and self._owners.index(by) == number - self.heads
        ]

    def move(self, steps: int) -> None:
        """So many on (back); a line on where there is none."""
        for _ in range(abs(steps)):
            self._step(1 if steps > 0 else -1)

    def _step(self, step: int) -> None:
        seen, owners = self._on_screen(), list(dict.fromkeys(by for by in self._owners if by))
        marked = self.marked()
        if marked in seen:
            at = owners.index(marked) + step
            following = owners[at] if 0 <= at < len(owners) else ""
        else:
            following = seen[0 if step > 0 else -1] if seen else ""
        if following:
            self._choose(following)
        else:
            self.scroll_lines(step)

    def to_end(self, last: bool) -> None:
        """The first of all and the top, or the last and the bottom."""
        owners = [by for by in self._owners if by]
        if owners:
            self._choose(owners[-1 if last else 0])
        self.scroll_top(self.line_count() if last else 0)

    def pick(self, number: int) -> None:
        """Mark what is on a clicked line."""
        by = self._owner(number)
        if by:
            self._choose(by)

    def _choose(self, by: str) -> None:
        self.mark(by)
        self.resized()
        own = [number for number, owner in enumerate(self._owners, start=self.heads) if owner == by]
        self.keep_in_view(own[-1])
        self.keep_in_view(own[0])
        self.repaint()
