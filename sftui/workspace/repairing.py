"""Data repairs as jobs of the worker: counted over the dataset, and written to a new file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from sftui.findings.rule import TO_MESSAGES
from sftui.model import Problem
from sftui.pipeline import detect
from sftui.repairs.run import RunCounts
from sftui.session.opened import OpenData
from sftui.session.ready import tokenizer_of
from sftui.session.repairing import WriteProgress, check_targets, conversion_of, session_plan, write_repaired
from sftui.workspace.events import RepairCount, RepairsCounted, RepairsWritten
from sftui.workspace.requests import RepairsRequest, WriteRequest
from sftui.workspace.watching import Pace, change_of

REPORT_EVERY = 0.25


def count_of(counts: RunCounts) -> RepairCount:
    """Counts as they travel."""
    each = tuple(counts.by_repair.most_common())
    return RepairCount(counts.rows, counts.changed, counts.dropped, each, counts.skipped, tuple(counts.named))


def count_repairs(session: OpenData, request: RepairsRequest, version: int) -> Iterator[RepairsCounted | None]:
    """How many rows the repairs in force change, reported as it grows."""
    overlay = session.overlay
    if overlay is None:
        yield RepairsCounted(request.ticket, version, RepairCount(), 0, True)
        return
    counted, pace = partial(RepairsCounted, request.ticket, version), Pace(REPORT_EVERY)
    for row in overlay.stored.rows(overlay.upto):
        overlay.repair(row)
        yield counted(count_of(overlay.counts), session.count_now()) if pace.due() else None
    yield counted(count_of(overlay.counts), overlay.counts.rows, True, doubles=overlay.plan.deduplicate)


def write_whole(session: OpenData, request: WriteRequest) -> Iterator[RepairsWritten | None]:
    """The repaired data, where all of the data is there and still what was opened; half a dataset looks like a smaller
    one."""
    for _ in session.source.look_through():
        yield None
    problem = change_of(session.source).problem
    if problem is not None:
        problem = replace(problem, what=f"nothing is written: {problem.what}")
    for damage in session.source.damage[:1] if problem is None else ():
        words = f"nothing is written: the data cannot be read to its end, {damage.title}"
        problem = Problem(words, damage.why, damage.fix)
    if problem is not None:
        yield RepairsWritten(request.ticket, request.target, request.log, problem=problem)
        return
    yield from _write(session, request)


def _write(session: OpenData, request: WriteRequest) -> Iterator[RepairsWritten | None]:
    """Write what the repairs in force make of the data, as they are now, whatever is changed meanwhile."""
    target, journal = Path(request.target), Path(request.log)
    check_targets(session.options.paths, request.target, request.log)
    conversion = None
    if TO_MESSAGES in session.repairs:
        conversion = conversion_of(session.stored, session.requested, detect(session.stored.sample, session.requested))
    plan = session_plan(tokenizer_of(session), session.repairs, request.marked, conversion=conversion)
    if plan.codes or any(repair.name == "strip-tokens" for repair in plan.repairs):
        session.ready().checks()  # the tokenizer decides on these
    written = partial(RepairsWritten, request.ticket, request.target, request.log)
    now, pace = WriteProgress(RunCounts()), Pace(REPORT_EVERY)
    for now in write_repaired(session, plan, target, journal):
        yield written(count_of(now.counts), now.lost, session.count_now()) if pace.due() else None
    yield written(count_of(now.counts), now.lost, now.counts.rows, True)
