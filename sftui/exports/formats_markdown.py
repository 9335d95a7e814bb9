"""The audit as GitHub's Markdown: the summary of a job, or a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sftui.audit.found import FoundCode, FoundFinding
from sftui.exports.formats_text import how_often, summary
from sftui.exports.report_model import MARKS, SHOWN, AuditReport
from sftui.findings import CODES
from sftui.text import ELLIPSIS, visible

LONGEST = 600
"""Characters of one text: GitHub shows a summary up to 1 MiB, which is room for every code."""
ROWS = 12
"""Row numbers of one code in the table."""


def as_markdown(checked: AuditReport) -> str:
    """A line of counts, a table of the codes, and below it the first findings of each, folded away.

    Nothing that the data says is read as Markdown or HTML, as a link, or as a mention.
    """
    return "\n".join(_lines(checked)) + "\n"


def _lines(checked: AuditReport) -> Iterator[str]:
    codes = sorted(checked.audit.found.ordered(), key=lambda one: one.severity.rank)
    yield f"### sftui check: {_text(checked.title)}"
    yield ""
    yield _text(summary(checked))
    if checked.verdict:
        yield ""
        for one, advice in checked.verdict:
            step = f"; {_text(advice.sentence())}" if advice.text else ""
            yield f"- {MARKS[one.severity][0]} {_text(one.sentence)} ({one.code}){step}"
    if codes:
        yield from ("", "| severity | code | finding | count | rows |", "|---|---|---|--:|---|")
        yield from (_table_row(code) for code in codes)
    for code in codes:
        yield ""
        yield from _code(checked, code)
    notes = list(dict.fromkeys(checked.notes))
    if notes:
        yield ""
        yield from (f"- {_text(note)}" for note in notes)


def _table_row(one: FoundCode) -> str:
    numbers = list(dict.fromkeys(one.rows))
    rows = ", ".join(map(str, numbers[:ROWS])) + (", …" if len(numbers) > ROWS else "")
    cells = (MARKS[one.severity], one.code, _text(CODES[one.code].title), f"{one.count:,}", rows)
    return f"| {' | '.join(cells)} |"


def _code(checked: AuditReport, one: FoundCode) -> Iterator[str]:
    title = f"<b>{one.code}</b> {_text(CODES[one.code].title)}{how_often(checked, one)}"
    yield f"<details><summary>{MARKS[one.severity]} {title}</summary>"
    yield ""
    for found, advice in checked.advised(one, SHOWN):
        yield _finding(checked, found)
        if advice.text:
            yield f"  <br>{advice.label}{_code_text(advice.text)}"
        if advice.run:
            yield f"  <br>run: {_code_text(advice.run)}"
    left = one.count - min(len(one.kept), SHOWN)
    if left > 0:
        yield f"- and {left:,} more"
    yield ""
    yield "</details>"


def _finding(checked: AuditReport, found: FoundFinding) -> str:
    finding, (file, line) = found.finding, checked.place_in_repository(found)
    place = ""
    if finding.row is not None:
        place = f"{_code_text(file if line is None else f'{file}:{line}')} row {finding.row}: "
    evidence = f"\n  <br>{_code_text(finding.evidence)}" if finding.evidence else ""
    return f"- {place}{_text(finding.sentence)}{evidence}"


def _text(text: str) -> str:
    """Text that stays text: each sign that could mean something is written by its number, and `@name` and `#1` are
    parted, since GitHub looks for those after Markdown is read."""
    return re.sub(r"&#(?:64|35);", lambda sign: f"{sign[0]}<!-- -->", _signs(text))


def _code_text(text: str) -> str:
    return f"<code>{_signs(text)}</code>"


def _signs(text: str) -> str:
    clear = visible(text)
    short = clear if len(clear) <= LONGEST else clear[: LONGEST - 1] + ELLIPSIS
    return re.sub(r"[^\w\s,;?%'…—–·-]|_", lambda sign: f"&#{ord(sign[0])};" if sign[0].isascii() else sign[0], short)
