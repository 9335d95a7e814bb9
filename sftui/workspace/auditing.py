"""The audit of the whole dataset as a job of the worker: figures and findings as they come, and rows in their order."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sftui.errors import SftuiError
from sftui.session.opened import HEAVY, OpenData, settling
from sftui.workspace.events import Answering, Answers, AuditReady, CodeCount, OrderReady, VerdictLine
from sftui.workspace.requests import REPAIRED, OrderRequest

if TYPE_CHECKING:
    from sftui.audit.audit import Audit
    from sftui.audit.figures import Figures, GroupFigure, SourceFigure
    from sftui.audit.processes import AuditProgress
    from sftui.model import Inspection, Row

REPORT_EVERY = 0.5
AT_ONCE = 16
"""Rows that are prepared together: a key waits for no more."""
MOST_ORDERED = 200_000
"""Rows of an order that travel: more than anyone goes through."""
MOST_SENT, FIRST_ROWS = 200, 4
"""Groups and sources that travel by name, and rows of each: the screen's process unpickles them twice a second between
keys."""
OTHERS = "others"


class AuditRun:
    """The audit that runs or ran last, and per row how many tokens there are of it and the share that is trained."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: another recipe or tokenizer is in force."""
        self._gathered: Audit | None = None
        self._tokens, self._shares, self._next, self._known = array("d"), array("d"), 0, 0

    def run(self, session: OpenData, answer: Answering[AuditReady]) -> Answers[AuditReady]:
        """Every row, checked and counted; stopped by not being asked for more, and asked again it goes on where it
        stopped, or with the rows that came since."""
        ready = session.ready()
        context = ready.checks()
        from sftui.audit.audit import Audit
        from sftui.audit.found import Filter
        from sftui.audit.processes import SAMPLE, run_audit
        from sftui.audit.tallies import Listing
        from sftui.findings import damaged_files, refused_files
        from sftui.tokens.shortcuts.bulk import Bulk

        yield from settling(session)
        gathered = self._gathered
        if gathered is not None and gathered.finished:
            if gathered.rows >= SAMPLE and session.source.count().rows > self._known:
                gathered.go_on()
            else:  # the set-up is checked with the first rows
                gathered = None
        if gathered is None:
            self.forget()
            gathered = self._gathered = Audit(context, Filter(waivers=ready.waivers), listing=Listing(), grows=True)
        reported, before, taken, last = 0.0, gathered.rows, gathered.rows, 0

        engine = Bulk("never", at_once=AT_ONCE)  # while gigatoken loads no key would be answered

        def inspect(rows: Iterable[Row]) -> Iterator[Inspection]:
            nonlocal last
            for found in ready.inspect_many(rows, engine=engine):
                last = found.row.index
                if last >= len(self._tokens):  # the first rows come twice: for the set-up, and as rows
                    for known in (self._tokens, self._shares):  # rows that a repair leaves out do not come at all
                        known.extend([math.nan] * (last - len(known)))
                    sizes, received = [len(one.tokens) for one in found.alone if one.tokens is not None], found.received
                    self._tokens.append(sum(sizes) if sizes else math.nan)  # as the row is, cut or dropped
                    self._shares.append(math.nan if received is None else found.trained / max(1, received))
                yield found

        first = max(session.stored.first, SAMPLE)  # a file may have grown since it was opened
        head = [row for row in islice(session.rows(), first) if row.size <= HEAVY]

        def rows() -> Iterator[Row]:
            yield from session.rows(self._next)
            self._known = session.source.count().rows

        # Row by row: what was inspected last is what was checked last, and no key waits for more than one.
        for progress in run_audit(
            gathered, rows(), inspect, context, head=head, total=session.count_now, budget=0.0, together=1
        ):
            if progress.rows > taken:
                taken, self._next = progress.rows, last + 1
            if progress.done:
                gathered.found.add(damaged_files(session.source.damage))
                gathered.add_setup(refused_files(session.load_stop()))
            seconds = (progress.rows - before) / progress.rate if progress.rate else 0.0
            if progress.done or seconds - reported > REPORT_EVERY:
                reported = seconds
                yield _event(answer, gathered, progress, self._known)
            else:
                yield None

    def order(self, session: OpenData, request: OrderRequest, answer: Answering[OrderReady]) -> Iterator[OrderReady]:
        """Rows by what is requested, as far as the audit came, or the count of the repairs."""
        if request.by in REPAIRED:
            rows: Sequence[int] = getattr(session.overlay, REPAIRED[request.by], ())
        elif self._gathered is not None:
            rows = self._rows(self._gathered, request.by)
        else:
            raise SftuiError("the dataset has not been audited yet", fix="press A")
        yield answer(array("L", rows[:MOST_ORDERED]), len(rows))

    def _rows(self, gathered: Audit, by: str) -> Sequence[int]:
        listed = gathered.listing.rows(by) if gathered.listing is not None else None
        if listed is not None:
            return listed
        for values, most, least in (
            (self._tokens, "longest", "shortest"),
            (self._shares, "most trained", "least trained"),
        ):
            if by in (most, least):  # rows that have no such number come last
                sign = -1 if by == most else 1
                return sorted(range(len(values)), key=lambda row: (math.isnan(values[row]), sign * values[row]))
        if by == "dropped":
            return [row for row, share in enumerate(self._shares) if math.isnan(share)]
        codes = gathered.found.codes
        if by in ("error", "warning"):
            return sorted({row for code in codes.values() if code.severity.value == by for row in code.rows})
        found = codes.get(by)
        rows = set(found.rows) or {row for kept in found.kept for row in kept.finding.rows} if found is not None else ()
        return sorted(rows)


