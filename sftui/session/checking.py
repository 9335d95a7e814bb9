"""The audit of open data from beginning to end, in this process or in several: for commands, Python calls and tests;
and near duplicates: two goes over the rows as conversations, and those that may be alike once more."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import TypeVar

from sftui.audit.audit import Audit
from sftui.audit.found import Filter, FoundFinding
from sftui.audit.processes import AuditProgress, check_head, progress, run_audit
from sftui.conversations.identity import key_of
from sftui.errors import without_secrets
from sftui.exports.report_model import AuditReport, tried_alone, tried_as
from sftui.findings import Context, DatasetChecks, Finding, Severity, damaged_files, refused_files
from sftui.findings.catalogue import cures_of
from sftui.findings.hashes import Hashes
from sftui.findings.look import RowLook
from sftui.findings.near import LEARNT, NearRows, common_runs, near_copies, runs_of
from sftui.findings.rules.near import near_finding
from sftui.model import Inspection, Row
from sftui.session.comparing import chosen_rows
from sftui.session.inputs import data_files, labels_of
from sftui.session.opened import AT_ONCE, settle_split
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, with_tokenizer
from sftui.tokens.shortcuts.bulk import fast_engine
from sftui.trainers.own_config import notes_of

T = TypeVar("T")
FORKED, SPAWNED = 500, 2_500
"""Rows for which one more process pays, where it goes on from this one and where it loads the tokenizer again."""
LEAST_SECONDS = 10.0
"""So long may cures be looked for, or a tenth of what the audit took, whichever is more: of the processor, so that what
is reported does not hang on what else the machine does."""
STEPS = 4
"""So many steps are taken before the clock is read, which costs as much as a small one."""
LOOK = 0.05
"""Seconds between two looks at whether to save, stop or tell."""


class AuditSession:
    """One audit of a session: `audit` holds what is found so far, `steps` goes on with it.

    `prompts` are those of the evaluation set (see `held_out`), `max_rows` and `sample` choose some of the rows,
    `jobs` are the processes. `near` looks for near duplicates, when all else is done and in this process alone.
    """

    def __init__(
        self,
        session: Ready,
        wanted: Filter,
        prompts: Hashes | None = None,
        *,
        max_rows: int | None = None,
        sample: int | None = None,
        jobs: int = 1,
        near: NearSearch | None = None,
    ) -> None:
        self.session, self.prompts, self.jobs, self.near = session, prompts, jobs, near
        self.max_rows, self.sample = max_rows, sample
        self.wanted = replace(wanted, waivers=wanted.waivers or session.waivers)
        self.audit: Audit = Audit(self.context, self.wanted, prompts)
        self.total = self.known()
        self._begun = time.process_time()

    @cached_property
    def context(self) -> Context:
        """What the checks need to know."""
        return self.session.checks()

    def known(self) -> int | None:
        """How many rows there are to check, where that is known by now."""
        return self._least(self.session.count_now())

    def _least(self, count: int | None) -> int | None:
        """How many of so many rows are wanted."""
        return min((figure for figure in (count, self.max_rows, self.sample) if figure is not None), default=None)

    @property
    def whole(self) -> bool:
        """Whether all rows are wanted."""
        return self.max_rows is None and self.sample is None

    @property
    def resumable(self) -> bool:
        """Whether it can go on where it was interrupted."""
        return self.whole and self.session.only is None and not self.session.repairs

    def steps(self) -> Iterator[AuditProgress]:
        """Take in the rows behind those that the audit holds, and look for near duplicates; the last progress is
        `done`."""
        for now in self.audited():
            if now.done and self.near is not None:
                begun = time.monotonic()
                for rows in self.near.steps(self._wanted_rows):
                    yield progress(rows, 0, time.monotonic() - begun, self.total)
                for finding, row in self.near.found():
                    self.audit.found.add((finding,), row)
            yield now

    def audited(self) -> Iterator[AuditProgress]:
        """The audit itself."""
        session, audit, self._begun = self.session, self.audit, time.process_time()
        rows = self._wanted_rows(audit.rows)
        jobs, fork = self.jobs, False
        if jobs > 1:
            from sftui.crew import may_fork

            fork = may_fork() and fast_engine(session.tokenizer) is not None
            most = self._least(session.source.count().rows) if session.only is not None else self.total
            jobs = jobs if most is None else min(jobs, most // (FORKED if fork else SPAWNED))
        if jobs <= 1:
            session.bulk.expected = lambda: self._least(session.count_expected())
            return run_audit(
                audit,
                rows,
                session.inspect_many,
                self.context,
                head=self._head(),
                total=lambda: self.total,
                budget=LOOK,
            )
        check_head(audit, self._head(), session.inspect_many, self.context)
        from sftui.audit.processes import AuditTask, audit_in_processes
        from sftui.session.sent import InheritedSession, sent

        fork = fork and session.bulk.fast is None  # which has threads of its own
        share = None if self.total is None else self.total // jobs
        parcel = InheritedSession(session, share) if fork else sent(session)
        task = AuditTask(parcel, self.wanted, self.prompts)
        return audit_in_processes(audit, rows, task, jobs, fork=fork, total=lambda: self.total)

    def _wanted_rows(self, start: int = 0) -> Iterator[Row]:
        from sftui.session.comparing import chosen_rows

        if self.whole:
            return self.session.rows(start)
        rows = map(self.session.over, chosen_rows(self.session.source, self.max_rows, self.sample))
        only = self.session.only
        return (row for row in rows if row.left_out is None and (only is None or only.add(row)))

    def _head(self) -> Iterator[Row]:
        """The first rows, with which the set-up is checked; where some rows are chosen, those of them that match."""
        return self.session.rows() if self.session.only is None else self._wanted_rows()

    def _seconds(self) -> float:
        return max(LEAST_SECONDS, (time.process_time() - self._begun) / 10)

    def checked(
        self,
        paths: tuple[str, ...] | None = None,
        *,
        looks: int = 0,
        files: Mapping[str, str] | None = None,
        tracked: Mapping[str, str] | None = None,
        opening: tuple[str, ...] = (),
    ) -> AuditReport:
        """What reports are written from; `looks`: so many rows of each code are inspected again, for drawing.

        `paths` is what the user named and `files` what the source calls its files, where that is not as in the options;
        `opening` are the words of a command that open the same.
        """
        options = self.session.options
        files = labels_of(data_files(options.paths, options.split)) if files is None else files
        session, audit = self.session, self.audit
        source, recipe, tools = session.source, session.recipe, session.tools
        audit.found.add(damaged_files(source.damage))
        audit.add_setup(refused_files(session.load_stop(None if self.whole else AT_ONCE)))
        return AuditReport(
            audit,
            recipe,
            source.title,
            tuple(map(without_secrets, options.paths if paths is None else paths)),
            tools.tokenizer.facts,
            tools.template_name,
            complete=self.whole and not source.damage and session.only is None,
            notes=(
                *options.notes,
                *source.notes,
                *session.detected.notes,
                *notes_of(recipe),
                *(session.only.sentences() if session.only is not None else ()),
            ),
            looks=tuple(_looks(audit, session, looks)),
            cured=_cured(audit, session, self._seconds()),
            files=files,
            tracked=tracked or {},
            opening=opening,
            evaluates=options.config is not None and options.config.evaluates,
        )


def prompts_of(ready: Ready, damaged: Callable[[str], None]) -> Hashes:
    """The hashes of every prompt of an evaluation set; `damaged` is called with what of it cannot be read."""
    context = ready.checks()
    checks = DatasetChecks(context)
    for row in ready.rows():
        checks.add(RowLook(ready.early(row), context))
    for damage in ready.source.damage:
        damaged(damage.sentence())
    return checks.prompts


def held_out(
    session: Ready,
    evaluation: str | os.PathLike[str] | None,
    near: float | None,
    opened: ExitStack,
    damaged: Callable[[str], None] = lambda sentence: None,
) -> tuple[Hashes | None, NearSearch | None]:
    """The prompts of an evaluation set, open as the one that trains until `opened` ends, and the search for near
    duplicates, also with its rows; None for what is not asked."""
    held = prompts = None
    if evaluation is not None:
        other = open_data(evaluation_options(session.options, os.fspath(evaluation)), session.recipe)
        held = opened.enter_context(closing(with_tokenizer(other, session.tokenizer).ready()))
        prompts = prompts_of(held, damaged)
    return prompts, None if near is None else NearSearch(session, near, held)


def evaluation_options(options: OpenOptions, evaluation: str) -> OpenOptions:
    """The options that open the evaluation set as its training set is opened."""
    return replace(options, paths=(evaluation,), split=None, subset=None, data_revision=None, config=None, repairs=())


def _cured(audit: Audit, session: Ready, seconds: float) -> dict[tuple[object, ...], Finding]:
    """Findings with the cures that help, the worst first, as far as so many seconds go; of those whose fix is the same
    one, the first of which it helps."""
    until, cured = time.process_time() + seconds, dict[tuple[object, ...], Finding]()
    found = [kept.finding for code in audit.found.ordered() for kept in code.kept]
    if not found:
        return cured
    from sftui.findings.rules.rows import ROW007
    from sftui.session.trial import CONCERNED, COSTLY, ODD, helped, why_not, with_cure_of, with_cures, with_pair

    costly = audit.found.codes.get(ROW007.code)
    session.checks().memo[COSTLY] = frozenset(costly.rows if costly is not None else ())
    first = {one.code: one.row for one in reversed(found) if one.row is not None}
    session.checks().memo[ODD] = [session.stored.source.row(row) for row in sorted({*first.values()})]
    tries: Counter[tuple[object, ...]] = Counter()
    for finding in sorted(found, key=lambda finding: finding.severity.rank):
        alike = tried_as(finding)
        before = cured.get(alike)
        if tries[alike] == CONCERNED:
            continue
        tries[alike] += 1
        if before is not None and helped(before):
            cure = next(iter(cures_of(before)), None)
            if cure is not None and finding.row is not None and finding.severity is not Severity.INFO:
                why = result_of(why_not(session, finding, cure), until)
                words = cure if isinstance(cure, str) else cure.trainer_keys.get(session.recipe.trainer) or cure.title
                if why:  # it helps in other rows
                    cured[tried_alone(finding)] = replace(finding, declined=(f"{words} does not help here: {why}",))
            continue
        tried = result_of(with_cures(session, finding), until)
        if tried is None:
            return cured
        cured[alike] = tried
    for alike, finding in tuple(cured.items()):  # where rows fail for one cause, one cure helps against all of it
        if finding.severity is not Severity.INFO and not cures_of(finding):
            finding = result_of(with_cure_of(session, finding, tuple(cured.values())), until) or finding
            cured[alike] = result_of(with_pair(session, finding), until) or finding
    return cured


def result_of(steps: Generator[None, None, T], until: float = inf) -> T | None:
    """What some work returns that yields after each of its steps; None where the processor's time reaches `until`
    first."""
    while time.process_time() < until:
        try:
            for _ in range(STEPS):
                next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
    return None


def _looks(audit: Audit, session: Ready, each: int) -> Iterator[tuple[FoundFinding, Inspection]]:
    for code in audit.found.ordered() if each else ():
        named = [(kept, kept.finding.row) for kept in code.kept if kept.finding.row is not None]
        for found, row in named[:each]:
            yield found, session.inspect(row)


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
