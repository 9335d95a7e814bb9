"""What a finished audit hands to the writers of reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sftui.audit.audit import Audit
from sftui.audit.found import FoundCode, FoundFinding
from sftui.audit.verdict import Verdict
from sftui.findings import Finding, Severity, fix_text
from sftui.model import Inspection
from sftui.recipe import Recipe
from sftui.tokens.facts import TokenizerFacts

MARKS = {Severity.ERROR: "✗ error", Severity.WARNING: "! warning", Severity.INFO: "· info"}
SHOWN = 3
"""Findings of one code that are printed in full."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """An audit with what was audited. `complete` is False where only some rows were looked at.

    `files` are the files of the data by what the source calls them, `tracked` their names in the repository, where they
    are in one. `looks` are findings with their rows inspected once more, so that their tokens can be drawn. `failing`
    are the fixes, by `tried_as`, that were tried on some rows and do not help.
    """

    audit: Audit
    recipe: Recipe
    title: str
    paths: tuple[str, ...]
    tokenizer: TokenizerFacts
    template: str
    complete: bool = True
    notes: tuple[str, ...] = ()
    looks: tuple[tuple[FoundFinding, Inspection], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    tracked: Mapping[str, str] = field(default_factory=dict)
    failing: frozenset[tuple[object, ...]] = frozenset()

    @property
    def trainer(self) -> str:
        return self.recipe.trainer

    def key(self, finding: Finding) -> str:
        """The key to set for the recipe's own trainer, in words that can be pasted; "" where there is none that helps.

        A fix in words that the finding brings itself stands before that of its code: it knows the template and data.
        """
        if tried_as(finding) in self.failing:
            return ""
        fix = finding.fix
        if fix is not None and not fix.changes and fix.template is None:
            return fix.title
        own = fix.trainer_keys.get(self.trainer) if fix is not None else None
        return own or fix_text(finding.code, self.trainer)

    def keyed(self, code: FoundCode, most: int | None = None) -> Iterator[tuple[FoundFinding, str]]:
        """The first findings of a code, each with its key; "" where that is the same as the one before."""
        before = ""
        for found in code.kept[:most]:
            key = self.key(found.finding)
            yield found, key if key != before else ""
            before = key or before

    @property
    def verdict(self) -> tuple[tuple[Verdict, str], ...]:
        """What training does with the data, the worst first, each with its one next step ("" where there is none)."""
        return tuple((verdict, self._key_of(verdict.code)) for verdict in self.audit.verdict())

    def _key_of(self, code: str) -> str:
        """The key of the first finding of a code that has one."""
        found = self.audit.found.codes.get(code)
        return next((key for one in found.kept if (key := self.key(one.finding))), "") if found is not None else ""

    def place(self, found: FoundFinding) -> tuple[str, int | None]:
        """The file and line that a finding stands in, as an editor opens it from here; the line is None where rows have
        no lines.

        What concerns the set-up or the whole dataset stands in what was named as data.
        """
        title, word, number = _split(found.where)
        file = self.files.get(title) or (self.paths[0] if len(self.paths) == 1 else title or self.title)
        return file, number if word == "line" else None

    def place_in_repository(self, found: FoundFinding) -> tuple[str, int | None]:
        """The same as a review finds it: from the root of the repository; without a row, in the first file of the
        data."""
        file, line = self.place(found)
        if not found.where and self.files:
            file = next(iter(self.files.values()))
        return self.tracked.get(file, file), line


def tried_as(finding: Finding) -> tuple[object, ...]:
    """What the findings have in common whose fix is the same one."""
    fix = finding.fix
    return (finding.code, "" if fix is None else str((fix.changes, fix.template)))


def _split(where: str) -> tuple[str, str, int | None]:
    """`data.jsonl line 17` as its three parts."""
    head, _, number = where.rpartition(" ")
    title, _, word = head.rpartition(" ")
    return (title, word, int(number)) if number.isdigit() else (where, "", None)


def counted(checked: AuditReport) -> str:
    """`2 errors, 1 warning, no infos, 3 waived`."""
    found = checked.audit.found
    parts = [counted_word(found.severities[severity], severity.value) for severity in Severity]
    for count, word in ((found.waived, "waived"), (found.known, "known from the baseline")):
        if count:
            parts.append(f"{count:,} {word}")
    return ", ".join(parts)


def counted_word(count: int, word: str) -> str:
    """`no rows`, `1 row`, `1,200 rows`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s" if count else f"no {word}s"


def findings_in_order(found: AuditReport) -> Iterator[FoundFinding]:
    """Every finding kept in full, by code in the order of the audit, then by row."""
    for code in found.audit.found.ordered():
        yield from code.kept
