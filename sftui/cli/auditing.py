"""An audit from beginning to end with a line of progress, for the commands that need the whole dataset."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sftui.cli.loading import loaded_session
from sftui.cli.writing import Progress
from sftui.exports.report_model import Checked, Look

if TYPE_CHECKING:
    from sftui.audit import Audit, Filter
    from sftui.findings import Context
    from sftui.workspace.options import OpenOptions
    from sftui.workspace.session import Session

SAVE_EVERY = 20.0
"""Seconds between two savings of an audit that can be resumed."""


def audited(
    options: OpenOptions, wanted: Filter, *, max_rows: int | None = None, sample: int | None = None, evaluation: str | None = None,
    jobs: int | None = None, looks: int = 0,
) -> Checked:
    """The audit of the options' data under their recipe; `looks`: so many rows of each code are inspected again, for drawing."""
    from sftui.audit import Audit, audit_context

    session = loaded_session(options)
    try:
        tools, detected = session.tools, session.detected
        assert tools is not None and detected is not None
        context = audit_context(session.recipe, detected, tools)
        prompts = _prompts(options, evaluation, session) if evaluation is not None else frozenset()
        audit = Audit(context, wanted, prompts)
        _run(audit, session, context, max_rows, sample)
        source = session.source
        assert source is not None
        return Checked(
            audit, session.recipe, source.title, options.paths, source.kind, tools.tokenizer.facts, tools.template_name,
            complete=max_rows is None and sample is None, notes=(*options.notes, *source.notes, *detected.notes),
            looks=tuple(_looks(audit, session, looks)),
        )
    finally:
        session.close()


def _run(audit: Audit, session: Session, context: Context, max_rows: int | None, sample: int | None) -> None:
    from sftui.audit import run_audit
    from sftui.workspace.comparing import chosen_rows

    assert session.source is not None
    figures = [figure for figure in (session.count_now(), max_rows, sample) if figure is not None]
    total = min(figures) if figures else None
    progress = Progress(total)
    for told in run_audit(audit, chosen_rows(session.source, max_rows, sample), session.inspect_row, context, total=lambda: total):
        progress.at(told.rows)
    progress.end()


def _prompts(options: OpenOptions, evaluation: str, trained: Session) -> frozenset[int]:
    """The hashes of every prompt of the evaluation set, read by the same recipe."""
    from sftui.audit import audit_context
    from sftui.findings import DatasetChecks
    from sftui.workspace.session import Session

    held = Session(dataclasses.replace(options, paths=(evaluation,), split=None, subset=None, data_revision=None, config=None), trained.recipe)
    held.open()
    try:
        held.set_tokenizer(trained.tokenizer)
        assert held.source is not None and held.detected is not None and held.tools is not None
        checks = DatasetChecks(audit_context(held.recipe, held.detected, held.tools))
        from sftui.pipeline import inspect_early

        for row in held.source.rows():
            checks.add(inspect_early(row, held.detected, held.recipe))
        return checks.prompts
    finally:
        held.close()


def _looks(audit: Audit, session: Session, each: int) -> Iterator[Look]:
    for one in audit.found.ordered() if each else ():
        for found in [kept for kept in one.kept if kept.finding.row is not None][:each]:
            assert found.finding.row is not None
            yield Look(found, session.inspect(found.finding.row))
