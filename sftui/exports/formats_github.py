"""GitHub workflow commands: annotations on the lines of the data."""

from __future__ import annotations

from sftui.exports.report_model import AuditReport, findings_in_order
from sftui.findings import CODES, Severity
from sftui.text import visible

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_github(checked: AuditReport) -> str:
    """One `::error file=…,line=…,title=…::message` a finding; GitHub shows the first ten of each level and step.

    Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions, and its escapes from
    actions/toolkit packages/core/src/command.ts.
    """
    lines = []
    for found in findings_in_order(checked):
        finding, (file, line) = found.finding, checked.place_in_repository(found)
        place = [f"file={_property(visible(file))}"] if finding.row is not None else []
        if place and line is not None:
            place.append(f"line={line}")
        place.append(f"title={_property(f'{finding.code} {CODES[finding.code].title}')}")
        key = checked.key(finding)
        row = f"row {finding.row}: " if finding.row is not None else ""
        message = row + visible(finding.sentence) + (f" (fix: {key})" if key else "")
        lines.append(f"::{LEVELS[finding.severity]} {','.join(place)}::{_data(message)}\n")
    for one in checked.audit.found.ordered():
        if one.count > len(one.kept):
            lines.append(
                f"::{LEVELS[one.severity]} title={_property(one.code)}::and {one.count - len(one.kept):,} more\n"
            )
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
