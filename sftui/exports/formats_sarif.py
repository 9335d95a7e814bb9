"""SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sftui.exports.report_model import AuditReport, findings_in_order
from sftui.findings import CODES, Severity

if TYPE_CHECKING:
    from sftui.audit.found import FoundFinding

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def as_sarif(checked: AuditReport) -> str:
    """One run; a result for each of the first hundred findings of a code, the counts of all in `properties`."""
    return json.dumps(as_log(checked), ensure_ascii=True, indent=1) + "\n"


def as_log(checked: AuditReport) -> dict[str, Any]:
    """The log as plain data. Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html."""
    from sftui import __version__

    codes = [one.code for one in checked.audit.found.ordered()]
    return {
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
                "results": [_result(checked, one, codes) for one in findings_in_order(checked)],
                "properties": {
                    "preset": checked.recipe.preset,
                    "tokenizer": checked.tokenizer.name,
                    "rows": checked.audit.rows,
                    "counts": {one.code: one.count for one in checked.audit.found.ordered()},
                },
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    one = CODES[code]
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in one.name.split("-")),
        "shortDescription": {"text": one.title},
        "fullDescription": {"text": one.explanation},
        "help": {"text": "\n".join([one.explanation, *(f"{trainer}: {key}" for trainer, key in one.fixes.items())])},
        "defaultConfiguration": {"level": LEVELS[one.severity]},
    }


def _result(checked: AuditReport, found: FoundFinding, codes: list[str]) -> dict[str, Any]:
    finding, (file, line) = found.finding, checked.place_in_repository(found)
    key = checked.key(finding)
    row = f"row {finding.row}: " if finding.row is not None else ""
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    if line is not None:
        location["region"] = {"startLine": line}
    properties = {
        "row": finding.row,
        "message": finding.message,
        "tokens": list(finding.tokens) if finding.tokens else None,
        "evidence": finding.evidence or None,
        "fix": key or None,
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": LEVELS[finding.severity],
        "message": {"text": f"{row}{finding.sentence}" + (f" (fix: {key})" if key else "")},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"sftui/v2": found.fingerprint},
        "properties": {name: value for name, value in properties.items() if value is not None},
    }


def _uri(file: str) -> str:
    """A relative path as a URI reference with forward slashes; an absolute one as file://."""
    path = PurePosixPath(file.replace("\\", "/"))
    text = quote(path.as_posix().encode("utf-8", "surrogateescape"))
    return f"file://{text}" if path.is_absolute() else text
