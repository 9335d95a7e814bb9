"""Near duplicates in open data: two goes over its rows as conversations, and the rows that may be alike once more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sftui.conversations.identity import key_of
from sftui.findings import Finding
from sftui.findings.look import RowLook
from sftui.findings.near import LEARNT, NearRows, common_runs, near_copies, runs_of
from sftui.findings.rules.near import near_finding
from sftui.model import Row
from sftui.session.comparing import chosen_rows
from sftui.session.opened import settle_split
from sftui.session.ready import Ready


class NearSearch:
    """Rows of a session that share `least` of their runs of words with another one, or with a row that evaluates: of
    the evaluation set `held`, or set aside by the trainer.

    Rows are compared as they are read, in this process: neither tokens nor labels are made. SftuiError without rensa.
    """

    def __init__(self, session: Ready, least: float, held: Ready | None = None) -> None:
        self._session, self._held, self._rows = session, held, NearRows(least)
        self._context = session.checks()
        self._columns = tuple(self._context.detected.fields.values())
        self._aside: frozenset[int] = frozenset()
        self._common: frozenset[str] = frozenset()

    def steps(self, rows: Callable[[], Iterable[Row]]) -> Iterator[int]:
        """Take in the rows; after each how many there are by now."""
        session, held = self._session, self._held
        self._aside = settle_split(session).evaluation
        learnt = map(session.over, chosen_rows(session.source, None, LEARNT))
        self._common = common_runs(look for row in learnt if (look := self._look(session, row)) is not None)
        if held is not None:
            for row in held.rows():
                self._add(self._look(held, row), -1 - row.index)
        for count, row in enumerate(rows(), 1):
            self._add(self._look(session, row), row.index)
            yield count

    def found(self) -> Iterator[tuple[Finding, Row]]:
        """Every near copy, with its row."""
        for copy in near_copies(self._rows.pairs(), self._rows.least, self._read, self._evaluates):
            other, _ = self._row(copy.other)
            yield near_finding(copy, self._context, other.where if copy.other < 0 else ""), self._row(copy.row)[0]

    def _add(self, look: RowLook | None, number: int) -> None:
        if look is not None:
            self._rows.add(number, runs_of(look, self._common))

    def _row(self, number: int) -> tuple[Row, Ready]:
        """A row by its number here: those of the evaluation set count downwards from -1."""
        if number < 0 and self._held is not None:
            return self._held.row(-1 - number), self._held
        return self._session.row(number), self._session

    def _look(self, session: Ready, row: Row) -> RowLook | None:
        found = session.early(row) if row.left_out is None else None
        return None if found is None or found.conversation is None else RowLook(found, self._context)

    def _read(self, number: int) -> tuple[frozenset[str], bytes]:
        row, session = self._row(number)
        look = self._look(session, row)
        runs = runs_of(look, self._common) if look is not None else frozenset[str]()
        return runs, key_of(row.data or {}, self._columns)

    def _evaluates(self, number: int) -> bool:
        return number < 0 or number in self._aside
