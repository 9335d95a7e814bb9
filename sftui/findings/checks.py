"""When a check is run, what it finds wrong, and the rules by which findings are made of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from itertools import islice
from typing import Any

from sftui.findings.context import Context
from sftui.findings.dataset import DatasetChecks, Tally
from sftui.findings.fixes import fix_of, rule_fix, tight_tags
from sftui.findings.look import RowLook, shown
from sftui.findings.model import Finding, Fix, Severity
from sftui.findings.rule import Rule
from sftui.findings.shapes import RowShape
from sftui.model import NOWHERE, Conversation, Inspection, Kind, RecipeChange
from sftui.recipe import get
from sftui.text import visible
from sftui.values import value_class

Parts = Callable[[DatasetChecks, Iterable[bytes]], Iterable[object]]


@value_class
class Fault:
    """What a check finds wrong, of which a `Finding` is made: a sentence on it, safe or not, and what shows it (None:
    what stands at its place); what costs much a function makes of them, where it is read. `severity` where it is not
    the rule's, `rule` where it is not the check's first.

    Of a row `message`, `tokens` (as far as it has them) and `span` say where; of the set-up `rows` which show it and
    `count` how many they are, or `of` them themselves; of the whole dataset `tally`. `changes` are knobs with the
    values that repair it, `title` says so in words and `template` names a surgery; `tags`: tags that are put anew do,
    where the mask is drawn from them; `fix` is what does in place of all this.
    `rejected`: places are of the rejected side of a preference.
    """

    sentence: str | Callable[[], str]
    evidence: str | Callable[[], str] | None = None
    severity: Severity | None = None
    _: KW_ONLY
    rule: Rule | None = None
    message: int | None = None
    tokens: tuple[int, int] | None = None
    span: tuple[int, int] | None = None
    rows: tuple[int, ...] = ()
    count: int = 1
    of: Sequence[Inspection] = ()
    tally: Tally | None = None
    changes: Sequence[tuple[str, Any]] = ()
    title: str = ""
    template: str | None = None
    tags: bool = False
    fix: Fix | None = None
    rejected: bool = False


def _words(text: str | Callable[[], str] | None) -> str:
    """A sentence or evidence, made where a function makes it."""
    return text() if callable(text) else text or ""


class RowCondition(Enum):
    """Of which rows a check is run."""

    DATA = "data"
    """Every one: it needs the row's data only."""
    CONVERSATION = "conversation"
    """Those that are a conversation."""
    STOPPED = "stopped"
    """Those that failed at some stage."""
    LABELLED = "labelled"
    """Those with tokens and labels."""
    SLOW = "slow"
    """The same; it encodes or renders again."""
    PAIRED = "paired"
    """Preferences with tokens and labels, each asked once: the look's `sides` are the chosen and the rejected one."""


DATA, CONVERSATION, STOPPED, LABELLED, SLOW, PAIRED = RowCondition
CHATS, TOKENIZED, WRITTEN = (Kind.CHAT,), (Kind.TOKENS,), (Kind.CHAT, Kind.STRINGS, Kind.TEXT)
BY_PROMPT = ("auto", "completion")
"""The rules of masks that are cut behind the prompt."""


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check of single rows: of those of some `kinds` and shapes (`of`), under masks of some rules (`masks`; none:
    all) and recipes.

    `shape`, `signs` and `row` say cheaply beforehand where it finds nothing: `row` of every row, the others once for
    all rows of one shape. `signs` are some of `SIGNS`: it finds nothing in a row whose texts hold none of them; ""
    where that tells nothing. Of the faults of a row the first is reported, where not `several` are.
    """

    when: RowCondition
    rules: tuple[Rule, ...]
    faults: Callable[[RowLook], Iterable[Fault]]
    of: Callable[[RowShape], object] | None = None
    row: Callable[[RowLook], object] | None = None
    recipe: Callable[[Context], object] | None = None
    shape: Callable[[RowShape, Context], object] | None = None
    signs: Callable[[RowShape, Context], str] | None = None
    kinds: tuple[Kind, ...] = ()
    masks: tuple[str, ...] = ()
    several: bool = False

    def __call__(self, look: RowLook) -> list[Finding]:
        faults = islice(self.faults(look), None if self.several else 1)
        return [finding_of(look, fault.rule or self.rules[0], fault) for fault in faults]

    def holds(self, look: RowLook) -> bool:
        """Whether it finds anything in a row."""
        return self.fits(look.context, look.shape) and any(True for _ in self.faults(look))

    def fits(self, context: Context, shape: RowShape) -> bool:
        """Whether it is a check of rows of this shape under the context's recipe."""
        return (
            (not self.kinds or shape.kind in self.kinds)
            and (self.of is None or bool(self.of(shape)))
            and (not self.masks or context.recipe.mask.rule in self.masks)
            and (self.recipe is None or bool(self.recipe(context)))
        )

    def open(self, context: Context, shape: RowShape) -> bool:
        """Whether it may find anything in such rows."""
        return self.fits(context, shape) and (self.shape is None or bool(self.shape(shape, context)))

    def seen(self, context: Context, shape: RowShape, signs: frozenset[str]) -> bool:
        """Whether it may find anything where the texts hold these signs."""
        wanted = "" if self.signs is None else self.signs(shape, context)
        return not wanted or not signs.isdisjoint(wanted)


