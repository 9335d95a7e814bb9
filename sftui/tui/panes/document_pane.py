"""A pane of lines to read: conversation, rendered text, raw row, boundary, batch; and of figures, some of which can be
marked."""

from __future__ import annotations

from collections.abc import Callable

from sftui.tui.line_view import WIDE, LineView
from sftui.views.cells import Line, Role, barred, line, plain
from sftui.views.frame import title_cells

HINT = "o next pane · Esc closes"
Maker = Callable[[int], tuple[Line, ...]]
"""Lines for a width in cells."""


class DocumentPane(LineView):
    """Shows what a maker gives for its width; scrolls down and, where lines are wider, right."""

    def __init__(self) -> None:
        super().__init__()
        self.name_of_view = ""
        self.hint = HINT
        self._make: Maker = lambda width: ()

    def show(self, name: str, make: Maker, *, keep: bool = False, hint: str = HINT) -> None:
        """Another document, with what its keys do next to the title; `keep` stays where the reader is (the same view of
        a changed row)."""
        if not (keep and name == self.name_of_view):
            self.top = self.left = 0
        self.name_of_view, self._make, self.hint = name, make, hint
        self.rebuild()

    def resized(self) -> None:
        self.lines = self._make(max(self.size.width - 1, 8)) if self.size.width else ()
        super().resized()

    def named(self) -> str:
        return self.name_of_view

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
            return title_cells(
                self.name_of_view + self.filter_words(), self.hint, self.size.width, self.active, rule=False
            )
        return line((" ", Role.PLAIN)) + self.lines[number - self.heads]


Owned = tuple[tuple[Line, str], ...]
"""Lines, each with what lists the rows behind it, a code or a number of the figures; "" where there are none."""


class FiguresPane(DocumentPane):
    """A pane to read in which moves go over what has rows where that is on screen, and scroll elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.marked: Callable[[], str] = lambda: ""
        self.mark: Callable[[str], None] = lambda by: None
        self.listed: frozenset[str] = frozenset()
        self._owned: Callable[[int], Owned] = lambda width: ()

    def show_owned(self, name: str, make: Callable[[int], Owned], *, keep: bool, hint: str) -> None:
        """Other figures; `make` gives their lines for a width in cells."""
        self._owned = make
        self.show(name, self._lines, keep=keep, hint=hint)

    def _lines(self, width: int) -> tuple[Line, ...]:
        if self.filter:
            texts = dict[str, str]()
            for cells, by in self._owned(WIDE):
                texts[by] = texts.get(by, "") + plain((cells,))
            self.listed = frozenset(self.filtered(filter(None, texts), texts.__getitem__))
        owned = [(cells, by) for cells, by in self._owned(width) if self.lists(by)]
        self.owners = tuple(by or None for _, by in owned)
        return tuple(cells for cells, _ in owned)

    def lists(self, by: str) -> bool:
        """Whether that has the words of the filter."""
        return not self.filter or by in self.listed

    def set_filter(self, text: str) -> None:
        super().set_filter(text)
        if self.owners and self.marked() not in self.owners:
            self._choose(next(filter(None, self.owners), ""))

    def line_cells(self, number: int) -> Line:
        cells, by = super().line_cells(number), self._begun(number)
        if by is None or by != self.marked():
            return cells
        return barred(line(("▸", Role.PLAIN)) + cells[1:], self.size.width, self.active)

    def _begun(self, number: int) -> str | None:
        """What has rows and begins on a line."""
        by = self.owner(number)
        return by if by is not None and self.owners.index(by) == number - self.heads else None

    # — moving —

    def step(self, kind: str, count: int) -> None:
        """To an end: the first of all and the top, or the last and the bottom."""
        if kind not in ("home", "end"):
            super().step(kind, count)
            return
        if owners := [by for by in self.owners if by]:
            self._choose(owners[-1 if kind == "end" else 0])
        self.scroll_top(self.line_count() if kind == "end" else 0)

    def move(self, steps: int) -> None:
        """So many on (back); a line on where there is none."""
        for _ in range(abs(steps)):
            self._one_on(1 if steps > 0 else -1)

    def _one_on(self, step: int) -> None:
        lines, marked = range(self.top, self.top + self.size.height), self.marked()
        seen = [by for number in lines if (by := self._begun(number))][::step]
        owners = [*dict.fromkeys(by for by in self.owners if by)][::step]
        ahead = owners[owners.index(marked) + 1 :] if marked in seen else seen
        if ahead:
            self._choose(ahead[0])
        else:
            self.scroll_lines(step)

    def pick(self, number: int) -> None:
        """Mark what is on a clicked line."""
        if by := self.owner(number):
            self._choose(by)

    def _choose(self, by: str) -> None:
        self.mark(by)
        self.resized()
        self.keep_owner_in_view(by)
        self.repaint()
