"""The rows of an audit shared among worker processes (`sftui.crew`), their parts joined in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from sftui import bound
from sftui.audit.audit import Audit
from sftui.audit.found import Filter
from sftui.audit.run import AuditProgress, progress
from sftui.crew import Crew
from sftui.findings import Context
from sftui.findings.hashes import Hashes
from sftui.model import Inspection, Row
from sftui.sources.source import chunks

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
