"""What the findings add up to: what the model learns, and does not, from how many rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sftui.audit.tallies import Tallies
from sftui.findings import CODES, Finding, Severity
from sftui.findings.model import Consequence
from sftui.text import many

_NAMES = {one.label: one for one in Consequence}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence of what training does with the data: `rows` of `of` rows, the first of them in `first`.

    `consequence` is its label and `code` the finding that most of the rows have, which says why; `sentence` tells both.
    `severity` is `error` or `warning`.
    """

    severity: Severity
    consequence: str
    sentence: str
    rows: int
    of: int
    code: str
    first: tuple[int, ...]


class Verdicts:
    """Counts the rows of each consequence with `count`; plain data, so it pickles and merges."""

    def __init__(self) -> None:
        self.rows = Tallies()
        self.errors: Counter[str] = Counter()
        self.causes: Counter[tuple[str, str]] = Counter()
        self.setup: set[tuple[str, str, bool]] = set()

    def of_setup(self, findings: Iterable[Finding]) -> None:
        """Take in what was found of the set-up."""
        found = _led_to((finding.code, finding.severity) for finding in findings)
        self.setup.update((one.label, code, bad) for one, codes in found.items() for code, bad in codes.items())

    def count(self, severities: tuple[tuple[str, Severity], ...], row: int) -> tuple[str, ...]:
        """Take in the code and the severity of each finding of a row; under which labels it is counted."""
        labels, comes_to = _comes_to(severities)
        for label, bad, causes in comes_to:
            self.rows.add(label, row)
            self.errors[label] += bad
            for cause in causes:
                self.causes[cause] += 1
        return labels

    def merge(self, other: Verdicts) -> None:
        """Take in what was found in other rows."""
        self.rows.merge(other.rows)
        self.errors.update(other.errors)
        self.causes.update(other.causes)
        self.setup |= other.setup

    def verdicts(self, rows: int, dropped: str = "", stopped: bool = False) -> tuple[Verdict, ...]:
        """What holds of so many rows: errors before warnings, then the worst consequence; empty where all is well.

        `dropped` is why most of those that the trainer drops are; `stopped`: none of them could be rendered.
        """
        made = [*self._of_rows(rows, dropped), *self._of_setup(rows, stopped)]
        return tuple(sorted(made, key=lambda one: (one.severity.rank, _NAMES[one.consequence].rank)))

    def _of_rows(self, of: int, dropped: str) -> Iterable[Verdict]:
        everywhere = {label for label, _, _ in self.setup}
        for label, count in self.rows.counts.items():
            if label in everywhere:
                continue
            severity = Severity.ERROR if self.errors[label] else Severity.WARNING
            code = _cause(label, [(times, code) for (one, code), times in self.causes.items() if one == label])
            yield _verdict(label, severity, count, of, code, self.rows.rows[label], dropped)

    def _of_setup(self, of: int, stopped: bool) -> Iterable[Verdict]:
        for label in sorted({label for label, _, _ in self.setup}):
            codes = [(int(bad), code) for one, code, bad in self.setup if one == label]
            severity = Severity.ERROR if max(codes)[0] else Severity.WARNING
            cause = _cause(label, codes)
            stops = Consequence.STOPS.label
            if stopped and _NAMES[label] is Consequence.GARBLED and stops not in self.rows.counts:
                label = stops  # no text of theirs was made
            yield _verdict(label, severity, of, of, cause, range(min(of, 1)))


def of_row(findings: Iterable[Finding]) -> tuple[Severity, Consequence] | None:
    """What the findings of one row come to, the worst of it; None where all is well."""
    found = _alone(_led_to((finding.code, finding.severity) for finding in findings))
    comes_to = [(Severity.ERROR if any(codes.values()) else Severity.WARNING, one) for one, codes in found.items()]
    return min(comes_to, key=lambda one: (one[0].rank, one[1].rank), default=None)


_Counted = tuple[str, bool, tuple[tuple[str, str], ...]]
"""What a row is counted under: the label, whether one of its findings is an error, and the causes."""


@lru_cache(maxsize=1000)
def _comes_to(findings: tuple[tuple[str, Severity], ...]) -> tuple[tuple[str, ...], tuple[_Counted, ...]]:
    """The labels that a row with such findings is counted under, and each with all that is counted."""
    counted = tuple(
        [
            (one.label, any(codes.values()), tuple([(one.label, code) for code in codes]))
            for one, codes in _alone(_led_to(findings)).items()
        ]
    )
    return tuple([label for label, _, _ in counted]), counted


def _led_to(findings: Iterable[tuple[str, Severity]]) -> dict[Consequence, dict[str, bool]]:
    """The codes that lead to each consequence, and whether one of their findings is an error."""
    found: dict[Consequence, dict[str, bool]] = {}
    for code, severity in findings:
        leads_to = CODES[code].leads_to
        bad = severity is Severity.ERROR
        if leads_to is None or severity is Severity.INFO or (leads_to is Consequence.STOPS and not bad):
            continue
        codes = found.setdefault(leads_to, {})
        codes[code] = codes.get(code, False) or bad
    return found


def _alone(found: dict[Consequence, dict[str, bool]]) -> dict[Consequence, dict[str, bool]]:
    """Without what only comes of something worse."""
    if Consequence.STOPS in found:  # nothing else of the row matters
        found = {Consequence.STOPS: found[Consequence.STOPS]}
    elif Consequence.UNREAD in found:  # what else is found comes of it, or says why
        why = (found.get(one, {}) for one in (Consequence.UNREAD, Consequence.GARBLED, Consequence.LOST))
        found = {Consequence.UNREAD: {code: bad for codes in why for code, bad in codes.items()}}
    return found


def _cause(label: str, codes: Iterable[tuple[int, str]]) -> str:
    """The code that says why: the one of most rows, but for what is unread one that says more than that it is."""
    unread = _NAMES[label] is Consequence.UNREAD
    return min(codes, key=lambda one: (unread and CODES[one[1]].leads_to is Consequence.UNREAD, -one[0], one[1]))[1]


def _verdict(
    label: str, severity: Severity, rows: int, of: int, code: str, first: Sequence[int], dropped: str = ""
) -> Verdict:
    consequence = _NAMES[label]
    share = f"all {many(of, 'row')}" if rows == of > 1 else f"{rows:,} of {many(of, 'row')}"
    if consequence is Consequence.DROPPED:
        why = f", e.g. {dropped}" if dropped else ""
    elif CODES[code].leads_to is Consequence.UNREAD:
        why = ""  # the sentence says it
    else:
        why = f": {CODES[code].title}"
    return Verdict(severity, label, f"{consequence.sentence} {share}{why}", rows, of, code, tuple(first))
