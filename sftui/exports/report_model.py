"""What a finished audit hands to the writers of reports."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os.path import basename, splitext
from typing import TYPE_CHECKING, NamedTuple

from sftui.audit.audit import Audit
from sftui.audit.found import FoundCode, FoundFinding
from sftui.audit.verdict import Verdict
from sftui.errors import without_secrets
from sftui.findings import Finding, Fix, Severity, fix_text
from sftui.findings.catalogue import cures_of, repair_command
from sftui.findings.rule import DROP
from sftui.model import Inspection, RecipeChange
from sftui.recipe import Recipe
from sftui.repairs.run import TITLES
from sftui.tokens.facts import TokenizerFacts

if TYPE_CHECKING:
    from sftui.repairs.run import RunCounts

MARKS = {Severity.ERROR: "✗ error", Severity.WARNING: "! warning", Severity.INFO: "· info"}
NO_FIX = "no fix: "
"""Begins what is said of a fix that was tried and does not help, or does harm."""
SHOWN = 3
"""Findings of one code that are printed in full."""


class Advice(NamedTuple):
    """What to do against a finding, whether it was tried on rows that have it, and the command that does it."""

    text: str = ""
    tried: bool = False
    run: str = ""

    def sentence(self, *, run: bool = True) -> str:
        """In words for a line; `run`: with the command."""
        return self.label + (f"{self.text}: {self.run}" if run and self.run else self.text)

    @property
    def label(self) -> str:
        """What stands before the text."""
        return "fix: " if self.tried else "" if self.text.startswith(NO_FIX) else "not tried: "


class Cure(NamedTuple):
    """What was tried and helps, in words, and the codes of the findings against which it is taken; `why` it is not,
    where it is left out; how many rows it drops."""

    text: str
    codes: tuple[str, ...]
    why: str = ""
    drops: int = 0


class RowSample(NamedTuple):
    """A row that repairs change: its number, what they did, and a piece of it before and after."""

    row: int
    changes: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class FixOutcome:
    """What `check --fix` did: the cures that it took and those it left out, the keys of the trainer's config with what
    they said and say (`diff`: as lines of the user's own file), how many rows were changed or left out by which repair,
    with some of them, and the files written. `run` checks them again, and `after` is what that found; None where there
    was nothing to write."""

    cures: tuple[Cure, ...] = ()
    left: tuple[Cure, ...] = ()
    keys: tuple[tuple[str, str, str], ...] = ()
    diff: str = ""
    rows: RunCounts | None = None
    samples: tuple[RowSample, ...] = ()
    files: tuple[str, ...] = ()
    run: str = ""
    after: AuditReport | None = None

    def compared(self, before: AuditReport) -> Iterator[tuple[str, str, int, int]]:
        """What became of each code: gone, fewer, stays, more or new; the code, and how often it was found before and
        is now."""
        if self.after is None:
            return
        had, has = (one.audit.found.codes for one in (before, self.after))
        for code in dict.fromkeys((*had, *has)):
            counts = [found[code].count if code in found else 0 for found in (had, has)]
            word = "new" if not counts[0] else "gone" if not counts[1] else ""
            word = word or ("stays", "more", "fewer")[(counts[1] > counts[0]) - (counts[1] < counts[0])]
            yield word, code, counts[0], counts[1]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """An audit with what was audited. `complete` is False where only some rows were looked at.

    `files` are the files of the data by what the source calls them, `tracked` their names in the repository, where they
    are in one; `opening` are the words of a command that open all of it again. `looks` are findings with their rows
    inspected once more, so that their tokens can be drawn. `cured`
    are findings, by `tried_as`, with the cures that were tried on some rows and help; `fix` is what came of them where
    they were to be put in force.
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
    cured: Mapping[tuple[object, ...], Finding] = field(default_factory=dict)
    opening: tuple[str, ...] = ()
    fix: FixOutcome | None = None
    evaluates: bool = False
    """Whether it is the evaluation set of a config."""

    @property
    def trainer(self) -> str:
        return self.recipe.trainer

    def advice(self, finding: Finding) -> Advice:
        """What to do against a finding under the recipe's own trainer; no text where nothing is known.

        What was tried and helps: a fix of the recipe, a repair of the data, and leaving rows out last. Else what the
        finding or its rule says, which nobody tried.
        """
        cured = self._tried(finding)
        cure = next(iter(cures_of(cured)), None)
        if isinstance(cure, Fix):
            return Advice(cure.trainer_keys.get(self.trainer) or cure.title, True)
        if cure is not None:
            return Advice(TITLES[cure], True, repair_command(cure, finding.code))
        own = self._words(finding, cured)
        if cured is None or not cured.repairs:
            return Advice(own)
        rows = self.audit.found.codes[finding.code].in_rows()
        drop = f"drop {'its row' if rows == 1 else f'its {rows:,} rows'}"
        return Advice(f"{own}; or {drop}" if own else drop, not own, repair_command(DROP, finding.code))

    def command(self, advice: Advice) -> str:
        """The command of an advice: whole, to a new file, where it is known how the data was opened."""
        if not (advice.run and self.opening):
            return advice.run
        sftui, verb, *options = advice.run.split()
        stem, ending = splitext(basename(next(iter(self.files.values()), self.title)))
        what = ["without" if one == "--drop" else one for one in options if one != "--apply"] or ["messages"]
        made = f"{'-'.join((stem, *what))}{'.parquet' if ending == '.parquet' else '.jsonl'}"
        return shlex.join(map(without_secrets, (sftui, verb, *self.opening, *options, "-o", made)))

    def _words(self, finding: Finding, cured: Finding | None) -> str:
        """What the finding or its rule says to do; "" for a fix of the recipe that was tried and does not help."""
        fix = finding.fix
        left = fix if cured is None else cured.fix
        if left is not None and left.in_words and (cured is None or cured.repairs is not None or not cured.declined):
            return left.title
        if cured is not None and fix is not None:
            return f"{NO_FIX}{cured.declined[0]}" if cured.declined else ""
        return (fix.trainer_keys.get(self.trainer) if fix is not None else "") or fix_text(finding.code, self.trainer)

    def _tried(self, finding: Finding) -> Finding | None:
        """What was tried against a finding, be it alone or with others; None where nothing was."""
        return self.cured.get(tried_alone(finding)) or self.cured.get(tried_as(finding))

    def changes(self, finding: Finding) -> tuple[RecipeChange, ...]:
        """The changes of the recipe that were tried against a finding and help."""
        cured = self._tried(finding)
        return cured.fix.changes if cured is not None and cured.fix is not None else ()

    def advised(self, code: FoundCode, most: int | None = None) -> Iterator[tuple[FoundFinding, Advice]]:
        """The first findings of a code, each with its advice; none where that is the same as the one before."""
        before = Advice()
        for found in code.kept[:most]:
            advice = self.advice(found.finding)
            yield found, advice if advice != before else Advice()
            before = advice if advice.text else before

    @property
    def verdict(self) -> tuple[tuple[Verdict, Advice], ...]:
        """What training does with the data, the worst first, each with its one next step."""
        return tuple((verdict, self.advice_on(verdict.code)) for verdict in self.audit.verdict())

    def advice_on(self, code: str) -> Advice:
        """The advice on the first finding of a code that has some, before all what was tried."""
        found = self.audit.found.codes.get(code)
        every = [advice for one in (found.kept if found else ()) if (advice := self.advice(one.finding)).text]
        return next((advice for advice in every if advice.tried), every[0] if every else Advice())

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
    return (finding.code, "" if fix is None else str((fix.changes, fix.template, fix.repairs)))


def tried_alone(finding: Finding) -> tuple[object, ...]:
    """The same of one whose cure, which helps against others, was tried in vain."""
    return (*tried_as(finding), finding.row, finding.message)


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
