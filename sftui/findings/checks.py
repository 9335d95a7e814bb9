"""When a check is run, and the rules by which it reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from sftui.findings.context import Context
from sftui.findings.dataset import DatasetChecks
from sftui.findings.look import RowLook
from sftui.findings.model import Finding
from sftui.findings.rule import Rule
from sftui.findings.shapes import RowShape
from sftui.model import Inspection, Kind

Parts = Callable[[DatasetChecks, Iterable[bytes]], Iterable[object]]


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


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check of single rows, with what can be said cheaply beforehand: where a gate is shut, it finds nothing.

    `kinds` (none: all), `recipe` and `shape` are run once for all rows of one shape, `row` of every row.
    """

    when: RowCondition
    rules: tuple[Rule, ...]
    found: Callable[[RowLook], Iterable[Finding]]
    row: Callable[[RowLook], object] | None = None
    recipe: Callable[[Context], object] | None = None
    shape: Callable[[RowShape], object] | None = None
    kinds: tuple[Kind, ...] = ()

    def __call__(self, look: RowLook) -> Iterable[Finding]:
        return self.found(look)

    def open(self, context: Context, shape: RowShape) -> bool:
        """Whether any row of this shape may have a finding under the context's recipe."""
        return (
            (not self.kinds or shape.kind in self.kinds)
            and (self.recipe is None or bool(self.recipe(context)))
            and (self.shape is None or bool(self.shape(shape)))
        )


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """A check of the set-up, asked once with some rows."""

    rules: tuple[Rule, ...]
    found: Callable[[Context, Sequence[Inspection]], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """A check of what was gathered over all rows.

    `parts` are the things of which its finding consists, given the conversations that are repeated: a finding is known
    from another run when all of them are. Without any it is known by what it says.
    """

    rules: tuple[Rule, ...]
    found: Callable[[DatasetChecks], Iterable[Finding]]
    parts: Parts | None = None


def row_check(
    when: RowCondition,
    *rules: Rule,
    row: Callable[[RowLook], object] | None = None,
    recipe: Callable[[Context], object] | None = None,
    shape: Callable[[RowShape], object] | None = None,
    kinds: tuple[Kind, ...] = (),
) -> Callable[[Callable[[RowLook], Iterable[Finding]]], RowCheck]:
    """Makes a function of a row a check that reports by these rules, behind these gates (see `RowCheck`)."""
    return lambda found: RowCheck(when, rules, found, row, recipe, shape, kinds)


def setup_check(*rules: Rule) -> Callable[[Callable[[Context, Sequence[Inspection]], Iterable[Finding]]], SetupCheck]:
    """The same of the set-up."""
    return lambda found: SetupCheck(rules, found)


def dataset_check(
    *rules: Rule, parts: Parts | None = None
) -> Callable[[Callable[[DatasetChecks], Iterable[Finding]]], DatasetCheck]:
    """The same of the whole dataset."""
    return lambda found: DatasetCheck(rules, found, parts)
