"""The set-up as its checks see it, which are run once, with some rows of the dataset inspected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sftui.findings.context import Context
from sftui.findings.fixes import fix_of
from sftui.findings.model import Finding, Severity
from sftui.findings.rule import Rule
from sftui.model import Inspection, Kind


def about(
    context: Context,
    rule: Rule,
    sentence: str,
    evidence: str = "",
    severity: Severity | None = None,
    changes: Sequence[tuple[str, Any]] = (),
    title: str = "",
    template: str | None = None,
    rows: tuple[int, ...] = (),
    count: int = 1,
    of: Sequence[Inspection] = (),
) -> Finding:
    """A finding on the set-up; `of` are the rows that it concerns, in place of their numbers and count."""
    return Finding(
        rule.code,
        severity or rule.severity,
        sentence,
        evidence=evidence,
        fix=fix_of(context, rule, changes, title, template),
        rows=tuple(one.row.index for one in of[:5]) or rows[:5],
        count=len(of) or count,
    )


def chats(sample: Sequence[Inspection]) -> list[Inspection]:
    """The rows that are conversations of messages."""
    return [one for one in sample if one.conversation is not None and one.conversation.kind is Kind.CHAT]
