"""The list of rows: number, tokens, trained share, flags, and a preview where there is room."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from textual.message import Message

from sftui.model import Inspection, RowSummary
from sftui.tui.line_view import LineView
from sftui.tui.state import Memo
from sftui.views.cells import Line
from sftui.views.status import row_heading, row_line, row_sentence
from sftui.views.strip import row_summary, sparks

BLOCK = 64
"""Rows requested beyond the screen on each side, so that paging finds them at hand."""
MOST = 20_000
"""Summaries kept at most."""
SPARK = 8
"""Cells of a plot in the title."""


class RowList(LineView):
    """Rows of any number: only what is on screen is requested, painted and kept (O(1) in rows)."""

    name_of_pane = "rows"

    @dataclass
    class Wanted(Message):
        """Summaries of lines `start` to `stop` are on screen or near and not at hand; `rows` names them in another
        order."""

        window: tuple[int, int]
        rows: tuple[int, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.total = 0
        self.order: Sequence[int] | None = None
        self._places: dict[int, int] | None = None
        self.current = 0
        self.active = False
        self.signs = 0
        self.pairs = self.margins = False
        self.glyph: Callable[[int], str] = lambda row: ""
        self.summaries: dict[int, RowSummary] = {}
        self.opened: dict[int, RowSummary] = {}
        self._outdated: set[int] = set()
        self.other_side: RowSummary | None = None
        self._requested = (0, 0)
        self._heard = 0
        self._plots: Memo[tuple[tuple[str, str], ...]] = Memo(())

    # — content —

    @property
    def rows(self) -> int:
        """How many lines there are."""
        return self.total if self.order is None else len(self.order)

    def row_at(self, line: int) -> int:
        """The row on a line."""
        return line if self.order is None else self.order[line]

    @property
    def end(self) -> int:
        """The last row that is listed."""
        return self.row_at(max(0, self.rows - 1))

    def line_of(self, row: int) -> int | None:
        """The line of a row; None where it is filtered out."""
        if self.order is None:
            return row
        if self._places is not None:
            return self._places.get(row)
        line = bisect_left(self.order, row)
        return line if line < len(self.order) and self.order[line] == row else None

    def set_order(self, order: Sequence[int] | None, *, ascending: bool = False) -> None:
        """Other rows, or in another order; None for all of them as they stand. `ascending`: they may be millions."""
        self.order = order
        self._places = None if order is None or ascending else {row: line for line, row in enumerate(order)}
        self._requested = (0, 0)
        self.top = 0
        self.rebuild()

    def following(self, row: int, steps: int) -> int:
        """The row so many lines from `row`, stopping at the ends; the first one where `row` is not listed."""
        if self.order is None:
            return max(0, row + steps)
        line = self.line_of(row)
        return self.order[max(0, min(line + steps, len(self.order) - 1)) if line is not None else 0]

    def set_count(self, rows: int) -> None:
        self.total = rows
        self.rebuild()

    def set_current(self, row: int, active: bool) -> None:
        self.current, self.active = row, active
        self.rebuild()

    def put(self, rows: tuple[RowSummary, ...]) -> None:
        self._heard += 1
        self.margins = self.margins or any(summary.pair is not None and summary.pair.margin for summary in rows)
        self.summaries.update((summary.index, summary) for summary in rows)
        self._outdated.difference_update(summary.index for summary in rows)
        self.repaint()

    def figures(self, row: int) -> RowSummary | None:
        """The line of a row whose figures are known, and are those of the recipe in force."""
        listed = self.summaries.get(row)
        known = listed is not None and listed.trained is not None and row not in self._outdated
        return listed if known else None

    def verdict(self, row: int) -> tuple[str, str] | None:
        """What the findings of a row come to, as far as they are known."""
        found = self.summaries.get(row)
        return found.verdict if found is not None else None

    def found(self, row: int) -> tuple[int, int] | None:
        """How many errors and warnings a row has, once that is known."""
        listed = self.summaries.get(row)
        return (listed.errors, listed.warnings or 0) if listed is not None and listed.errors is not None else None

    def lost(self) -> tuple[int, str] | None:
        """How many rows are known, and the worst that becomes of them, where no answer of any reaches the model."""
        from sftui.findings.model import LOST

        seen = [one for row in self.summaries if (one := self.figures(row)) is not None and not one.evaluates]
        words = [summary.verdict[1] if summary.verdict is not None else "" for summary in seen]
        lost = all(not one.trained or one.dropped or one.problem or word in LOST for one, word in zip(seen, words))
        return (len(seen), next(filter(None, words), "nothing is trained")) if seen and lost else None

    def learn(self, made: Inspection) -> None:
        """The figures of a row that was opened: of one that is too heavy to be tokenized for the list they come from
        nowhere else."""
        listed = self.summaries.get(made.row.index)
        self.pairs = self.pairs or made.rejected is not None
        if made.tokens is not None and (listed is None or listed.tokens is None):
            self.opened[made.row.index] = self._made(made)
            self.repaint()

    def show_other_side(self, made: Inspection | None) -> None:
        """One row as it is on the other side of a comparison, under a B; None where that is not shown."""
        before, self.other_side = self.other_side, self._made(made) if made is not None else None
        if before != self.other_side:
            self.repaint()

    def _made(self, made: Inspection) -> RowSummary:
        """What is found in a row is not known on the other side, nor is a row left out that its trainer takes."""
        known = self.summaries.get(made.row.index)
        return replace(row_summary(made, known.preview if known is not None else ""), dropped=made.dropped)

    def forget(self) -> None:
        """Another recipe or tokenizer: what is off screen is no longer true, the rest answers again."""
        seen = {self.row_at(i) for i in range(*self.window())}
        self.summaries = {i: s for i, s in self.summaries.items() if i in seen}
        self._outdated = set(self.summaries)
        self.opened = {}

    def window(self) -> tuple[int, int]:
        return self.top, min(self.rows, self.top + max(1, self.size.height))

    def ask(self) -> None:
        """Asks for what the window lacks, with a block around it; one question at a time is open."""
        start, stop = self.window()
        if self.size.height == 0 or all(self.row_at(i) in self.summaries for i in range(start, stop)):
            return
        if self._requested[0] <= start and stop <= self._requested[1]:
            return
        self._requested = (max(0, start - BLOCK), min(self.rows, stop + BLOCK))
        if len(self.summaries) > MOST:
            self.summaries.clear()
        named = () if self.order is None else tuple(self.order[slice(*self._requested)])
        self.post_message(self.Wanted(self._requested, named))

    # — lines —

    def title(self, width: int, active: bool) -> Line:
        plots = self._plots.of((self._heard,), lambda: sparks(sorted(self.summaries.items()), SPARK))
        at = 1 + self.signs + self.digits
        return row_heading(super().title(width, active), plots, width, at, self.pairs, self.pairs and self.margins)

    def line_count(self) -> int:
        return self.rows

    def line_cells(self, line: int) -> Line:
        row = self.row_at(line)
        here = row == self.current
        summary = self.summaries.get(row) or RowSummary(row, "…")
        if summary.tokens is None and row in self.opened:
            summary = replace(self.opened[row], preview=summary.preview, repaired=summary.repaired)
        gutter = f"{self.glyph(row) or ' '}{'*' if summary.repaired else ' '}" if self.signs else ""
        other = self.other_side if self.other_side is not None and self.other_side.index == row else None
        shown, sign = (summary, "▸") if other is None else (other, "B")
        place = (here, self.active, self.digits, gutter)
        return row_line(shown, self.size.width, *place, sign, self.headed, self.pairs, self.margins)

    def sentence(self) -> Line:
        """The current row in words and as much of what it begins with as the line has room for."""
        summary = self.summaries.get(self.current)
        return () if summary is None else row_sentence(summary)

    @property
    def bare(self) -> int:
        """Cells of a line without what its row begins with."""
        return self.digits + self.signs + (28 if self.pairs else 20)

    @property
    def digits(self) -> int:
        """Cells of the row number."""
        return max(3, len(str(max(0, self.total - 1))))

    def resized(self) -> None:
        """Asks, too: a list that is shown for the first time, or in another size, was not there to ask for itself."""
        line = self.line_of(self.current)
        if line is not None:
            self.keep_in_view(line)
        self.ask()

    def scroll_top(self, top: int) -> None:
        super().scroll_top(top)
        self.ask()
