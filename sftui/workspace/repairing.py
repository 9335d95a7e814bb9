"""Data repairs as jobs of the worker: counted over the dataset, and written to a new file."""

from __future__ import annotations

from pathlib import Path

from sftui.errors import SftuiError
from sftui.findings.rule import TO_MESSAGES
from sftui.pipeline import detect
from sftui.repairs.run import RunCounts
from sftui.session.opened import OpenData
from sftui.session.ready import tokenizer_of
from sftui.session.repairing import WriteProgress, check_targets, conversion_of, session_plan, write_repaired
from sftui.workspace.events import Answering, Answers, RepairCount, RepairsCounted, RepairsWritten
from sftui.workspace.requests import WriteRequest
from sftui.workspace.watching import Pace, change_of

REPORT_EVERY = 0.25


def count_of(counts: RunCounts) -> RepairCount:
    """Counts as they travel."""
    each = tuple(counts.by_repair.most_common())
    return RepairCount(counts.rows, counts.changed, counts.dropped, each, counts.skipped, tuple(counts.named))


def count_repairs(session: OpenData, answer: Answering[RepairsCounted]) -> Answers[RepairsCounted]:
    """How many rows the repairs in force change, reported as it grows."""
    overlay = session.overlay
    if overlay is None:
        yield answer(RepairCount(), 0, True)
        return
    pace = Pace(REPORT_EVERY)
    for row in overlay.stored.rows(overlay.upto):
        overlay.repair(row)
        yield answer(count_of(overlay.counts), session.count_now()) if pace.due() else None
    yield answer(count_of(overlay.counts), overlay.counts.rows, True, doubles=overlay.plan.deduplicate)


def write_whole(session: OpenData, request: WriteRequest, answer: Answering[RepairsWritten]) -> Answers[RepairsWritten]:
    """The repaired data, where all of the data is there and still what was opened; half a dataset looks like a smaller
    one."""
    for _ in session.source.look_through():
        yield None
    problem = change_of(session.source).problem
    if problem is not None:
        raise SftuiError(f"nothing was written: {problem.what}", why=problem.why, fix=problem.fix)
    for damage in session.source.damage:
        words = f"nothing was written: the data cannot be read to the end, {damage.title}"
        raise SftuiError(words, why=damage.why, fix=damage.fix)
    yield from _write(session, request, answer)


def _write(session: OpenData, request: WriteRequest, answer: Answering[RepairsWritten]) -> Answers[RepairsWritten]:
    """Write what the repairs in force make of the data, as they are now, whatever is changed meanwhile."""
    target, journal = Path(request.target), Path(request.log)
    check_targets(session.options.paths, request.target, request.log)
    conversion = None
    if TO_MESSAGES in session.repairs:
        conversion = conversion_of(session.stored, session.requested, detect(session.stored.sample, session.requested))
    plan = session_plan(tokenizer_of(session), session.repairs, request.marked, request.only, conversion=conversion)
    if plan.codes or any(repair.name == "strip-tokens" for repair in plan.repairs):
        session.ready().checks()  # the tokenizer decides on these
    now, pace = WriteProgress(RunCounts()), Pace(REPORT_EVERY)
    for now in write_repaired(session, plan, target, journal):
        yield answer(count_of(now.counts), now.lost, session.count_now()) if pace.due() else None
    yield answer(count_of(now.counts), now.lost, now.counts.rows, True)
