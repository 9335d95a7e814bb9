"""`sftui check` and `report`: what is wrong in the set-up, the dataset and its rows, for people and for machines."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from sftui.audit.found import Filter
from sftui.cli.auditing import audited, auditing, work_of
from sftui.cli.opening import open_options, opening_words
from sftui.cli.terminal import LINE_WIDTH, narrate
from sftui.cli.writing import STDOUT, outputs
from sftui.errors import ConversationError, RecipeError, SftuiError
from sftui.exports.baseline import Baseline, baseline_text, may_replace, read_baseline
from sftui.exports.formats_text import as_text, fix_lines
from sftui.exports.report_model import AuditReport, counted_word
from sftui.findings import Severity
from sftui.session.arguments import codes_of, rates_of
from sftui.session.facets import refuse_where
from sftui.session.inputs import inputs_of
from sftui.text import many

DEFAULT_WIDTH = 100
FIXED = ("text", "json")
"""Formats that say what --fix did; beside the others it is said on stderr."""
LOOKS = 3
"""Rows of each code that the page of `sftui report` draws."""


def check(
    form: str,
    also: tuple[tuple[str, str], ...],
    fail_on: str,
    max_rate: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    baseline: str | None,
    write_baseline: bool,
    fix: str | None,
    drop: tuple[str, ...],
    out: str | None,
    width: int | None,
    force: bool,
    **given: Any,
) -> int:
    """Print or write what was found, and `also` as (format, file); 1 where something at or above `fail_on` stands, or
    more of a code than `max_rate` allows, else 0. With `fix` what helps is put in force in that folder, and what stands
    is what a second check of it finds."""
    if write_baseline and baseline is None:
        raise RecipeError("--write-baseline needs a file", fix="name the file with --baseline FILE")
    if fix is not None and write_baseline:
        raise RecipeError("--fix changes what --write-baseline would record", fix="use one of them")
    if fix is not None:
        refuse_where(given, "--fix changes the whole dataset")
    if fix is None and drop:
        raise RecipeError("--drop needs --fix: it selects the rows to drop", fix="name a folder with --fix DIR")
    read, written = (None, baseline) if write_baseline else (baseline, None)
    asked = rates_of(max_rate, "--max-rate")
    known = Baseline(frozenset()) if read is None else read_baseline(Path(read), but=asked)
    if None in asked.values() and known.rates is None:
        if read is None:
            raise RecipeError("--max-rate CODE=baseline needs a baseline file", fix="name it with --baseline FILE")
        why = "it was written by an earlier sftui"
        raise RecipeError(f"{read} has no rates for --max-rate", why=why, fix="rewrite it with --write-baseline")
    limits = {code: (known.rates or {}).get(code, 0.0) if most is None else most for code, most in asked.items()}
    wanted = Filter(
        codes_of(select, "--select"), codes_of(ignore, "--ignore"), (), known.known, remember=write_baseline
    )
    if known.outdated:
        narrate(
            f"{baseline} comes from an earlier sftui and no longer recognises {', '.join(known.outdated)};"
            " rewrite it with --write-baseline"
        )
    if fix is not None:
        from sftui.cli.fix import fixed, folder_for, refuse_data, with_way

        refuse_data(fix, given["data"])
    options = open_options(given)
    inputs = inputs_of(options, given["evaluation"], read)
    more = [file for _, file in also]
    target, (memory, *others) = outputs(inputs, force, out or STDOUT, written, *more, ours=written)
    if memory is not None and memory.path is not None:
        may_replace(memory.path)
    refused: SftuiError | None = None
    chosen = {"--select": select, "--ignore": ignore, "--baseline": read, "--eval": given["evaluation"]}
    chosen |= {"--max-rows": given["max_rows"], "--sample": given["sample"]}
    fix = None if fix is None else folder_for(fix, options, inputs)
    with ExitStack() as opened:
        way, work = None, {**work_of(given), "opening": opening_words(given)}
        try:
            session, found = opened.enter_context(auditing(options, wanted, **work))
        except ConversationError as error:
            options, way = (options, None) if fix is None else with_way(options)
            if way is None:
                raise
            narrate(str(error))
            session, found = opened.enter_context(auditing(options, wanted, **work))
        if fix is not None:
            try:
                found = replace(found, fix=fixed(session, found, fix, drop, way, force, inputs, given, wanted, chosen))
            except SftuiError as error:  # what was found is said all the same
                refused = error
    other = known.other_ids(found.tokenizer) if read is not None else ""
    if other:
        narrate(f"{baseline} {other}: it may not recognise findings about tokens; rewrite it with --write-baseline")
    target.write(_writer(form, width)(found))
    for (extra, _), place in zip(also, others):
        if place is not None:
            place.write(_writer(extra, width)(found))
    if memory is not None:
        text = baseline_text(found.audit.found, found.tokenizer, found.audit.rows)
        count = sum(code.count for code in found.audit.found.codes.values())
        with memory.open() as file:
            file.write(text.encode("ascii"))
        counted = f"{counted_word(count, 'finding')} {'is' if count == 1 else 'are'}"
        narrate(f"{counted} recorded in {baseline}")
        return 0
    if refused is not None:
        raise refused
    if found.fix is not None and form not in FIXED:
        click.echo("\n".join(fix_lines(found, found.fix, LINE_WIDTH)), err=True)
    stands = found if found.fix is None or found.fix.after is None else found.fix.after
    over = stands.audit.found.over(limits, stands.audit.rows, "--max-rate")
    narrate(*over)
    worst = stands.audit.found.worst(but=limits)
    fails = fail_on != "never" and worst is not None and worst.rank <= Severity(fail_on).rank
    return int(fails or bool(over))


def _writer(form: str, width: int | None) -> Callable[[AuditReport], str]:
    """What writes a format; text as wide as was asked, else as the terminal."""
    if form == "text" and (width is not None or sys.stdout.isatty()):
        return partial(as_text, width=width or shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns)
    from sftui.exports.formats import writer_of

    return writer_of(form)


def report(out: str, select: tuple[str, ...], ignore: tuple[str, ...], force: bool, **given: Any) -> int:
    """Write the page; what it shows does not change the exit code, `sftui check` is for that."""
    from sftui.exports.report import report_html

    wanted = Filter(codes_of(select, "--select"), codes_of(ignore, "--ignore"))
    options = open_options(given)
    target, _ = outputs(inputs_of(options, given["evaluation"]), force, out)
    checked = audited(options, wanted, **work_of(given), looks=LOOKS)
    target.write(report_html(checked), f"{many(checked.audit.rows, 'row')} ")
    return 0
