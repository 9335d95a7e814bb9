"""Rows and audits as a notebook shows them: the report's markup in a box of its own, clipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sftui.exports.report_markup import page, style, token_range
from sftui.exports.report_model import MARKS, AuditReport, counted
from sftui.findings import CODES, Finding
from sftui.model import IGNORE_INDEX, SIDES, Inspection
from sftui.text import clip, many, share, visible

SHOWN_TOKENS = 400
SHOWN_FINDINGS = 10
SHOWN_CHARACTERS = 2_000


def row_box(inspection: Inspection, findings: Sequence[Finding], preset: str, ignore: int = IGNORE_INDEX) -> str:
    """A row inspected with text: its first tokens by label, of a preference those of each side, and what is wrong."""
    index, sides = inspection.row.index, inspection.alone
    if inspection.problem is not None:
        return _box([f"row {index}", preset], [_clip(visible(inspection.problem.sentence()))])
    lengths = [len(side.tokens) if side.tokens is not None else 0 for side in sides]
    head = [f"row {index}", many(sum(lengths), "token"), f"{inspection.trained:,} trained", preset]
    if inspection.evaluates:
        head.append("evaluation")
    return _box(
        head,
        [f"dropped by the trainer: {inspection.dropped}"] if inspection.dropped is not None else [],
        sides=[
            (name, side.trained, token_range(side, (0, min(length, SHOWN_TOKENS)), ignore))
            for name, side, length in zip(SIDES, sides, lengths)
        ],
        findings=findings,
    )


def audit_box(checked: AuditReport) -> str:
    """A finished audit: how much is trained, and each code with its first finding."""
    audit = checked.audit
    part = f" ({share(audit.trained, audit.tokens, 1)})" if audit.tokens else ""
    head = [
        many(audit.rows, "row"),
        f"{audit.tokens:,} tokens, {audit.trained:,} trained{part}",
        counted(checked),
        checked.recipe.preset,
        checked.tokenizer.name,
    ]
    codes = sorted(audit.found.ordered(), key=lambda one: one.severity.rank)
    if not codes:
        return _box(head, ["No findings."], data=False)
    return _box(
        head,
        [f"{MARKS[one.severity][0]} {one.sentence} ({one.code})" for one, _ in checked.verdict],
        table=[
            (
                code.code,
                MARKS[code.severity],
                CODES[code.code].title,
                clip(code.kept[0].finding.sentence, SHOWN_CHARACTERS // 4) if code.kept else "",
                f"{code.count:,}",
            )
            for code in codes
        ],
    )


def _clip(text: str) -> str:
    return clip(text, SHOWN_CHARACTERS)


def _box(head: Sequence[str], paragraphs: Sequence[str], **more: Any) -> str:
    values = {"sides": (), "findings": (), "table": (), "data": True, **more}
    return page(
        "notebook.jinja",
        head=head,
        paragraphs=paragraphs,
        style=style(scoped=True),
        marks=MARKS,
        shown=SHOWN_FINDINGS,
        clip=_clip,
        **values,
    )
