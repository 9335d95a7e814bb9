"""The audit as one JSON object."""

from __future__ import annotations

import json
from typing import Any

from sftui.audit.figures import Figures
from sftui.audit.found import FoundFinding
from sftui.audit.verdict import Verdict
from sftui.exports.records import attributes
from sftui.exports.report_model import Advice, AuditReport, FixOutcome, findings_in_order
from sftui.findings import CODES, SCOPE_OF, Severity


def as_json_text(checked: AuditReport) -> str:
    """One object, plain ASCII: no byte of the data can act on a terminal."""
    return json.dumps(as_object(checked), ensure_ascii=True, indent=1) + "\n"


def as_object(checked: AuditReport) -> dict[str, Any]:
    """`findings` holds the first hundred of each code in full; `codes` counts all, with every row number and the
    share of the rows that were looked at."""
    found = checked.audit.found
    return {
        "version": 1,
        "data": list(checked.paths),
        "preset": checked.recipe.preset,
        "tokenizer": checked.tokenizer.name,
        "rows": checked.audit.rows,
        "evaluation_rows": checked.audit.evaluation_rows,
        "complete": checked.complete,
        "notes": list(dict.fromkeys(checked.notes)),
        "counts": {severity.value: found.severities[severity] for severity in Severity}
        | {"waived": found.waived, "known": found.known},
        "codes": [
            {
                "code": code.code,
                "name": CODES[code.code].name,
                "title": CODES[code.code].title,
                "severity": code.severity.value,
                "scope": SCOPE_OF[code.code],
                "count": code.count,
                "rows": list(code.rows),
                "share": code.in_rows() / checked.audit.rows if code.rows and checked.audit.rows else None,
            }
            for code in found.ordered()
        ],
        "verdict": [verdict_record(one, advice) for one, advice in checked.verdict],
        "findings": [finding_record(checked, finding) for finding in findings_in_order(checked)],
        "figures": figures_record(checked.audit.figures()),
        **({} if checked.fix is None else {"fix": fix_record(checked, checked.fix)}),
    }


def fix_record(checked: AuditReport, fix: FixOutcome) -> dict[str, Any]:
    """What was put in force against the findings, what it changed, and how often each code was found before and after;
    without files where nothing was written."""
    rows = None if fix.rows is None else attributes(fix.rows, "rows", "changed", "dropped", "skipped", "by_repair")
    return {
        "cures": [cure._asdict() for cure in fix.cures],
        "left": [cure._asdict() for cure in fix.left],
        "keys": [dict(zip(("key", "before", "after"), one)) for one in fix.keys],
        "diff": fix.diff,
        "rows": rows,
        "samples": [sample._asdict() for sample in fix.samples],
        "files": list(fix.files),
        "run": fix.run,
        "codes": [dict(zip(("became", "code", "before", "after"), one)) for one in fix.compared(checked)],
    }


def verdict_record(one: Verdict, advice: Advice) -> dict[str, Any]:
    """One sentence of what training does with the data, with the count of rows, why, and what to do first."""
    return {
        "severity": one.severity.value,
        **attributes(one, "consequence", "sentence", "rows", "of", "code"),
        "key": advice.text,
        **attributes(advice, "tried", "run"),
        "first": list(one.first),
    }


def finding_record(checked: AuditReport, one: FoundFinding) -> dict[str, Any]:
    """One finding with its place, its evidence and what repairs it; null where it has none."""
    finding, (file, line), advice = one.finding, checked.place(one), checked.advice(one.finding)
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "sentence": finding.sentence,
        "file": file,
        "line": line,
        **attributes(finding, "row", "message"),
        **({"side": finding.side} if finding.side else {}),
        "tokens": list(finding.tokens) if finding.tokens is not None else None,
        "span": list(finding.span) if finding.span is not None else None,
        "evidence": finding.evidence,
        "rows": list(finding.rows),
        "count": finding.count,
        "key": advice.text,
        **attributes(advice, "tried", "run"),
        "changes": [
            {"path": change.path, "before": _plain(change.before), "after": _plain(change.after)}
            for change in checked.changes(finding)
        ],
        "fingerprint": one.fingerprint,
    }


def figures_record(figures: Figures) -> dict[str, Any]:
    """The figures by their own names."""
    from dataclasses import asdict

    return asdict(figures)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, list, tuple, type(None))) else dict(value)
