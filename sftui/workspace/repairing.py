"""Data repairs as jobs of the worker: counted over the dataset, and written to a new file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sftui.findings.rule import TO_MESSAGES
from sftui.pipeline import detect
from sftui.repairs.run import RunCounts
from sftui.session.ready import tokenizer_of
from sftui.session.repairing import WriteProgress, check_targets, conversion_of, session_plan, write_repaired
from sftui.workspace.events import RepairCount, RepairsCounted, RepairsWritten
from sftui.workspace.requests import RepairsRequest, WriteRequest

if TYPE_CHECKING:
    from sftui.session.opened import OpenData

REPORT_EVERY = 0.25


def count_of(counts: RunCounts) -> RepairCount:
    """Counts as they travel."""
    return RepairCount(
        counts.rows,
        counts.changed,
        counts.dropped,
        tuple(counts.by_repair.most_common()),
        counts.skipped,
        tuple(counts.named),
    )


def count_repairs(session: OpenData, request: RepairsRequest, version: int) -> Iterator[RepairsCounted | None]:
    """How many rows the repairs in force change, reported as it grows."""
    overlay = session.overlay
    if overlay is None:
        yield RepairsCounted(request.ticket, version, RepairCount(), 0, True)
        return
    at = time.monotonic()
    for row in overlay.stored.rows(overlay.upto):
        overlay.repair(row)
        if time.monotonic() - at > REPORT_EVERY:
            at = time.monotonic()
            yield RepairsCounted(request.ticket, version, count_of(overlay.counts), session.count_now())
        else:
            yield None
    yield RepairsCounted(
        request.ticket, version, count_of(overlay.counts), overlay.counts.rows, True, doubles=overlay.plan.deduplicate
    )


def write_job(session: OpenData, request: WriteRequest) -> Iterator[RepairsWritten | None]:
    """Write what the repairs in force make of the data, as they are now, whatever is changed meanwhile."""
    target, journal = Path(request.target), Path(request.log)
    check_targets(session.options.paths, request.target, request.log)
    conversion = None
    if TO_MESSAGES in session.repairs:
        conversion = conversion_of(session.stored, session.requested, detect(session.stored.sample, session.requested))
    plan = session_plan(tokenizer_of(session), session.repairs, request.marked, conversion=conversion)
    if plan.codes or any(one.name == "strip-tokens" for one in plan.repairs):
        session.ready().checks()  # the tokenizer decides on these
    now, at = WriteProgress(RunCounts()), time.monotonic()
    for now in write_repaired(session, plan, target, journal):
        if time.monotonic() - at > REPORT_EVERY:
            at = time.monotonic()
            yield RepairsWritten(
                request.ticket, request.target, request.log, count_of(now.counts), now.lost, session.count_now()
            )
        else:
            yield None
    yield RepairsWritten(
        request.ticket, request.target, request.log, count_of(now.counts), now.lost, now.counts.rows, True
    )