def _event(answer: Answering[AuditReady], gathered: Audit, progress: AuditProgress, known: int) -> AuditReady:
    from sftui.audit.tallies import listed_by
    from sftui.findings import Severity

    codes = []
    for code in gathered.found.ordered():
        if code.kept:
            finding = code.kept[0].finding
            count = code.count if code.rows or code.count > 1 else finding.count
            first = next(iter(code.rows or finding.rows), None)
            said = (finding.sentence, not code.rows, code.share_text(gathered.rows))
            codes.append(CodeCount(code.code, code.severity.value, count, first, *said))
    found = gathered.found.severities
    verdict = []
    for line in gathered.verdict():
        by = listed_by("verdict", line.consequence) if line.rows < line.of else ""
        verdict.append(VerdictLine(line.severity.value, f"{line.sentence} ({line.code})", by))
    return answer(
        *(progress.rows, progress.total, progress.rate, progress.left, progress.done),
        brief(gathered.figures(packing=progress.done), whole=progress.done),
        tuple(codes),
        (found[Severity.ERROR], found[Severity.WARNING]),
        verdict=tuple(verdict),
        known=known,
    )


def brief(figures: Figures, *, whole: bool = False) -> Figures:
    """Figures small enough to travel often: the largest groups, the rest of them as one; `whole`: every group, once."""
    from sftui.audit.figures import SourceFigure

    def groups(all_of: tuple[GroupFigure, ...]) -> tuple[GroupFigure, ...]:
        largest = all_of if whole else all_of[:MOST_SENT]
        shown, rest = tuple([replace(group, rows=group.rows[:FIRST_ROWS]) for group in largest]), all_of[len(largest) :]
        if not rest:
            return shown
        return (*shown, replace(rest[0], name=OTHERS, count=sum(group.count for group in rest), rows=()))

    def counts(all_of: Mapping[str, int]) -> Mapping[str, int]:
        if len(all_of) <= MOST_SENT:
            return all_of
        shown = dict(list(all_of.items())[:MOST_SENT])
        return {**shown, OTHERS: shown.get(OTHERS, 0) + sum(all_of.values()) - sum(shown.values())}

    def sources(all_of: tuple[SourceFigure, ...]) -> tuple[SourceFigure, ...]:
        shown, rest = all_of[:MOST_SENT], all_of[MOST_SENT:]
        sums = [sum(getattr(source, name) for source in rest) for name in ("rows", "tokens", "trained", "dropped")]
        return (*shown, SourceFigure(f"{len(rest):,} more", *sums)) if rest else shown

    grouped = ("drops", "stops", "signatures", "branches", "finding_sets")
    shorter: dict[str, Any] = {name: groups(getattr(figures, name)) for name in grouped}
    shorter |= {name: counts(getattr(figures, name)) for name in ("by_role", "by_special")}
    if figures.loss is not None:
        kinds = groupby(figures.loss.shares, key=attrgetter("kind"))
        kept = [share for _, shares in kinds for share in islice(shares, MOST_SENT)]
        shorter["loss"] = replace(figures.loss, of_row={}, shares=tuple(kept))
    return replace(figures, sources=sources(figures.sources), **shorter)
