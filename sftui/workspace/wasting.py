"""The waste of the whole dataset as a job of the worker: one pass over the rows, then line after line of the table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sftui.session.opened import OpenData, settling
from sftui.workspace.auditing import AT_ONCE
from sftui.workspace.events import Answering, Answers, WasteReady
from sftui.workspace.watching import Pace, in_thread

if TYPE_CHECKING:
    from sftui.audit.waste import RowSizes

REPORT_EVERY = 0.3


class WasteRun:
    """Keeps the sizes of the rows for as long as no recipe prepares them otherwise."""

    def __init__(self) -> None:
        self._sizes: RowSizes | None = None
        self._made_for: tuple[object, ...] = ()

    def run(self, session: OpenData, answer: Answering[WasteReady]) -> Answers[WasteReady]:
        """How many rows are in, then the table as it grows."""
        ready = session.ready()
        ready.checks()
        from sftui.session.waste import sizes_of, unlimited, waste_lines, waste_table
        from sftui.tokens.shortcuts.bulk import Bulk

        yield from settling(session)
        key = unlimited(ready.recipe), ready.repairs, ready.source, ready.overlay, ready.tokenizer
        pace = Pace(REPORT_EVERY)
        if self._sizes is None or self._made_for != key:
            self._sizes = None
            for sizes in sizes_of(ready, Bulk("never", at_once=AT_ONCE)):  # while gigatoken loads no key is answered
                yield answer(rows=len(sizes.rows), total=ready.count_now()) if pace.due() else None
            self._sizes, self._made_for = sizes, key
        table = waste_table(ready, self._sizes)
        yield answer(table, len(self._sizes.rows))
        for step in waste_lines(ready, self._sizes, table):
            line = yield from in_thread(step)
            table = replace(table, lines=(*table.lines, line))
            yield answer(table, len(self._sizes.rows)) if table.done or pace.due() else None
