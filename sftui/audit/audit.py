"""Inspections in, figures and findings out: the accumulators of a whole dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from fractions import Fraction
from functools import lru_cache
from math import isfinite

from sftui.audit.bars import length_bar, share_bar
from sftui.audit.figures import QUANTILES, Figures, GroupFigure, LimitFigure, SourceFigure
from sftui.audit.found import Filter, FindingCounts, dataset_marks
from sftui.audit.lengths import best_fit, quantiles
from sftui.audit.loss import Amount, Averaging, LossTally, source_column
from sftui.audit.tallies import Listing, Tallies, Weights, largest
from sftui.audit.verdict import Verdict, Verdicts
from sftui.findings import Context, DatasetChecks, Finding, Severity, check_dataset, check_row
from sftui.findings.dataset import LIMITS, Tally
from sftui.findings.hashes import Hashes
from sftui.findings.look import RowLook
from sftui.findings.shapes import LONGEST_NAME, trained_in
from sftui.model import Inspection, Part, RenderedText
from sftui.runs import Ranges, covered, moved, overlap, within
from sftui.text import visible

COUNTS = ("tokenized", "paired", "tokens", "trained", "received_tokens", "evaluation_rows", "evaluation_tokens")
MOST_SOURCES = 5000
NO_FINDINGS, ONLY_STOPPED = "no findings", "stopped without a finding"
UNKNOWN_BRANCH = "author unknown"
SHORT_BRANCH = 2_000
REPEATS = ("duplicates of an earlier row", "an earlier prompt, answered differently", "prompts from the evaluation set")


class Audit:
    """Takes each row once with `add`, the rows of others with `merge`; in which order does not change the figures.

    `evaluation` are the prompts from the evaluation set (`DatasetChecks.prompts`). `listing` is given which rows
    stand behind each number; such an audit takes every row itself, in order. `rows` is also the number of rows taken in
    so far, so an audit that reads in order can be resumed there. `lasting`: it is merged with audits of other machines
    (see `DatasetChecks`). `grows`: more rows may come once it is finished (see `go_on`).
    """

    def __init__(
        self,
        context: Context,
        wanted: Filter | None = None,
        evaluation: Hashes | None = None,
        listing: Listing | None = None,
        *,
        lasting: bool = False,
        grows: bool = False,
    ) -> None:
        self.found = FindingCounts(wanted)
        self._of_rows = FindingCounts() if grows else None
        self.listing = listing
        self._marking = self.found.wanted.remember or bool(self.found.wanted.known)
        self.repeated = Hashes()
        self.checks = DatasetChecks(context, evaluation, lasting=lasting or self._marking)
        own = context.recipe.length.max
        self.limits = tuple(sorted({*LIMITS, own} if own is not None else LIMITS))
        self.rows = self.tokenized = self.paired = self.tokens = self.trained = 0
        self.received_tokens = self.evaluation_rows = self.evaluation_tokens = 0
        self.lengths, self.shares = Counter[int](), Counter[int]()
        self.over, self.cut, self.trained_cut = Counter[int](), Counter[int](), Counter[int]()
        self.unlabelled, self.dropped_tokens, self.dropped_trained = Counter[int](), Counter[int](), Counter[int]()
        self.by_owner, self.by_special = Counter[tuple[str, int, str]](), Counter[int]()
        self._special = context.tools.tokenizer.special_pieces
        self.weights = Weights()
        self.loss, self._averaging = LossTally(), Averaging.of(context)
        self.sources: dict[str, list[int]] = {}
        self.drops, self.stops = Tallies(), Tallies()
        self.signatures, self.branches, self.finding_sets = Tallies(), Tallies(), Tallies()
        self.verdicts = Verdicts()
        self.finished = self.setup_checked = False

    @property
    def _repeated_rows(self) -> tuple[int, int, int]:
        """How many rows there are of each of `REPEATS`."""
        return self.checks.same.count, self.checks.answered_again, self.checks.leaked.count

    def check(self, inspection: Inspection, context: Context) -> None:
        """Check a row and take it in with what was found."""
        look = RowLook(inspection, context, counted=self.found.full)
        self.add(look, check_row(inspection, context, look=look))

    def add_setup(self, findings: tuple[Finding, ...]) -> None:
        """What was found wrong with the recipe, the template and the tokenizer."""
        self.setup_checked = True
        self.verdicts.of_setup(self.found.add(findings))

    def add(self, look: RowLook, findings: tuple[Finding, ...] = ()) -> None:
        """One more row, inspected with spans; one that stopped early counts with what it has.

        Of one that evaluates count its findings and how long it is: all other figures are of what is trained.
        """
        inspection = look.inspection
        row = inspection.row
        self.rows += 1
        self._compare(look)
        stand = self.found.add(findings, row) if findings else ()
        severities = tuple([(finding.code, finding.severity) for finding in stand]) if stand else ()
        none = NO_FINDINGS if inspection.problem is None else ONLY_STOPPED
        self._tally("findings", self.finding_sets, _codes(severities) if stand else none, row.index)
        if inspection.stopped_at is not None:
            self._tally("stopped at", self.stops, inspection.stopped_at.value, row.index)
        if inspection.evaluates:
            self.evaluation_rows += 1
            self.evaluation_tokens += inspection.received or 0
            self._list("evaluation", ("rows",), row.index)
            return
        if stand:
            self._list("verdict", self.verdicts.count(severities, row.index), row.index)
        source, figures = self._source(row.where)
        figures[0] += 1
        self._list("source", (source,), row.index)
        if look.roles:
            self._tally("roles", self.signatures, _signature(look.roles[:13]), row.index)
        if inspection.rendered is not None:
            self._tally("template", self.branches, branch_of(inspection.rendered), row.index)
        tokens, labels = inspection.tokens, inspection.labels
        if tokens is None or labels is None:
            return
        if labels.dropped is not None:
            self._tally("dropped for", self.drops, visible(labels.dropped)[:LONGEST_NAME], row.index)
            figures[3] += 1
        self.paired += inspection.rejected is not None
        for side in look.sides:
            figures[1] += len(side.tokens)
            figures[2] += side.mask.trained
            self._measure(side)
        if inspection.example is not None:
            self.received_tokens += inspection.received or 0
            if labels.weights is not None:
                self._list("weight", self.weights.add(inspection.examples), row.index)
        if labels.dropped is None:
            for side in look.sides:
                self._budget(side)
            if inspection.rejected is None:  # the loss of a preference is no mean over tokens
                self._account(look, source)

    def _tally(self, kind: str, tallies: Tallies, name: str, row: int) -> None:
        """Count a row under a name, and list it there."""
        tallies.add(name, row)
        self._list(kind, (name,), row)

    def _list(self, kind: str, names: Iterable[str], row: int) -> None:
        if self.listing is not None:
            for name in names:
                self.listing.add(kind, name, row)

    def _compare(self, look: RowLook) -> None:
        """Hand the row to the checks of the dataset; where a baseline asks for it, remember which conversations come
        twice."""
        if self.listing is None and not self._marking:
            self.checks.add(look)
            return
        before = self._repeated_rows
        self.checks.add(look)
        again = [name for name, count, earlier in zip(REPEATS, self._repeated_rows, before) if count > earlier]
        self._list("repeats", again, look.inspection.row.index)
        whole = self.checks.whole(look.inspection) if self._marking and REPEATS[0] in again else None
        if whole is not None:
            self.repeated.add(whole)

    def _source(self, where: str) -> tuple[str, list[int]]:
        name = where.rpartition(" ")[0].rpartition(" ")[0] or where
        if name not in self.sources and len(self.sources) >= MOST_SOURCES:
            name = "others"
        return name, self.sources.setdefault(name, [0, 0, 0, 0])

    def _measure(self, look: RowLook) -> None:
        n, trained, row = look.mask.size, look.mask.trained, look.inspection.row.index
        self.tokenized += 1
        self.tokens += n
        self.trained += trained
        if n:
            share = trained * 100 // n
            self.shares[share] += 1
            if self.listing is not None:
                self._list("trained share", (share_bar(share),), row)
        if not look.tokens.samples:
            self._long(n, look.mask.runs, row)
        for start, end, _ in look.tokens.samples:
            self._long(end - start, moved(look.mask.runs, ((start, end),)), row)

    def _long(self, n: int, ranges: Ranges, row: int) -> None:
        """What each limit would take of one sequence, by where it carries loss."""
        self.lengths[n] += 1
        if self.listing is not None:
            self._list("length", (length_bar(n),), row)
        for limit in self.limits:
            if n <= limit:
                break
            trained = covered(ranges)
            lost = covered(ranges, limit)
            self.over[limit] += 1
            self.cut[limit] += n - limit
            self.trained_cut[limit] += lost
            self.dropped_tokens[limit] += n
            self.dropped_trained[limit] += trained
            self._list("over", (f"{limit:,}",), row)
            if trained and lost == trained:
                self.unlabelled[limit] += 1
                self._list("no label under", (f"{limit:,}",), row)

    def _budget(self, look: RowLook) -> None:
        """Where the loss goes: trained tokens that are not cut, by who wrote them."""
        spans, drawn, kept = look.mask.runs, look.mask.trained_in, look.labels.kept
        if kept != ((0, look.mask.size),):
            spans = overlap(spans, kept)
            drawn = trained_in(look.stretches, spans)
        ids, owners, row, special = look.tokens.ids, look.shape.owners, look.inspection.row.index, look.special_trained
        for owner, count in zip(owners, drawn):
            if count:
                self.by_owner[owner] += count
        if spans is not look.mask.runs:
            special = within(special, spans)
        self.by_special.update([ids[i] for i in special] if owners else ())
        if self.listing is not None:
            for at, count in enumerate(drawn):
                for kind, name in zip(("role", "message", "part"), owners[at] if count else ()):
                    self._list(kind, (str(name),), row)
            self._list("special", [self._special[ids[i]] for i in special] if owners else (), row)

    def _account(self, look: RowLook, source: str) -> None:
        """Whose loss it is: of each sequence what the model learns, its first token, which nothing predicts, aside."""
        labels, roles, mask = look.labels, look.shape.trained_roles, look.mask
        row = look.inspection.row
        where = [("file", source if source != row.where else ""), *source_column(row.data or {})]
        for kept in [(one,) for one in labels.kept] if look.inspection.more else [labels.kept]:
            spans, drawn, trained, size = mask.runs, mask.trained_in, mask.trained, mask.size
            if kept != ((0, size),) or labels.weights is not None:
                spans = overlap(spans, tuple([(at + (not i), end) for i, (at, end) in enumerate(kept)]))
                drawn, trained, size = trained_in(look.stretches, spans), covered(spans), covered(kept)
            elif spans and not spans[0][0]:
                drawn, trained = [count - (not at) for at, count in enumerate(drawn)], trained - 1
            whole: Amount = trained
            counts: dict[tuple[str, str], Amount] = {}
            if labels.weights is None:
                for key, stretches in roles:
                    if count := sum([drawn[at] for at in stretches]):
                        counts[key] = count
            else:
                whole = 0
                for start, end, weight in labels.weights.runs():
                    weighed, exact = overlap(spans, ((start, end),)), Fraction(weight if isfinite(weight) else 0)
                    whole += exact * covered(weighed)
                    drawn = trained_in(look.stretches, weighed)
                    for key, stretches in roles:
                        if count := sum([drawn[at] for at in stretches]):
                            counts[key] = counts.get(key, 0) + exact * count
            for key in where:
                counts[key] = whole
            counts["length", _bar(size)] = whole
            self.loss.add(trained, counts)

    def merge(self, other: Audit) -> None:
        """Take in an audit of other rows under the same recipe; `other` must not be used afterwards."""
        if self._marking:
            for whole in (*other.repeated, *(one for one in other.checks.seen if one in self.checks.seen)):
                self.repeated.add(whole)
        for name in (*COUNTS, "rows"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, mine in vars(self).items():
            if isinstance(mine, Counter):
                mine.update(getattr(other, name))
            elif isinstance(mine, (Tallies, FindingCounts, DatasetChecks, Verdicts, Weights, LossTally)):
                mine.merge(getattr(other, name))
        for source, theirs in other.sources.items():
            mine = self.sources.get(source, [0, 0, 0, 0])
            self.sources[source] = [ours + more for ours, more in zip(mine, theirs)]

    def lighten(self) -> None:
        """Leave out what whoever merges this has already: it then travels between processes faster."""
        self.checks.evaluation = Hashes()
        self._special = {}
        self.found.wanted = Filter()

    def finish(self) -> None:
        """Every row is in: add what only the whole dataset can tell. May be called again, and then does nothing."""
        if not self.finished:
            self.finished = True
            self._of_rows = deepcopy(self.found) if self._of_rows is not None else None
            self.found.add(
                check_dataset(self.checks), parts=lambda finding: dataset_marks(finding, self.checks, self.repeated)
            )

    def go_on(self) -> None:
        """More rows came: take back what the whole dataset told, until it is finished again."""
        if self._of_rows is not None:
            self.found, self.finished = self._of_rows, False

    def figures(self, packing: bool = True) -> Figures:
        """What is counted so far; without packing in a few milliseconds, however many lengths there are."""
        totals, repeats = self.checks.totals, (self.checks.same, self.checks.again, self.checks.leaked)
        repeated, answered_again, leaked = map(_group, REPEATS, repeats)
        by_role, by_message, by_part = Counter[str](), Counter[int](), Counter[str]()
        for (role, message, part), count in self.by_owner.items():
            by_role[role] += count
            by_message[message] += count
            by_part[part] += count
        return Figures(
            self.rows - self.evaluation_rows,
            self.tokenized,
            self.tokens,
            self.trained,
            totals.kept,
            self.received_tokens,
            totals.trained,
            dict(sorted(self.lengths.items())),
            quantiles(self.lengths, QUANTILES),
            dict(sorted(self.shares.items())),
            tuple(self._limit(limit, packing) for limit in self.limits),
            largest(by_role),
            dict(sorted(by_message.items())),
            largest({self._special[token]: count for token, count in self.by_special.items()}),
            largest(by_part),
            self.drops.figures(),
            self.stops.figures(),
            repeated,
            answered_again,
            leaked,
            tuple(SourceFigure(visible(name), *values) for name, values in self.sources.items()),
            self.signatures.figures(),
            self.branches.figures(),
            self.finding_sets.figures(),
            self.evaluation_rows,
            self.evaluation_tokens,
            self.weights.figures(),
            self.loss.figures(self._averaging, self.lengths) if packing else None,
            self.paired,
        )

    def verdict(self) -> tuple[Verdict, ...]:
        """What training does with the rows that train, the worst first; empty where nothing is wrong."""
        dropped, stopped = self.drops.figures(), sum(self.stops.counts.values()) == self.rows
        return self.verdicts.verdicts(self.rows - self.evaluation_rows, dropped[0].name if dropped else "", stopped)

    def _limit(self, limit: int, packing: bool) -> LimitFigure:
        packs, waste = best_fit(self.lengths, limit) if packing else (None, None)
        counts = (self.over, self.cut, self.trained_cut, self.unlabelled, self.dropped_tokens, self.dropped_trained)
        over, cut, trained_cut, unlabelled, dropped, dropped_trained = (count[limit] for count in counts)
        return LimitFigure(limit, over, cut, trained_cut, unlabelled, dropped, dropped_trained, packs, waste)


def branch_of(rendered: RenderedText) -> str:
    """The texts that the template itself wrote, each once in the order it first came, clipped and safe to draw.

    Rows that differ only in content and in the number of turns share a branch; a default system prompt, tools or
    an added think block make another one.
    """
    if not rendered.exact or not rendered.spans:
        return UNKNOWN_BRANCH
    text = rendered.text
    content, pad = Part.CONTENT, Part.PAD
    own = dict.fromkeys(
        [text[start:end] for start, end, _, part in rendered.spans if part is not content and part is not pad]
    )
    own.pop("", None)
    whole = "".join(own)
    if not own:
        return "content alone"
    return _short_branch(whole) if len(whole) < SHORT_BRANCH else _branch(whole)


def _branch(whole: str) -> str:
    if whole.isascii():  # each character is shown by itself
        whole = whole[:LONGEST_NAME]
    return visible(whole)[:LONGEST_NAME]


_short_branch = lru_cache(maxsize=1000)(_branch)


@lru_cache(maxsize=1000)
def _signature(roles: tuple[str, ...]) -> str:
    """The roles in their order, of which the first 12 are reported."""
    return visible(" ".join(roles[:12]) + (" …" if len(roles) > 12 else ""))[:LONGEST_NAME]


@lru_cache(maxsize=1000)
def _codes(findings: tuple[tuple[str, Severity], ...]) -> str:
    """The codes of a row's findings, each once."""
    return " ".join(sorted({code for code, _ in findings}))


_bar = lru_cache(maxsize=1000)(length_bar)


def _group(name: str, tally: Tally) -> GroupFigure:
    return GroupFigure(name, tally.count, tuple(tally.rows))