def finding_of(look: RowLook, rule: Rule, fault: Fault) -> Finding:
    """The finding of a fault of a row; without words where it is only counted."""
    severity, row = fault.severity or rule.severity, look.inspection.row.index
    look = look.sides[-1] if fault.rejected else look
    if rule.code in look.counted:
        return Finding(rule.code, severity, "", row, signature=look.signature)
    tokens, span, evidence = fault.tokens, fault.span, fault.evidence
    if tokens is not None and look.inspection.tokens is not None:
        tokens = max(0, tokens[0]), min(tokens[1], len(look.tokens))
        starts, ends = look.tokens.starts[slice(*tokens)], look.tokens.ends[slice(*tokens)]
        placed = [start for start in starts if start != NOWHERE]
        if span is None and placed:
            span = min(placed), max([end for end in ends if end != NOWHERE])
    if evidence is None and tokens is not None:
        evidence = look.spelling.quote(*tokens)
    elif evidence is None:
        evidence = shown(look.rendered.text[slice(*span)]) if span else ""
    fix = fault.fix or (tight_tags(look.context, rule, look.rendered) if fault.tags else None)
    return Finding(
        rule.code,
        severity,
        visible(_words(fault.sentence)),
        row,
        fault.message,
        tokens,
        span,
        _words(evidence),
        fix or fix_of(look.context, rule, fault.changes, fault.title, fault.template),
        signature=look.signature,
        side="rejected" if fault.rejected else "",
    )


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """A check of the set-up, asked once with some rows."""

    rules: tuple[Rule, ...]
    faults: Callable[[Context, Sequence[Inspection]], Iterable[Fault]]

    def __call__(self, context: Context, sample: Sequence[Inspection]) -> Iterator[Finding]:
        for fault in self.faults(context, sample):
            rule = fault.rule or self.rules[0]
            fix = fault.fix or fix_of(context, rule, fault.changes, fault.title, fault.template)
            rows = tuple(inspection.row.index for inspection in fault.of[:5]) or fault.rows[:5]
            yield _of_rows(rule, fault, _words(fault.evidence), fix, rows, len(fault.of) or fault.count)


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """A check of what was gathered over all rows.

    `parts` are the things of which its finding consists, given the conversations that are repeated: a finding is known
    from another run when all of them are. Without any it is known by what it says.
    """

    rules: tuple[Rule, ...]
    faults: Callable[[DatasetChecks], Iterable[Fault]]
    parts: Parts | None = None

    def __call__(self, checks: DatasetChecks) -> Iterator[Finding]:
        for fault in self.faults(checks):
            rule, tally = fault.rule or self.rules[0], fault.tally or Tally()
            changes = tuple(RecipeChange(path, get(checks.recipe, path), after) for path, after in fault.changes)
            title = ", ".join(f"set {one.path} to {one.after}" for one in changes) or rule.fix_text(checks.trainer)
            evidence = _words(fault.evidence) or "rows " + ", ".join(map(str, tally.rows))
            yield _of_rows(rule, fault, evidence, rule_fix(rule, changes, title), tuple(tally.rows), tally.count)


def _of_rows(rule: Rule, fault: Fault, evidence: str, fix: Fix | None, rows: tuple[int, ...], count: int) -> Finding:
    """The finding of a fault of the set-up or of the whole dataset, with some rows that show it."""
    severity = fault.severity or rule.severity
    return Finding(rule.code, severity, _words(fault.sentence), evidence=evidence, fix=fix, rows=rows, count=count)


def row_check(
    when: RowCondition,
    *rules: Rule,
    of: Callable[[RowShape], object] | None = None,
    row: Callable[[RowLook], object] | None = None,
    recipe: Callable[[Context], object] | None = None,
    shape: Callable[[RowShape, Context], object] | None = None,
    signs: Callable[[RowShape, Context], str] | None = None,
    kinds: tuple[Kind, ...] = (),
    masks: tuple[str, ...] = (),
    several: bool = False,
) -> Callable[[Callable[[RowLook], Iterable[Fault]]], RowCheck]:
    """Makes a function of a row a check that reports by these rules, behind these gates (see `RowCheck`)."""
    return lambda faults: RowCheck(when, rules, faults, of, row, recipe, shape, signs, kinds, masks, several)


def setup_check(*rules: Rule) -> Callable[[Callable[[Context, Sequence[Inspection]], Iterable[Fault]]], SetupCheck]:
    """The same of the set-up."""
    return lambda faults: SetupCheck(rules, faults)


def dataset_check(
    *rules: Rule, parts: Parts | None = None
) -> Callable[[Callable[[DatasetChecks], Iterable[Fault]]], DatasetCheck]:
    """The same of the whole dataset."""
    return lambda faults: DatasetCheck(rules, faults, parts)


def chats(sample: Sequence[Inspection], holds: Callable[[Conversation], object] = bool) -> list[Inspection]:
    """The rows that are conversations of messages, of which something holds."""
    return of_kind(sample, Kind.CHAT, holds)


def of_kind(
    sample: Sequence[Inspection], kind: Kind, holds: Callable[[Conversation], object] = bool
) -> list[Inspection]:
    """The rows of a kind, of which something holds."""
    return [row for row in sample if (found := row.conversation) is not None and found.kind is kind and holds(found)]
