"""Rows through the pipeline and the checks into an audit: in slices, here, or shared among worker processes
(`sftui.crew`), their parts joined in order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from sftui import bound
from sftui.audit.audit import Audit
from sftui.audit.found import Filter
from sftui.findings import Context, check_setup
from sftui.findings.hashes import Hashes
from sftui.model import Inspection, Row
from sftui.sources.source import chunks

TOGETHER = 32
"""Rows that are taken before the first of them is checked: of more the memory is cold by then."""
SAMPLE = 32
"""Rows that the checks of the set-up look at."""


@dataclass(frozen=True, slots=True)
class AuditProgress:
    """How far an audit is: rows taken in, of how many (None: not known yet), rows a second, seconds left.

    `note` is what a process says of the engine that encodes its rows (see `tokens.shortcuts.bulk.Bulk.mismatch`).
    """

    rows: int
    total: int | None
    rate: float
    left: float | None
    done: bool = False
    note: str | None = None


def run_audit(
    audit: Audit,
    rows: Iterable[Row],
    inspect: Callable[[Iterable[Row]], Iterator[Inspection]],
    context: Context,
    *,
    head: Iterable[Row] = (),
    total: Callable[[], int | None] = lambda: None,
    budget: float = 0.05,
    together: int = TOGETHER,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[AuditProgress]:
    """Take in `rows`, and report about every `budget` seconds how far it is (each time ends the bound that rows share,
    which then costs as much as a tenth of a row); the last one is `done`.

    Whoever runs it stops it by not asking for more: the audit then holds what it has, and goes on where it
    stopped with the rows from number `audit.rows` on. `inspect` gives rows in order, with spans. `head` are the
    first rows of the data, with which the set-up is checked before all else, unless it is already. `together` rows are
    inspected before the first of them is checked.
    """
    begun, before = clock(), audit.rows
    reported = begun
    sample: list[Inspection] = []
    for found in () if audit.setup_checked else inspect(islice(head, SAMPLE)):
        sample.append(found)
        if clock() - reported >= budget:
            reported = clock()
            yield progress(audit.rows, before, reported - begun, total())
    if sample:
        audit.add_setup(check_setup(context, sample))
    inspected = inspect(rows)
    while some := deque(islice(inspected, together)):
        while some:
            with bound.series():
                while some:
                    audit.check(some.popleft(), context)
                    now = clock()
                    if now - reported >= budget:
                        break
            if now - reported >= budget:
                reported = now
                yield progress(audit.rows, before, now - begun, total())
    audit.finish()
    yield replace(progress(audit.rows, before, clock() - begun, audit.rows), left=0.0, done=True)


def check_head(
    audit: Audit, head: Iterable[Row], inspect: Callable[[Iterable[Row]], Iterator[Inspection]], context: Context
) -> None:
    """Check the set-up with the first rows of the data, once for an audit."""
    if not audit.setup_checked:
        audit.add_setup(check_setup(context, list(inspect(islice(head, SAMPLE)))))


def progress(rows: int, before: int, seconds: float, total: int | None) -> AuditProgress:
    """How far an audit is that had `before` rows so many seconds ago."""
    rate = (rows - before) / seconds if seconds > 0 else 0.0
    left = max(0, total - rows) / rate if total is not None and rate else None
    return AuditProgress(rows, total, rate, left)


CHUNK_ROWS = 256
CHUNK_BYTES = 1 << 20


class RowInspector(Protocol):
    """A session that inspects rows (see `sftui.session.ready`)."""

    @property
    def engine_note(self) -> str | None: ...

    def checks(self) -> Context: ...

    def inspect_many(self, rows: Iterable[Row]) -> Iterator[Inspection]: ...


class InspectorParcel(Protocol):
    """One on its way to another process, which opens it there (see `sftui.session.sent`)."""

    def open(self) -> RowInspector: ...


@dataclass(frozen=True, slots=True)
class AuditTask:
    """What every process needs: the session, which findings are wanted, and the prompts of the evaluation set;
    `lasting` as in `Audit`."""

    session: InspectorParcel
    wanted: Filter
    evaluation: Hashes | None
    lasting: bool = False

    def open(self) -> WorkerState:
        return WorkerState(self)


def audit_in_processes(
    audit: Audit,
    rows: Iterable[Row],
    task: AuditTask,
    jobs: int,
    *,
    fork: bool = False,
    total: Callable[[], int | None] = lambda: None,
) -> Iterator[AuditProgress]:
    """Like `run_audit`, in `jobs` processes; the set-up must be checked already. `fork` and SftuiError as in `Crew`.

    Chunks join in the order of the rows, so after each progress the audit holds the first `audit.rows` rows.
    """
    from sftui.crew import Crew  # multiprocessing, which no audit in this process needs

    begun, before = time.monotonic(), audit.rows
    crew = Crew(task, jobs, fork)
    try:
        for part in crew.done(chunks(rows, CHUNK_ROWS, CHUNK_BYTES)):
            audit.merge(part)
            yield progress(audit.rows, before, time.monotonic() - begun, total())
    finally:
        crew.end()
    audit.finish()
    yield AuditProgress(audit.rows, audit.rows, 0.0, 0.0, True, crew.note)


class WorkerState:
    """What a worker process holds between chunks."""

    def __init__(self, task: AuditTask) -> None:
        from sftui.tokens.release import settle

        self._task, self._session = task, task.session.open()
        self._context = self._session.checks()
        settle()

    @property
    def engine_note(self) -> str | None:
        """What is to be known of the engine that encoded the rows, and of how they were rendered."""
        return self._session.engine_note

    def do(self, rows: Iterable[Row]) -> Audit:
        """The audit of some rows."""
        audit = Audit(self._context, self._task.wanted, self._task.evaluation, lasting=self._task.lasting)
        for some in chunks(rows, CHUNK_ROWS, CHUNK_BYTES):
            inspected = list(self._session.inspect_many(some))
            with bound.series():
                for found in inspected:
                    audit.check(found, self._context)
        audit.lighten()
        return audit
