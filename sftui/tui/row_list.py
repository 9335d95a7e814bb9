"""The list of rows: number, tokens, trained share, flags, and a preview where there is room."""

from __future__ import annotations

from dataclasses import replace

from textual.message import Message

from sftui.tui.line_view import LineView
from sftui.views import Line, Over, Role, row_line
from sftui.workspace.events import RowSummary

BLOCK = 64
"""Rows asked for beyond the screen on each side, so that paging finds them at hand."""
MOST = 20_000
"""Summaries kept at most."""

QUIET = {Role.TRAINED: Role.GOOD}
"""A list of bold shares would shout down the tokens beside it."""


class RowList(LineView):
    """Rows of any number: only what is on screen is asked for, painted and kept (O(1) in rows)."""

    class Wanted(Message):
        """Summaries `start` to `stop` are on screen or near and not at hand."""

        def __init__(self, start: int, stop: int) -> None:
            super().__init__()
            self.window = (start, stop)

    def __init__(self, ident: str) -> None:
        super().__init__(ident)
        self.rows = 0
        self.current = 0
        self.active = False
        self.summaries: dict[int, RowSummary] = {}
        self._asked = (0, 0)

    # — content —

    def set_count(self, rows: int) -> None:
        self.rows = rows
        self.resized()
        self.repaint()
        self.ask()

    def set_current(self, row: int, active: bool) -> None:
        self.current, self.active = row, active
        self.keep_in_view(row)
        self.repaint()
        self.ask()

    def put(self, rows: tuple[RowSummary, ...]) -> None:
        self.summaries.update((summary.index, summary) for summary in rows)
        self.repaint()

    def forget(self) -> None:
        """Another recipe or tokenizer: what is off screen is no longer true, the rest answers again."""
        start, stop = self.window()
        self.summaries = {i: s for i, s in self.summaries.items() if start <= i < stop}

    def window(self) -> tuple[int, int]:
        return self.top, min(self.rows, self.top + max(1, self.size.height))

    def ask(self) -> None:
        """Asks for what the window lacks, with a block around it; one question at a time is open."""
        start, stop = self.window()
        if self.size.height == 0 or all(i in self.summaries for i in range(start, stop)):
            return
        if self._asked[0] <= start and stop <= self._asked[1]:
            return
        self._asked = (max(0, start - BLOCK), min(self.rows, stop + BLOCK))
        if len(self.summaries) > MOST:
            self.summaries.clear()
        self.post_message(self.Wanted(*self._asked))

    # — lines —

    def line_count(self) -> int:
        return self.rows

    def line_cells(self, line: int) -> Line:
        here = line == self.current
        summary = self.summaries.get(line) or RowSummary(line, "…")
        cells = row_line(summary, self.size.width, current=here, digits=self.digits)
        over = Over.CURSOR if here and self.active else Over.NONE
        return tuple(replace(run, over=over, role=QUIET.get(run.role, run.role)) for run in cells)

    @property
    def digits(self) -> int:
        """Cells of the row number."""
        return max(3, len(str(max(0, self.rows - 1))))

    def resized(self) -> None:
        self.keep_in_view(self.current)

    def scroll_top(self, top: int) -> None:
        super().scroll_top(top)
        self.ask()

