"""JUnit XML, which continuous integration shows as tests: one a code, failing where it was found."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from sftui.exports.report_model import AuditReport
from sftui.findings import CODES, Severity
from sftui.text import visible

if TYPE_CHECKING:
    from sftui.audit.found import FoundCode


def as_junit(checked: AuditReport) -> str:
    """A suite with a failed test for each code of severity error or warning; infos are passed tests with output.

    The elements and attributes are those of the Jenkins and Surefire schemas that the tools agree on.
    """
    codes = checked.audit.found.ordered()
    failed = sum(one.severity is not Severity.INFO for one in codes)
    cases = (
        "".join(_case(checked, one) for one in codes)
        or '    <testcase classname="sftui" name="no findings" time="0"/>\n'
    )
    counts = f'tests="{max(1, len(codes))}" failures="{failed}" errors="0"'
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="sftui" {counts} time="0">\n'
        f'  <testsuite name={quoteattr(visible(f"sftui check {checked.title}"))} {counts} skipped="0" time="0">\n'
        f"{cases}  </testsuite>\n</testsuites>\n"
    )


def _case(checked: AuditReport, one: FoundCode) -> str:
    title = visible(f"{one.code} {CODES[one.code].title}")
    lines: list[str] = []
    before = ""
    for found in one.kept:
        file, line = checked.place(found)
        place = f"{file}:{line} " if line is not None else ""
        row = f"{place}row {found.finding.row}: " if found.finding.row is not None else ""
        lines.append(visible(row + found.finding.sentence))
        key = checked.key(found.finding)
        if key and key != before:
            before = key
            lines.append(visible(f"fix: {key}"))
    if one.count > len(one.kept):
        lines.append(f"and {one.count - len(one.kept):,} more")
    text = escape("\n".join(lines))
    head = f'    <testcase classname={quoteattr(f"sftui.{CODES[one.code].scope}")} name={quoteattr(title)} time="0">'
    if one.severity is Severity.INFO:
        return f"{head}<system-out>{text}</system-out></testcase>\n"
    message = quoteattr(f"{one.count:,} found, {one.severity.value}")
    return f'{head}<failure message={message} type="{one.severity.value}">{text}</failure></testcase>\n'
