"""When a check is asked, and the rules by which it reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from sftui.findings.context import Context
from sftui.findings.dataset import DatasetChecks
from sftui.findings.look import Look
from sftui.findings.model import Finding
from sftui.findings.rule import Rule
from sftui.model import Inspection


class When(Enum):
    """Of which rows a check is asked."""

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
    """A check of single rows."""

    when: When
    rules: tuple[Rule, ...]
    found: Callable[[Look], Iterable[Finding]]

    def __call__(self, look: Look) -> Iterable[Finding]:
        return self.found(look)


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """A check of the set-up, asked once with some rows."""

    rules: tuple[Rule, ...]
    found: Callable[[Context, Sequence[Inspection]], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """A check of what was gathered over all rows."""

    rules: tuple[Rule, ...]
    found: Callable[[DatasetChecks], Iterable[Finding]]


def row_check(when: When, *rules: Rule) -> Callable[[Callable[[Look], Iterable[Finding]]], RowCheck]:
    """Makes a function of a row a check that reports by these rules."""
    return lambda found: RowCheck(when, rules, found)


def setup_check(
    *rules: Rule,
) -> Callable[[Callable[[Context, Sequence[Inspection]], Iterable[Finding]]], SetupCheck]:
    """The same of the set-up."""
    return lambda found: SetupCheck(rules, found)


def dataset_check(*rules: Rule) -> Callable[[Callable[[DatasetChecks], Iterable[Finding]]], DatasetCheck]:
    """The same of the whole dataset."""
    return lambda found: DatasetCheck(rules, found)
