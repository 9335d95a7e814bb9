"""An audit from beginning to end with a line of progress, for the commands that need the whole dataset."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from sftui.cli.loading import loaded_session, open_data
from sftui.cli.reading import labels_of, repository_names
from sftui.cli.telling import DataNotes
from sftui.cli.writing import Progress
from sftui.exports.report_model import Checked, Look, tried_as
from sftui.session.inputs import data_files
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.audit import Audit, AuditProgress, Filter
    from sftui.findings import Context, Finding
    from sftui.findings.hashes import Hashes
    from sftui.session.options import OpenOptions
    from sftui.session.ready import Ready

SPOOLED = "sftui-stdin-"
WORTH_IT = 1000
"""Rows from which more processes pay for loading the tokenizer again."""
SAVE_EVERY = 20.0
"""Seconds between two savings of an audit that can be resumed."""


def audited(
    options: OpenOptions,
    wanted: Filter,
    *,
    max_rows: int | None = None,
    sample: int | None = None,
    evaluation: str | None = None,
    jobs: int | None = None,
    looks: int = 0,
) -> Checked:
    """The audit of the options' data under their recipe; `looks`: so many rows of each code are inspected again, for
    drawing."""
    from sftui.findings import damaged_files
    from sftui.trainers import trainer_named

    session = loaded_session(options)
    try:
        tools, detected = session.tools, session.detected
        context = session.checks()
        wanted = dataclasses.replace(wanted, waivers=session.waivers)
        prompts = _prompts(options, evaluation, session) if evaluation is not None else None
        running = _Running(
            session, context, wanted, prompts, max_rows, sample, jobs or max(1, (os.cpu_count() or 1) - 1)
        )
        source = session.source
        note = session.settle_split().note
        if note:
            click.echo(f"sftui: {visible(note)}; figures are of all rows", err=True)
        files = data_files(options.paths, options.split)
        told = DataNotes(session, findings=True)
        told.tell()
        running.run(files or source.cached)
        told.tell()
        running.audit.found.add(damaged_files(source.damage))
        there = [path for path in (*files, *options.paths) if os.path.exists(path) and _named(path) == path]
        return Checked(
            running.audit,
            session.recipe,
            source.title,
            tuple(map(_named, options.paths)),
            source.kind,
            tools.tokenizer.facts,
            tools.template_name,
            complete=max_rows is None and sample is None and not source.damage,
            notes=(
                *options.notes,
                *source.notes,
                *detected.notes,
                *trainer_named(session.recipe.preset).notes(session.recipe),
            ),
            looks=tuple(_looks(running.audit, session, looks)),
            failing=_failing(running.audit, session),
            files={label: file if _named(file) == file else label for label, file in labels_of(files).items()},
            tracked=repository_names(there),
        )
    finally:
        session.close()


class _Running:
    """One audit: picked up where it was left, in this process or in several, saved now and then."""

    def __init__(
        self,
        session: Ready,
        context: Context,
        wanted: Filter,
        prompts: Hashes | None,
        max_rows: int | None,
        sample: int | None,
        jobs: int,
    ) -> None:
        from sftui.audit import Audit

        self.session, self.context, self.jobs = session, context, jobs
        self.max_rows, self.sample = max_rows, sample
        self.prompts, self.wanted = prompts, wanted
        self.audit = Audit(context, wanted, prompts)
        figures = [figure for figure in (session.count_now(), max_rows, sample) if figure is not None]
        self.total = min(figures) if figures else None

    def run(self, files: tuple[str, ...]) -> None:
        """Take in every row; an audit that was interrupted before is resumed where all rows are wanted.

        `files` hold the data; without any it cannot be told whether the data is the same, and nothing is kept.
        """
        from sftui.audit import drop_state, load_state, save_state, state_key
        from sftui.tokens.cache import cache_root

        folder = cache_root(self.session.options.cache_dir).parent / "audits"
        options = self.session.options
        whole = self.max_rows is None and self.sample is None and bool(files)
        key = (
            state_key(
                self.context,
                files,
                options.paths,
                options.split,
                options.subset,
                options.data_revision,
                options.rows_in,
                options.row_limit,
                self.wanted,
                self.prompts.digest() if self.prompts is not None else "",
            )
            if whole
            else ""
        )
        held = load_state(key, folder) if whole else None
        if held is not None:
            self.audit = held
            click.echo(f"sftui: goes on at row {held.rows:,}, where it was interrupted", err=True)
        progress, begun, kept = Progress(self.total), time.monotonic(), held is not None
        saved = begun
        with _signals() as received:
            for told in self._steps():
                progress.at(told.rows, _speed(told))
                due = time.monotonic() - saved > SAVE_EVERY or (
                    received and (kept or time.monotonic() - begun > SAVE_EVERY / 10)
                )
                if whole and due and not told.done:
                    save_state(self.audit, key, folder)
                    saved, kept = time.monotonic(), True
                if received:
                    progress.end()
                    if kept:
                        click.echo(
                            f"sftui: stopped at row {self.audit.rows:,}; the same command goes on there", err=True
                        )
                    raise KeyboardInterrupt if received[0] == signal.SIGINT else SystemExit(128 + received[0])
        if kept:
            drop_state(key, folder)
        progress.end()
        note = told.note or self.session.told
        if note is not None:
            click.echo(f"sftui: {visible(note)}", err=True)

    def _steps(self) -> Iterator[AuditProgress]:
        from sftui.audit import check_head, run_audit
        from sftui.session.comparing import chosen_rows

        session, audit = self.session, self.audit
        if self.max_rows is None and self.sample is None:
            rows = session.source.rows(audit.rows)
        else:
            rows = chosen_rows(session.source, self.max_rows, self.sample)
        if self.jobs == 1 or (self.total is not None and self.total < WORTH_IT):
            return run_audit(
                audit,
                rows,
                session.inspect_many,
                self.context,
                head=session.source.rows(),
                total=lambda: self.total,
                budget=0.0,
            )
        check_head(audit, session.source.rows(), session.inspect_many, self.context)
        from sftui.audit.processes import Task, audit_in_processes
        from sftui.session.sent import sent

        task = Task(sent(session), self.wanted, self.prompts)
        return audit_in_processes(audit, rows, task, self.jobs, total=lambda: self.total)


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """Signals to stop are collected, so that no row is left half counted; the second one stops at once."""
    received: list[int] = []
    before: dict[int, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, before[number])

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            before[int(number)] = signal.signal(number, note)
    try:
        yield received
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _named(path: str) -> str:
    """A path as the user gave it: stdin was spooled into a folder with a random name."""
    return "-" if os.path.basename(os.path.dirname(path)).startswith(SPOOLED) else path


def _speed(told: AuditProgress) -> str:
    """Rows a second and the time left, as far as they are known."""
    left = (
        ""
        if told.left is None
        else f", {told.left:,.0f} s left"
        if told.left < 100
        else f", {told.left / 60:,.0f} min left"
    )
    return f", {told.rate:,.0f}/s{left} " if told.rate else ""


def _prompts(options: OpenOptions, evaluation: str, trained: Ready) -> Hashes:
    """The hashes of every prompt of the evaluation set, read by the same recipe."""
    from sftui.findings import DatasetChecks
    from sftui.session.ready import with_tokenizer

    other = dataclasses.replace(options, paths=(evaluation,), split=None, subset=None, data_revision=None, config=None)
    with contextlib.closing(open_data(other, trained.recipe)) as opened:
        held = with_tokenizer(opened, trained.tokenizer).ready()
        checks = DatasetChecks(held.checks())
        for row in held.source.rows():
            checks.add(held.early(row))
        for one in held.source.damage:
            click.echo(f"sftui: {visible(one.sentence())}", err=True)
        return checks.prompts


def _failing(audit: Audit, session: Ready) -> frozenset[tuple[object, ...]]:
    """The fixes of what was found that do not help where they are tried."""
    from sftui.session.trial import fix_fails

    alike: dict[tuple[object, ...], list[Finding]] = {}
    for one in audit.found.ordered():
        for kept in one.kept:
            alike.setdefault(tried_as(kept.finding), []).append(kept.finding)
    return frozenset(key for key, found in alike.items() if fix_fails(session, found))


def _looks(audit: Audit, session: Ready, each: int) -> Iterator[Look]:
    for one in audit.found.ordered() if each else ():
        named = [(kept, kept.finding.row) for kept in one.kept if kept.finding.row is not None]
        for found, row in named[:each]:
            yield Look(found, session.inspect(row))
