"""What a check found, as Python values, text, JSON and HTML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sftui.audit.figures import Figures
from sftui.audit.verdict import Verdict
from sftui.errors import RecipeError, SftuiError
from sftui.exports.report_model import AuditReport, counted
from sftui.findings import CODES, SCOPE_OF, Finding, Severity


class FindingsError(SftuiError):
    """Something at or above the severity that `Report.raise_on` names was found; `report` is where."""

    def __init__(self, what: str, *, report: Report | None = None, **more: str) -> None:
        super().__init__(what, **more)
        self.report = report


@dataclass(frozen=True, slots=True)
class CodeFound:
    """All findings of one code: `count` of them, in `rows` (in order; none for what concerns no single row), of which
    `findings` are the first in full. `fix` is what to set for the trainer, empty where there is nothing that helps,
    `tried` whether it was tried on rows that have it, and helps, `run` the command that does it to the data.
    `share` is the part of all rows that has it, None where it concerns no single row."""

    code: str
    title: str
    severity: str
    scope: str
    count: int
    rows: tuple[int, ...]
    findings: tuple[Finding, ...]
    fix: str
    tried: bool
    run: str
    share: float | None = None


def limits_of(max_rate: Mapping[str, float | str] | None) -> dict[str, float]:
    """The share of rows that may have each code; RecipeError for what is no rate or names no code."""
    from sftui.session.arguments import rates_of

    rates = rates_of([f"{code}={rate}" for code, rate in (max_rate or {}).items()], "max_rate")
    if None in rates.values():
        raise RecipeError("max_rate has no baseline to read", fix="give the share itself, e.g. 0.005 or '0.5%'")
    return {code: most for code, most in rates.items() if most is not None}


class Report:
    """What is wrong, the worst first, and what the rows add up to; does not change."""

    def __init__(self, checked: AuditReport, limits: Mapping[str, float] | None = None) -> None:
        self._checked, self._limits = checked, limits or {}

    @property
    def findings(self) -> tuple[CodeFound, ...]:
        """What was found, by code: errors before warnings before infos."""
        codes = sorted(self._checked.audit.found.ordered(), key=lambda one: one.severity.rank)
        return tuple(
            CodeFound(
                code.code,
                CODES[code.code].title,
                code.severity.value,
                SCOPE_OF[code.code],
                code.count,
                tuple(code.rows),
                tuple(kept.finding for kept in code.kept),
                *self._checked.advice_on(code.code),
                code.in_rows() / self._checked.audit.rows if code.rows and self._checked.audit.rows else None,
            )
            for code in codes
        )

    @property
    def verdict(self) -> tuple[Verdict, ...]:
        """What training does with the data, in sentences, the worst first; empty where all is well."""
        return self._checked.audit.verdict()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many findings there are of each severity."""
        return {severity.value: self._checked.audit.found.severities[severity] for severity in Severity}

    @cached_property
    def figures(self) -> Figures:
        """Lengths, trained tokens, drops, duplicates and more, over all rows that were looked at."""
        return self._checked.audit.figures()

    @property
    def complete(self) -> bool:
        """Whether every row was looked at."""
        return self._checked.complete

    @property
    def fix(self) -> Mapping[str, Any] | None:
        """What was put in force, what it changed and what was written, as `fix` in JSON; None where it was not asked
        for."""
        return self.as_dict().get("fix")

    @property
    def after(self) -> Report | None:
        """What the second check found in what was written; None where nothing was."""
        made = self._checked.fix
        return None if made is None or made.after is None else Report(made.after, self._limits)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of how the data was read."""
        return tuple(dict.fromkeys(self._checked.notes))

    @property
    def over(self) -> tuple[str, ...]:
        """The codes that more rows have than `max_rate` allows, each in a sentence."""
        return self._checked.audit.found.over(self._limits, self._checked.audit.rows, "max_rate")

    def raise_on(self, severity: str = "error") -> Report:
        """Itself, where nothing of this severity or a worse one was found (`never`: whatever was), and no code in more
        rows than `max_rate` allows; else FindingsError. A code that `max_rate` names counts by its rate alone."""
        known = [*(one.value for one in Severity), "never"]
        if severity not in known:
            raise SftuiError(f"there is no severity {severity}", fix=f"say {', '.join(known)}")
        if self.over:
            raise FindingsError("; ".join(self.over), report=self)
        worse = known[: known.index(severity) + 1] if severity != "never" else ()
        bad = [finding for finding in self.findings if finding.severity in worse and finding.code not in self._limits]
        if bad:
            named = ", ".join(f"{found.code} {found.title} ({found.count:,})" for found in bad[:5])
            more = f" and {len(bad) - 5} more codes" if len(bad) > 5 else ""
            raise FindingsError(f"{counted(self._checked)}: {named}{more}", report=self)
        return self

    def as_dict(self) -> dict[str, Any]:
        """What `sftui check --format json` prints."""
        from sftui.exports.formats_json import as_object

        return as_object(self._checked)

    def to_html(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the page that `sftui report` writes, without the rows' tokens; ExportError."""
        from sftui.exports.files import refuse_existing, write_atomically
        from sftui.exports.report import report_html

        file = Path(path)
        refuse_existing(file, overwrite)
        write_atomically(file, report_html(self._checked).encode("utf-8", "replace"))

    def __str__(self) -> str:
        """What `sftui check` prints."""
        from sftui.exports.formats_text import as_text

        return as_text(self._checked)

    def __repr__(self) -> str:
        return f"<report: {counted(self._checked)} in {self._checked.audit.rows:,} rows>"

    def _repr_html_(self) -> str:
        from sftui.exports.notebook import audit_box

        return audit_box(self._checked)
