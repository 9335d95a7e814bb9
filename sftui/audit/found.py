"""Findings gathered over the dataset: counts by code, the first of each in full, who is new, and by what one is
known in another run."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from sftui.findings import CODES, SCOPE_OF, DatasetChecks, Finding, Severity, Waiver
from sftui.findings.catalogue import PARTS
from sftui.model import Row
from sftui.text import share

KEPT = 100
"""Findings of one code that are kept in full; of the others the row and the fingerprint."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which findings count: codes or their beginnings (`TRU`), waivers, and what a baseline knows already (`marks`).

    `remember` keeps the fingerprint of every finding, some 120 bytes each, for a baseline to be written.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    known: frozenset[str] = frozenset()
    remember: bool = False

    def wants(self, code: str) -> bool:
        return (not self.select or code.startswith(self.select)) and not (self.ignore and code.startswith(self.ignore))


@dataclass(frozen=True, slots=True)
class FoundFinding:
    """A finding, where its row stands in the source, and what recognises it in another run."""

    finding: Finding
    where: str
    fingerprint: str


@dataclass(slots=True)
class FoundCode:
    """What was found of one code: how often, in which rows (in order of coming), and the first in full."""

    code: str
    severity: Severity
    count: int = 0
    rows: array[int] = field(default_factory=lambda: array("I"))
    kept: list[FoundFinding] = field(default_factory=list)

    def in_rows(self) -> int:
        """How many rows have it, each counted once."""
        return len(set(self.rows))

    def rate(self, rows: int) -> float:
        """Which part of so many rows has it; 1 for a code of the set-up, which all rows have."""
        if SCOPE_OF[self.code] == "setup" or not rows:
            return 1.0
        return min(1.0, (self.in_rows() or max(one.finding.count for one in self.kept)) / rows)

    def share_text(self, rows: int) -> str:
        """Which part of so many rows has it, `in 34 % of rows`; empty for a code of which that tells nothing."""
        return f"in {share(self.in_rows(), rows)} of rows" if CODES[self.code].share and self.rows and rows else ""


