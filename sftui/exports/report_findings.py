"""The findings of the report, each with its tokens coloured by label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from sftui.exports.report_markup import safe, table
from sftui.exports.report_model import Checked, Look
from sftui.exports.report_tokens import LEGEND, token_box
from sftui.findings import CODES, Finding, Severity

if TYPE_CHECKING:
    from sftui.audit import FoundCode, FoundFinding

    Place = tuple[str, int | None, int | None, tuple[int, int] | None]

MARKS = {Severity.ERROR: "✗ error", Severity.WARNING: "! warning", Severity.INFO: "· info"}
SHOWN = 3
"""Findings of one code that are shown in full."""


def verdict_section(checked: Checked) -> Iterator[tuple[str, str, str]]:
    """The section of what training does with the data; none where all is well."""
    if not checked.verdict:
        return
    lines = "".join(
        f'<li><span class="sev {one.severity.value}">{MARKS[one.severity][0]}</span> {safe(one.sentence)}'
        f' (<a href="#{one.code}">{one.code}</a>)' + (f"<br>fix: {safe(key)}" if key else "") + "</li>\n"
        for one, key in checked.verdict
    )
    yield "verdict", "Verdict", f"<ul>\n{lines}</ul>\n"


def finding_sections(checked: Checked) -> Iterator[tuple[str, str, str]]:
    """The section of the findings: a table of codes, the worst first, then each code with its first findings."""
    codes = sorted(checked.audit.found.ordered(), key=lambda one: one.severity.rank)
    if not codes:
        yield "findings", "Findings", "<p>Nothing was found.</p>\n"
        return
    overview = table(
        "What was found",
        ("Code", "Severity", "What", "Times"),
        ((one.code, one.severity.value, CODES[one.code].title, f"{one.count:,}") for one in codes),
        plain=3,
    )
    for one in codes:
        overview = overview.replace(f">{one.code}</th>", f'><a href="#{one.code}">{one.code}</a></th>')
    for severity in Severity:
        overview = overview.replace(
            f">{severity.value}</td>", f'><span class="sev {severity.value}">{severity.value}</span></td>'
        )
    looks = {_place(look.found.finding): look for look in checked.looks}
    yield (
        "findings",
        "Findings",
        overview + (LEGEND if looks else "") + "".join(_code(checked, one, looks) for one in codes),
    )


def _place(finding: Finding) -> Place:
    return finding.code, finding.row, finding.message, finding.tokens


def _code(checked: Checked, one: FoundCode, looks: Mapping[Place, Look]) -> str:
    entry = CODES[one.code]
    head = (
        f'<h3 id="{one.code}"><span class="sev {one.severity.value}">{MARKS[one.severity]}</span> '
        f"{one.code}: {safe(entry.title)}</h3>\n<p>{safe(entry.explanation)}</p>\n"
    )
    share = one.share_text(checked.audit.rows)
    head += f"<p>{safe(f'Found {share}.')}</p>\n" if share else ""
    body = "".join(_finding(checked, found, looks.get(_place(found.finding))) for found in one.kept[:SHOWN])
    left = one.count - min(SHOWN, len(one.kept))
    if left:
        rows = ", ".join(map(str, one.rows[SHOWN : SHOWN + 20]))
        body += (
            f"<p>{safe(f'and {left:,} more' + (f': rows {rows}' if rows else '') + (', …' if left > 20 else ''))}</p>\n"
        )
    return head + body


def _finding(checked: Checked, found: FoundFinding, look: Look | None) -> str:
    finding = found.finding
    parts = []
    if finding.row is not None:
        file, line = checked.place(found)
        place = f"row {finding.row}" + (f", message {finding.message}" if finding.message is not None else "")
        if finding.tokens is not None:
            place += f", tokens {finding.tokens[0]} to {finding.tokens[1] - 1}"
        parts.append(f'<p class="place">{safe(place)}, {safe(file)}{f":{line}" if line is not None else ""}</p>\n')
    parts.append(f"<p>{safe(finding.sentence)}</p>\n")
    box = token_box(look.inspection, finding, checked.recipe.mask.ignore_index) if look is not None else ""
    if box:
        parts.append(box)
    elif finding.evidence:
        parts.append(f"<pre>{safe(finding.evidence)}</pre>\n")
    key = checked.key(finding)
    if key:
        parts.append(f"<p>Fix for {safe(checked.trainer)}: <code>{safe(key)}</code></p>\n")
    return f'<div class="finding">\n{"".join(parts)}</div>\n'
