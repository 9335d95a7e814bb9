"""The HTML report: one page that needs nothing from elsewhere, to attach to a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sftui.exports.report_figures import figure_sections
from sftui.exports.report_markup import page, parts, style
from sftui.exports.report_model import MARKS, AuditReport, counted
from sftui.exports.report_tokens import token_box
from sftui.findings import CODES, Finding
from sftui.text import many, share

if TYPE_CHECKING:
    from sftui.audit.figures import WeightFigures
    from sftui.audit.found import FoundCode

SHOWN = 3
"""Findings of one code that are shown in full."""


def report_html(checked: AuditReport) -> str:
    """The page as text; everything that comes from the data is escaped."""
    from sftui import __version__

    codes = sorted(checked.audit.found.ordered(), key=lambda one: one.severity.rank)
    return page(
        "report.html.jinja",
        checked=checked,
        style=style(),
        facts=_facts(checked),
        notes=list(dict.fromkeys(checked.notes)),
        sections=[
            *([("verdict", "Verdict", "")] if checked.verdict else []),
            ("findings", "Findings", ""),
            *figure_sections(checked.audit.figures()),
        ],
        codes=codes,
        overview=list(_overview(codes)),
        catalogue=CODES,
        marks=MARKS,
        looks={_place(look.found.finding): look for look in checked.looks},
        place=_place,
        token_box=token_box,
        ignore=checked.recipe.mask.ignore_index,
        shown=SHOWN,
        version=__version__,
    )


def _overview(codes: list[FoundCode]) -> Iterator[tuple[Any, ...]]:
    for one in codes:
        severity = parts().severity(one.severity, one.severity.value)
        yield parts().link(one.code), severity, CODES[one.code].title, f"{one.count:,}"


def _place(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.row, finding.message, finding.tokens


def _weights(weights: WeightFigures) -> str:
    total = "not all numbers" if weights.total is None else f"{weights.total:,.6g} altogether"
    return f"{total}, {many(weights.tokens, 'token')} with another one than 1"


def _facts(checked: AuditReport) -> list[tuple[str, str]]:
    figures, weights = checked.audit, checked.audit.weights.figures()
    part = f" ({share(figures.trained, figures.tokens, 1)})" if figures.tokens else ""
    return [
        ("Rows", f"{figures.rows:,}" + ("" if checked.complete else " looked at")),
        ("Trainer", checked.recipe.preset),
        ("Tokenizer", checked.tokenizer.name),
        ("Template", checked.template or "none"),
        ("Tokens", f"{figures.tokens:,}, {figures.trained:,} trained{part}"),
        (
            "Reach the trainer",
            f"{many(figures.received_rows, 'row')}, {figures.received_tokens:,} tokens,"
            f" {figures.received_trained:,} trained",
        ),
        *([("Weights in the loss", _weights(weights))] if weights is not None else []),
        *(
            [("Of them for evaluation", f"{figures.evaluation_rows:,}, {figures.evaluation_tokens:,} tokens")]
            if figures.evaluation_rows
            else []
        ),
        ("Findings", counted(checked)),
    ]
