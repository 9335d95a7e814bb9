"""The HTML report: one page that needs nothing from elsewhere, to attach to a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sftui.exports.report_figures import figure_sections
from sftui.exports.report_findings import finding_sections, verdict_section
from sftui.exports.report_markup import safe
from sftui.exports.report_model import Checked, counted
from sftui.exports.report_style import STYLE
from sftui.text import many, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sftui.audit.figures import WeightFigures

    Section = tuple[str, str, str]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Nothing is loaded or run, even if some text of the data found a way to be markup."""


def report_html(checked: Checked) -> str:
    """The page as text; everything that comes from the data is escaped."""
    figures = checked.audit.figures()
    sections = [*verdict_section(checked), *finding_sections(checked), *figure_sections(figures)]
    return "".join(_page(checked, sections))


def _page(checked: Checked, sections: Sequence[Section]) -> Iterator[str]:
    title = safe(f"sftui report: {checked.title}")
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy"'
        f' content="{POLICY}">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta'
        ' name="color-scheme" content="light'
        f' dark">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<a class="skip" href="#main">Skip'
        " to the findings</a>\n"
    )
    yield f"<header>\n<h1>{safe(checked.title)}</h1>\n{_summary(checked)}</header>\n"
    links = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in sections)
    yield f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main id="main">\n'
    for name, heading, body in sections:
        yield f'<section id="{name}" aria-labelledby="{name}-h">\n<h2 id="{name}-h">{heading}</h2>\n{body}</section>\n'
    from sftui import __version__

    yield (
        f"</main>\n<footer><p>Made by sftui {safe(__version__)}. Row numbers count from 0, as in"
        " <code>dataset[i]</code>.</p></footer>\n</body>\n</html>\n"
    )


def _weights(weights: WeightFigures) -> str:
    total = "not all numbers" if weights.total is None else f"{weights.total:,.6g} altogether"
    return f"{total}, {many(weights.tokens, 'token')} with another one than 1"


def _summary(checked: Checked) -> str:
    figures, weights = checked.audit, checked.audit.weights.figures()
    part = f" ({share(figures.trained, figures.tokens, 1)})" if figures.tokens else ""
    facts = [
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
    rows = "".join(f"<div><dt>{safe(name)}</dt><dd>{safe(value)}</dd></div>" for name, value in facts)
    notes = "".join(f"<li>{safe(note)}</li>" for note in dict.fromkeys(checked.notes))
    return f"<dl>{rows}</dl>\n" + (f"<ul>{notes}</ul>\n" if notes else "")
