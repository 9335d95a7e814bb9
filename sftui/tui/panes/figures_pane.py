"""The figures of the audit, and its findings by code, one of them marked."""

from __future__ import annotations

from collections.abc import Callable

from sftui.tui.panes.document_pane import DocumentPane
from sftui.views import Line, Role
from sftui.views.cells import line

Owned = tuple[tuple[Line, str], ...]
"""Lines, each with the code that it tells of; an empty one is nobody's."""


class FiguresPane(DocumentPane):
    """A pane to read in which moves go from code to code where codes are on screen, and scroll elsewhere."""

    def __init__(self, ident: str) -> None:
        super().__init__(ident)
        self.marked: Callable[[], str] = lambda: ""
        self.mark: Callable[[str], None] = lambda code: None
        self._owners: tuple[str, ...] = ()
        self._owned: Callable[[int], Owned] = lambda width: ()

    def show_owned(self, name: str, make: Callable[[int], Owned], *, keep: bool, hint: str) -> None:
        """Other figures; `make` gives their lines for a width in cells."""
        self._owned = make
        self.show(name, self._lines, keep=keep, hint=hint)

    def _lines(self, width: int) -> tuple[Line, ...]:
        made = self._owned(width)
        self._owners = tuple(code for _, code in made)
        return tuple(cells for cells, _ in made)

    def line_cells(self, number: int) -> Line:
        cells = super().line_cells(number)
        code = self._owners[number - 1] if number else ""
        if not code or code != self.marked() or self._owners.index(code) != number - 1:
            return cells
        return line(("▸", Role.PLAIN)) + cells[1:]

    # — moving —

    def _on_screen(self) -> list[str]:
        """The codes whose first line is on screen, from above."""
        last = min(self.top + self.size.height, self.line_count())
        return [
            code
            for number in range(max(1, self.top), last)
            if (code := self._owners[number - 1]) and self._owners.index(code) == number - 1
        ]

    def move(self, steps: int) -> None:
        """So many codes on (back); a line on where there is none."""
        for _ in range(abs(steps)):
            self._step(1 if steps > 0 else -1)

    def _step(self, step: int) -> None:
        seen, codes = self._on_screen(), list(dict.fromkeys(code for code in self._owners if code))
        marked = self.marked()
        if marked in seen:
            at = codes.index(marked) + step
            following = codes[at] if 0 <= at < len(codes) else ""
        else:
            following = seen[0 if step > 0 else -1] if seen else ""
        if following:
            self._choose(following)
        else:
            self.scroll_lines(step)

    def to_end(self, last: bool) -> None:
        """The first code and the top, or the last code and the bottom."""
        codes = [code for code in self._owners if code]
        if codes:
            self._choose(codes[-1 if last else 0])
        self.scroll_top(self.line_count() if last else 0)

    def pick(self, number: int) -> None:
        """Mark the code on a clicked line."""
        code = self._owners[number - 1] if 0 < number <= len(self._owners) else ""
        if code:
            self._choose(code)

    def _choose(self, code: str) -> None:
        self.mark(code)
        self.resized()
        own = [number for number, owner in enumerate(self._owners, start=1) if owner == code]
        self.keep_in_view(own[-1])
        self.keep_in_view(own[0])
        self.repaint()
