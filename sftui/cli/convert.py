"""`sftui convert`: rows of any shape as messages in a new file, and next to it the config that reads them."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path
from typing import Any

import click

from sftui.cli.loading import DataNotes, print_matches
from sftui.cli.opening import open_options, opening_words
from sftui.cli.repair import opened_for, repairs_of, summary, targets_of
from sftui.cli.terminal import narrate
from sftui.cli.writing import may_write, rows_written
from sftui.errors import ExportError
from sftui.exports.plan import ExportPlan, check_target
from sftui.repairs.rows import DROP_REASONS
from sftui.repairs.run import make_plan
from sftui.session.arguments import words_of
from sftui.session.converting import alike, conversion, opens_with, plan_config, refuse_stuck
from sftui.session.encoding import refuse_half
from sftui.session.harm import refuse_harm
from sftui.session.inputs import inputs_of
from sftui.text import visible

FOLDER = "-config"
"""Behind the name of the file without its ending: the folder of the config that reads it."""


def convert(
    reader: str | None,
    apply: tuple[str, ...],
    drop: tuple[str, ...],
    without: tuple[str, ...],
    out: str | None,
    config_dir: str | None,
    log: str | None,
    dry_run: bool,
    force: bool,
    **given: Any,
) -> int:
    """Write the rows as messages and the config that reads them; with `dry_run` only count. Counts go to stderr.

    Nothing is written where a row cannot be converted that is not left out.
    """
    if reader is not None:
        check_target(reader)
    chosen = repairs_of(apply, drop)
    columns = words_of(without, "--without", "column", "name columns, e.g. --without text")
    coded = bool(make_plan(chosen).codes)
    options = open_options(given)
    target, journal = targets_of(options, out, log, None, dry_run, force)
    with contextlib.closing(opened_for(options, coded, unread=True)) as session:
        notes, plan = DataNotes(session), None
        if target is not None:
            refuse_half(session)
        made = conversion(session, reader, chosen, columns)
        notes.print()
        if reader is None:
            refuse_harm(session, made.chosen)
        refuse_stuck(made)
        if target is not None and target.path is not None:
            folder = Path(config_dir) if config_dir is not None else target.path.with_name(target.path.stem + FOLDER)
            plan = plan_config(made, target.path, folder)
            files = [file.path for file in plan.files if file.diff or not file.exists]
            may_write(files, inputs_of(options), force)
        now = rows_written(session, made.plan, target, journal)
        comparison = alike(made).sentence()
        notes.print()
    if now.lost:  # cannot be: a row that JSON does not carry is no row of messages
        raise ExportError(f"{now.lost:,} rows could not be converted", fix="drop them with --drop unreadable")
    print_matches(session)
    click.echo(visible(summary(now.counts, 0, target, DROP_REASONS), newline="\n"), err=True)
    if comparison:
        narrate(comparison)
    if plan is not None and target is not None and target.path is not None:
        opening = opens_with(plan, made.to, made.opened.requested.tokenizer.name, target.path)
        _write_config(plan, opening_words(opening))
    return 0


def _write_config(plan: ExportPlan, words: tuple[str, ...]) -> None:
    narrate(*plan.notes)
    for path in plan.write(overwrite=True):
        click.echo(os.fsencode(path))
    narrate(f"open it with `{shlex.join(('sftui', *words))}`")
