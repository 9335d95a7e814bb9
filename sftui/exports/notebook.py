"""Rows and audits as a notebook shows them: the report's markup in a box of its own, clipped."""

from __future__ import annotations

from collections.abc import Sequence

from sftui.exports.report_findings import MARKS
from sftui.exports.report_markup import safe, table
from sftui.exports.report_model import Checked, counted
from sftui.exports.report_style import STYLE
from sftui.exports.report_tokens import token_range
from sftui.findings import CODES, Finding
from sftui.model import IGNORE_INDEX, Inspection
from sftui.text import clip, many, share, visible

SHOWN_TOKENS = 400
SHOWN_FINDINGS = 10
SHOWN_CHARACTERS = 2_000
HOLDS_DATA = "This output holds text of the data: clear it before the notebook goes where the data may not."

SCOPED = (
    ".sftui{"
    + STYLE.replace(":root", "&").replace(
        "body{margin:0 auto;max-width:62rem;padding:0 1rem;", "&{padding:.25rem 1rem;"
    )
    + "tbody th,td:nth-child(2){white-space:nowrap}}"
)
"""The report's style for what stands in a box alone, with colours of its own whatever the page around it has."""


def row_box(inspection: Inspection, findings: Sequence[Finding], preset: str, ignore: int = IGNORE_INDEX) -> str:
    """A row inspected with text: its first tokens by label, and what is wrong with it."""
    index, tokens = inspection.row.index, inspection.tokens
    if inspection.problem is not None:
        return _box(
            f"row {index} · {preset}",
            f"<p>{safe(clip(visible(inspection.problem.sentence()), SHOWN_CHARACTERS))}</p>\n",
        )
    length = len(tokens) if tokens is not None else 0
    head = [f"row {index}", many(length, "token"), f"{inspection.trained:,} trained", preset]
    if inspection.evaluates:
        head.append("evaluation")
    parts = [token_range(inspection, (0, min(length, SHOWN_TOKENS)), ignore)]
    if length > SHOWN_TOKENS:
        parts.append(f"<p>the first {SHOWN_TOKENS} of {length:,} tokens</p>\n")
    if inspection.dropped is not None:
        parts.insert(0, f"<p>dropped by the trainer: {safe(inspection.dropped)}</p>\n")
    parts += [
        f'<p><span class="sev {one.severity.value}">{MARKS[one.severity]}</span> {one.code}: '
        f"{safe(clip(one.sentence, SHOWN_CHARACTERS))}</p>\n"
        for one in findings[:SHOWN_FINDINGS]
    ]
    if len(findings) > SHOWN_FINDINGS:
        parts.append(f"<p>and {len(findings) - SHOWN_FINDINGS:,} more findings</p>\n")
    return _box(" · ".join(head), "".join(parts))


def audit_box(checked: Checked) -> str:
    """A finished audit: how much is trained, and each code with its first finding."""
    audit = checked.audit
    part = f" ({share(audit.trained, audit.tokens, 1)})" if audit.tokens else ""
    head = (
        f"{many(audit.rows, 'row')} · {audit.tokens:,} tokens, {audit.trained:,} trained{part} · {counted(checked)} ·"
        f" {checked.recipe.preset} · {checked.tokenizer.name}"
    )
    codes = sorted(audit.found.ordered(), key=lambda one: one.severity.rank)
    lines = "".join(
        f"<p>{MARKS[one.severity][0]} {safe(one.sentence)} ({one.code})</p>\n" for one, _ in checked.verdict
    )
    if not codes:
        return _box(head, "<p>Nothing was found.</p>\n", data=False)
    rows = (
        (
            one.code,
            f"{MARKS[one.severity]}",
            CODES[one.code].title,
            clip(one.kept[0].finding.sentence, SHOWN_CHARACTERS // 4) if one.kept else "",
            f"{one.count:,}",
        )
        for one in codes
    )
    return _box(
        head, lines + table("What was found", ("Code", "Severity", "What", "The first one", "Times"), rows, plain=4)
    )


def _box(head: str, body: str, data: bool = True) -> str:
    last = f'<p class="place">{HOLDS_DATA}</p>\n' if data else ""
    return f'<div class="sftui"><style>{SCOPED}</style>\n<p><strong>{safe(head)}</strong></p>\n{body}{last}</div>'
