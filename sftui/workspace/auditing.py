"""The audit of the whole dataset as a job of the worker: figures and findings as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sftui.errors import SftuiError
from sftui.model import Problem
from sftui.workspace.events import AuditReady, CodeCount
from sftui.workspace.requests import AuditRequest
from sftui.workspace.session import Session

if TYPE_CHECKING:
    from sftui.audit import Audit, AuditProgress

REPORT_EVERY = 0.5


def audit(session: Session, asked: AuditRequest, version: int) -> Iterator[AuditReady | None]:
    """Every row, checked and counted; stopped by not being asked for more."""
    try:
        context = session.checks()
    except SftuiError as error:
        yield AuditReady(asked.ticket, version, 0, problem=Problem(error.what, error.why, error.fix))
        return
    from sftui.audit import Audit, run_audit

    assert session.source is not None
    gathered = Audit(context)
    told = 0.0
    for progress in run_audit(gathered, session.source.rows(), session.inspect_row, context, total=session.count_now, budget=0.0):
        seconds = progress.rows / progress.rate if progress.rate else 0.0
        if progress.done or seconds - told > REPORT_EVERY:
            told = seconds
            yield _event(asked, version, gathered, progress)
        else:
            yield None


def _event(asked: AuditRequest, version: int, gathered: Audit, progress: AuditProgress) -> AuditReady:
    codes = tuple(
        CodeCount(one.code, one.severity.value, one.count, one.rows[0] if one.rows else _first(one.kept[0].finding.rows),
                  one.kept[0].finding.sentence)
        for one in gathered.found.ordered()
    )
    return AuditReady(asked.ticket, version, progress.rows, progress.total, progress.rate, progress.left, progress.done,
                      gathered.figures(), codes)


def _first(rows: tuple[int, ...]) -> int | None:
    return rows[0] if rows else None