class FindingCounts:
    """Counts findings with `add`; plain data, so it pickles and merges."""

    def __init__(self, wanted: Filter | None = None, kept: int = KEPT) -> None:
        self.wanted = wanted or Filter()
        self.kept_each = kept
        self.codes: dict[str, FoundCode] = {}
        self.full: set[str] = set()
        self.fingerprints: dict[str, set[str]] = {}
        self.severities: Counter[Severity] = Counter()
        self.waived = self.known = 0

    def add(
        self,
        findings: Iterable[Finding],
        row: Row | None = None,
        parts: Callable[[Finding], frozenset[str]] | None = None,
    ) -> tuple[Finding, ...]:
        """Take in what was found in a row, or in the set-up and the dataset (row None); the findings that stand.

        `parts` gives the marks of a finding that consists of several things: it is known when each of them is.
        """
        stand: list[Finding] = []
        wanted = self.wanted
        for finding in findings:
            if not wanted.wants(finding.code):
                continue
            if any(waiver.covers(finding) for waiver in wanted.waivers):
                self.waived += 1
                continue
            if finding.code in self.full:
                stand.append(finding)
                self._count(finding)
                continue
            own = row_mark(finding, row) if row is not None else setup_mark(finding)
            marks = frozenset({own}) if parts is None else parts(finding)
            if self.wanted.remember:
                self.fingerprints.setdefault(finding.code, set()).update(marks)
            known = len(marks & self.wanted.known)
            if known == len(marks):
                self.known += 1
                continue
            if known:
                sentence = f"{finding.sentence}; the baseline has {known} of {len(marks)}"
                finding = replace(finding, sentence=sentence)
            stand.append(finding)
            one = self._count(finding)
            if len(one.kept) < self.kept_each:
                fingerprint = next(iter(marks)) if len(marks) == 1 else mark(*sorted(marks))
                one.kept.append(FoundFinding(finding, row.where if row is not None else "", fingerprint))
                self._fill(one)
        return tuple(stand)

    def _fill(self, one: FoundCode) -> None:
        """Count further findings of a code alone where enough are kept, and none is held against another run's."""
        if len(one.kept) >= self.kept_each and not (self.wanted.remember or self.wanted.known):
            self.full.add(one.code)

    def _count(self, finding: Finding) -> FoundCode:
        """Count a finding; what is found of its code by now."""
        one = self.codes.get(finding.code)
        if one is None:
            one = self.codes[finding.code] = FoundCode(finding.code, finding.severity)
        if finding.severity is not one.severity and finding.severity.rank < one.severity.rank:
            one.severity = finding.severity
        one.count += 1
        self.severities[finding.severity] += 1
        if finding.row is not None:
            one.rows.append(finding.row)
        return one

    def merge(self, other: FindingCounts) -> None:
        """Take in what was found in other rows."""
        self.waived += other.waived
        self.known += other.known
        self.severities.update(other.severities)
        for code, marks in other.fingerprints.items():
            self.fingerprints.setdefault(code, set()).update(marks)
        for code, theirs in other.codes.items():
            mine = self.codes.setdefault(code, theirs)
            if mine is theirs:
                self._fill(mine)
                continue
            mine.severity = min(mine.severity, theirs.severity, key=lambda one: one.rank)
            mine.count += theirs.count
            in_order = not mine.rows or not theirs.rows or mine.rows[-1] <= theirs.rows[0]
            mine.rows.extend(theirs.rows)
            mine.kept.extend(theirs.kept)
            if not in_order:
                mine.rows = array("I", sorted(mine.rows))
                mine.kept.sort(key=_order)
            del mine.kept[self.kept_each :]
            self._fill(mine)

    def ordered(self) -> tuple[FoundCode, ...]:
        """Codes of the set-up first, then of the dataset, then of rows; among them the worst first, then by name."""
        scopes = ("setup", "dataset", "row")
        return tuple(
            sorted(self.codes.values(), key=lambda one: (scopes.index(SCOPE_OF[one.code]), one.severity.rank, one.code))
        )

    def worst(self, but: Collection[str] = ()) -> Severity | None:
        """The worst severity that stands, of other codes than some."""
        some = (one.severity for one in self.codes.values() if one.code not in but)
        return min(some, key=lambda one: one.rank, default=None)

    def over(self, limits: Mapping[str, float], rows: int, option: str) -> tuple[str, ...]:
        """The codes that more of so many rows have than `option` allows (its rates by code), each in a sentence."""
        rates = ((one.code, one.rate(rows), limits[one.code]) for one in self.ordered() if one.code in limits)
        return tuple(
            f"{code} is in {rate:.3%} of rows, and {option} allows {most:.3%}"
            for code, rate, most in rates
            if rate > most
        )


def _order(found: FoundFinding) -> tuple[int, int, tuple[int, int]]:
    one = found.finding
    return (-1 if one.row is None else one.row, -1 if one.message is None else one.message, one.tokens or (-1, -1))


_COUNTS = re.compile(
    r"(?<![\w.])\d[\d,]*"
    r"(?: of \d[\d,]*(?![\w.])| (?:[a-z]+ )?(?:row|document|conversation|message|answer|turn|prompt)s?\b(?:"
    r" (?:is|are|has|have|says?)\b)?)"
)
"""`7 of 1,200`, and `7 rows are` or `1 packed document is`: how often, which moves with the rows."""
_EXAMPLE = re.compile(r"(?<!\S)\S+ or similar")
_QUOTED = re.compile(r"(`[^`]*`)")


def mark(*parts: object) -> str:
    """The fingerprint of what the parts say together: 16 hexadecimal digits."""
    return blake2b("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def row_mark(finding: Finding, row: Row) -> str:
    """A finding of a row: its code, the text of the row, the message, and the side of a preference."""
    return mark(finding.code, row.raw, finding.message, *([finding.side] if finding.side else []))


def setup_mark(finding: Finding) -> str:
    """A finding of the set-up: what it says but for how often, so that its keys, knobs and tokens still tell it
    apart."""
    parts = _QUOTED.split(finding.sentence)
    parts[::2] = [_EXAMPLE.sub("…", _COUNTS.sub("#", part)) for part in parts[::2]]
    return mark(finding.code, "".join(parts))


def dataset_marks(finding: Finding, checks: DatasetChecks, repeated: Iterable[bytes]) -> frozenset[str]:
    """What a finding of the whole dataset consists of, one mark for each part; it is known only when all of them are.

    Where its check names no parts, as for one about the recipe or a share of the rows, what it names.
    """
    parts = PARTS.get(finding.code)
    made = () if parts is None else parts(checks, repeated)
    return frozenset(mark(finding.code, one) for one in made) or frozenset({setup_mark(finding)})
