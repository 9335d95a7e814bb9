"""The audit for code hosts, editors and continuous integration: SARIF, JUnit's XML and GitHub's annotations."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from sftui import __version__
from sftui.audit.found import FoundCode, FoundFinding
from sftui.exports.report_model import AuditReport, findings_in_order
from sftui.findings import CODES, SCOPE_OF, Severity
from sftui.text import visible

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
GITHUB_LEVELS = {**SARIF_LEVELS, Severity.INFO: "notice"}


def as_sarif(checked: AuditReport) -> str:
    """One run; a result for each of the first hundred findings of a code, the counts of all in `properties`.

    Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html.
    """
    codes = [found.code for found in checked.audit.found.ordered()]
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "sftui",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": [_rule(code) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(checked, finding, codes) for finding in findings_in_order(checked)],
                "properties": {
                    "preset": checked.recipe.preset,
                    "tokenizer": checked.tokenizer.name,
                    "rows": checked.audit.rows,
                    "counts": {one.code: one.count for one in checked.audit.found.ordered()},
                },
            }
        ],
    }
    return json.dumps(log, ensure_ascii=True, indent=1) + "\n"


def _rule(code: str) -> dict[str, Any]:
    one = CODES[code]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in one.name.split("-")),
        "shortDescription": {"text": one.title},
        "fullDescription": {"text": one.explanation},
        "help": {"text": "\n".join([one.explanation, *(f"{trainer}: {key}" for trainer, key in one.fixes.items())])},
        "defaultConfiguration": {"level": SARIF_LEVELS[one.severity]},
    }


def _result(checked: AuditReport, found: FoundFinding, codes: list[str]) -> dict[str, Any]:
    finding, (file, line) = found.finding, checked.place_in_repository(found)
    advice = checked.advice(finding)
    row = f"row {finding.row}: " if finding.row is not None else ""
    region = {"region": {"startLine": line}} if line is not None else {}
    properties = {
        "row": finding.row,
        "message": finding.message,
        "tokens": list(finding.tokens) if finding.tokens else None,
        "evidence": finding.evidence or None,
        "fix": advice.text or None,
        "tried": advice.tried if advice.text else None,
        "run": advice.run or None,
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": SARIF_LEVELS[finding.severity],
        "message": {"text": f"{row}{finding.sentence}" + (f" ({advice.sentence()})" if advice.text else "")},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, **region}}],
        "partialFingerprints": {"sftui/v2": found.fingerprint},
        "properties": {name: value for name, value in properties.items() if value is not None},
    }


def _uri(file: str) -> str:
    """A relative path as a URI reference with forward slashes; an absolute one as file://."""
    path = PurePosixPath(file.replace("\\", "/"))
    text = quote(path.as_posix().encode("utf-8", "surrogateescape"))
    return f"file://{text}" if path.is_absolute() else text


def as_junit(checked: AuditReport) -> str:
    """A suite with a failed test for each code of severity error or warning; infos are passed tests with output.

    The elements and attributes are those of the Jenkins and Surefire schemas that the tools agree on.
    """
    codes = checked.audit.found.ordered()
    failed = sum(code.severity is not Severity.INFO for code in codes)
    cases = (
        "".join(_case(checked, code) for code in codes)
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
    for found, advice in checked.advised(one):
        file, line = checked.place(found)
        place = f"{file}:{line} " if line is not None else ""
        row = f"{place}row {found.finding.row}: " if found.finding.row is not None else ""
        lines.append(visible(row + found.finding.sentence))
        if advice.text:
            lines.append(visible(advice.sentence()))
    if one.count > len(one.kept):
        lines.append(f"and {one.count - len(one.kept):,} more")
    text = escape("\n".join(lines))
    head = f'    <testcase classname={quoteattr(f"sftui.{SCOPE_OF[one.code]}")} name={quoteattr(title)} time="0">'
    if one.severity is Severity.INFO:
        return f"{head}<system-out>{text}</system-out></testcase>\n"
    message = quoteattr(f"{one.count:,} found, {one.severity.value}")
    return f'{head}<failure message={message} type="{one.severity.value}">{text}</failure></testcase>\n'


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
        advice = checked.advice(finding)
        row = f"row {finding.row}: " if finding.row is not None else ""
        message = row + visible(finding.sentence) + (f" ({advice.sentence()})" if advice.text else "")
        lines.append(f"::{GITHUB_LEVELS[finding.severity]} {','.join(place)}::{_data(message)}\n")
    for one in checked.audit.found.ordered():
        if one.count > len(one.kept):
            lines.append(
                f"::{GITHUB_LEVELS[one.severity]} title={_property(one.code)}::and {one.count - len(one.kept):,} more\n"
            )
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
