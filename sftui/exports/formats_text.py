"""The audit for reading: set-up first, then rows by code with their count and first rows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sftui.audit.found import FoundCode, FoundFinding
from sftui.exports.report_model import MARKS, SHOWN, Advice, AuditReport, FixOutcome, counted, counted_word
from sftui.findings import CODES, SCOPE_OF, Severity
from sftui.text import clip, visible
from sftui.trainers import traits_of

SCOPES = {"setup": "Setup", "dataset": "Dataset", "row": "Rows"}


def as_text(checked: AuditReport, width: int = 100) -> str:
    """Lines for people; safe to print, whatever the data holds."""
    return "\n".join(line.rstrip() for line in _lines(checked, width)) + "\n"


def _lines(checked: AuditReport, width: int) -> Iterator[str]:
    scope = ""
    for code in checked.audit.found.ordered():
        if SCOPE_OF[code.code] != scope:
            scope = SCOPE_OF[code.code]
            yield SCOPES[scope]
            yield ""
        yield from _code(checked, code, width)
        yield ""
    yield from verdict_lines(checked, width)
    yield summary(checked)
    if checked.fix is not None:
        yield ""
        yield from fix_lines(checked, checked.fix, width)


def fix_lines(checked: AuditReport, fix: FixOutcome, width: int) -> Iterator[str]:
    """What was put in force against the findings and what was not, what it changed, and what a second check says."""
    yield from ("Fix", "")
    for cure in (*fix.cures, *(one for one in fix.left if not one.drops)):
        codes = f" ({', '.join(cure.codes)})" if cure.codes else ""
        said = f"- not applied: {cure.text}{codes}: {cure.why}" if cure.why else f"✓ {cure.text}{codes}"
        yield from _wrapped(visible(said), width, "  ")
    if dropped := [f"{cure.codes[0]} {cure.drops:,}" for cure in fix.left if cure.drops]:
        yield from _wrapped(f"- rows are dropped only with --drop CODE: {', '.join(dropped)}", width, "  ")
    if fix.after is None:
        found = any(checked.audit.found.severities[one] for one in (Severity.ERROR, Severity.WARNING))
        why = "no error or warning has a fix that was tried, works, and drops no rows"
        yield from _wrapped(
            f"nothing was written: {why if found else 'there are no errors and no warnings'}", width, "  "
        )
        return
    yield ""
    for key, before, after in fix.keys if not fix.diff or traits_of(checked.recipe.preset).data_file else ():
        yield from _wrapped(
            visible(f"{key}: {f'{before} → ' if before else ''}{after or 'removed'}"), width, "    ", "  "
        )
    yield from (visible(line) for line in fix.diff.splitlines())
    yield from _row_lines(fix, width)
    yield from _wrapped(visible(f"written: {', '.join(fix.files)}"), width, "  ")
    yield f"checked again: {visible(fix.run)}".rstrip(": ")
    compared = [*fix.compared(checked)]
    for word, code, had, has in compared:
        if word != "stays":
            yield from _wrapped(f"  {word:<5} {code} {CODES[code].title}: {had:,} → {has:,}", width, "        ")
    if stays := [f"{code} {has:,}" for word, code, _, has in compared if word == "stays"]:
        yield from _wrapped(f"  stays {', '.join(stays)}", width, "        ")
    yield summary(fix.after)


def _row_lines(fix: FixOutcome, width: int) -> Iterator[str]:
    """How many rows repairs change, which, and the first of them before and after."""
    if fix.rows is None:
        return
    named = ", ".join(f"{name} {count:,}" for name, count in fix.rows.by_repair.most_common())
    said = f"{fix.rows.changed:,} of {counted_word(fix.rows.rows, 'row')} changed, {fix.rows.dropped:,} dropped"
    yield from _wrapped(visible(f"{said}{named and ': '}{named}"), width, "  ")
    for number, where, why in fix.rows.named:
        yield from _wrapped(visible(f"row {number:,} ({where}) stays unchanged: {why}"), width, "    ", "  ")
    for one in fix.samples:
        more = f" and {len(one.changes) - 1} more" if len(one.changes) > 1 else ""
        yield from _wrapped(visible(f"row {one.row:,}: {one.changes[0]}{more}"), width, "    ", "  ")
        yield from (clip(visible(f"  {mark} {text}"), width) for mark, text in (("-", one.before), ("+", one.after)))


def _code(checked: AuditReport, one: FoundCode, width: int) -> Iterator[str]:
    yield from _wrapped(
        f"{MARKS[one.severity]} {one.code} {CODES[one.code].title}{how_often(checked, one)}", width, "  "
    )
    for found, advice in checked.advised(one, SHOWN):
        yield from _finding(checked, found, width)
        yield from _advice(checked, advice, width - 2)
    left = one.count - min(len(one.kept), SHOWN)
    if left > 0:
        rows = ", ".join(str(row) for row in list(one.rows)[SHOWN : SHOWN + 12])
        more = f"and {left:,} more" + (f": rows {rows}" if rows else "") + (", …" if left > 12 else "")
        yield from _wrapped(more, width - 2, "  ", "  ")


def how_often(checked: AuditReport, code: FoundCode) -> str:
    """How many findings of a code there are, and in which share of the rows; empty for one."""
    share = code.share_text(checked.audit.rows)
    return (f", {code.count:,} times" if code.count > 1 else "") + (f", {share}" if share else "")


def _finding(checked: AuditReport, found: FoundFinding, width: int) -> Iterator[str]:
    finding = found.finding
    place = ""
    if finding.row is not None:
        file, line = checked.place(found)
        place = f"{visible(file)}:{line}" if line is not None else visible(file)
        place += f" row {finding.row}"
        if finding.message is not None:
            place += f" message {finding.message}"
        if finding.tokens is not None:
            first, last = finding.tokens[0], finding.tokens[1] - 1
            place += f" tokens {first}–{last}" if last > first else f" token {first}"
        place += ": "
    yield from _wrapped(place + visible(finding.sentence), width - 2, "    ", "  ")
    if finding.evidence:
        yield from _wrapped(visible(finding.evidence), width - 4, "      ", "    ")


def _advice(checked: AuditReport, advice: Advice, width: int) -> Iterator[str]:
    """What to do, and on a line of its own, which is never broken, the command that does it."""
    if advice.text:
        yield from _wrapped(advice.sentence(run=False), width, "       ", "  ")
    if advice.run:
        yield f"  run: {visible(checked.command(advice))}"


def verdict_lines(checked: AuditReport, width: int) -> Iterator[str]:
    """What training does with the data, the worst first, each with its one next step; nothing where all is well."""
    for one, advice in checked.verdict:
        yield from _wrapped(f"{MARKS[one.severity][0]} {one.sentence} ({one.code})", width, "  ")
        yield from _advice(checked, advice, width)
    if checked.verdict:
        yield ""


def summary(checked: AuditReport) -> str:
    """The last line: how many findings of each severity, over how many rows."""
    some = "" if checked.complete else " checked"
    rows = counted_word(checked.audit.rows, "row")
    aside = checked.audit.evaluation_rows
    some = " of the evaluation set" * checked.evaluates + some
    some += f", {aside:,} of them for evaluation" if aside else ""
    return f"{counted(checked)} in {rows}{some} · {checked.recipe.preset} · {visible(checked.tokenizer.name)}"


def _wrapped(text: str, width: int, later: str, first: str = "") -> list[str]:
    return textwrap.wrap(
        text, max(20, width), initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    ) or [first]
