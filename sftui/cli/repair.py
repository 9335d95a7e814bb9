"""`sftui repair`: the dataset with its repairs in a new file, and a log of every change; `sftui convert`: rows of any
shape as messages there, and next to it the config that reads them."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sftui.cli.loading import DataNotes, accept, loaded_session, open_data, print_matches
from sftui.cli.opening import arguments, open_options, opening_words
from sftui.cli.terminal import narrate
from sftui.cli.writing import STDOUT, OutputTarget, may_write, rows_written, targets
from sftui.errors import ExportError, RecipeError
from sftui.exports.plan import ExportPlan, check_target
from sftui.findings.rule import TO_MESSAGES
from sftui.repairs.rows import DROP_REASONS
from sftui.repairs.run import DROPPING, TITLES, RunCounts, layout_of, make_plan
from sftui.repairs.turns import own_names
from sftui.session.arguments import words_of
from sftui.session.converting import alike, conversion, opens_with, plan_config, refuse_stuck
from sftui.session.encoding import refuse_half
from sftui.session.facets import matching, needs_tokens
from sftui.session.harm import refuse_harm
from sftui.session.inputs import inputs_of
from sftui.session.marks import RowMarks
from sftui.session.opened import OpenData
from sftui.session.options import OpenOptions
from sftui.session.ready import tokenizer_of
from sftui.session.repairing import check_targets, conversion_of, session_plan
from sftui.text import many, visible
from sftui.views.repairs import skipped_words

LISTED = "`sftui repair --list` lists all of them"


def repair(
    listing: bool,
    apply: tuple[str, ...],
    drop: tuple[str, ...],
    marks: str | None,
    only: str | None,
    out: str | None,
    log: str | None,
    dry_run: bool,
    force: bool,
    **given: Any,
) -> int:
    """Write the repaired rows to a new file; with `dry_run` only count. Counts go to stderr.

    Exit 1 where rows stay as they were because a repair could not be made on them. With `listing` print what there is.
    """
    if listing:
        return list_repairs()
    chosen = repairs_of(apply, drop)
    reviewed = _reviewed(marks)
    marked = reviewed.rows_with("drop")
    chosen += reviewed.edits()
    kept = reviewed.rows_with(only) if only else None
    if marks is None and only:
        raise RecipeError("--only needs a file of row marks", fix="name it with --marks")
    if marks is not None and (kept == () if only else not chosen and not marked):
        raise RecipeError(
            f"{marks} marks no row as {only or 'drop'}",
            fix="mark rows in the inspector (rk, rd, rf), or name a repair with --apply",
        )
    if not chosen and not marked and not only and given["where"] is None:
        raise RecipeError("no repair was given", fix=f"name some with --apply, or rows to drop with --drop; {LISTED}")
    plan = make_plan(chosen)
    options = open_options(given)
    target, journal = targets_of(options, out, log, marks, dry_run, force)
    with contextlib.closing(opened_for(options, bool(plan.codes), unread=bool(MAKES_READ & {*chosen}))) as session:
        notes = DataNotes(session)
        if target is not None:
            refuse_half(session)
        notes.print()
        refuse_harm(session, chosen)
        conversion = conversion_of(session.stored, session.recipe, session.detected) if TO_MESSAGES in chosen else None
        plan = session_plan(tokenizer_of(session), chosen, () if only else marked, kept, conversion=conversion)
        now = rows_written(session, plan, target, journal)
        notes.print()
    own = own_names(layout_of(session.detected)) if "map-roles" in chosen else ()
    print_matches(session)
    click.echo(visible(summary(now.counts, now.lost, target, DROP_REASONS, own), newline="\n"), err=True)
    return 2 if now.lost else 1 if now.counts.skipped else 0


MAKES_READ = frozenset((TO_MESSAGES, "split-prompt"))
"""Repairs for rows that their trainer may not read as they are."""


def repairs_of(apply: Sequence[str], drop: Sequence[str]) -> tuple[str, ...]:
    """The repairs that --apply and --drop name, as `make_plan` takes them; RecipeError where one names none."""
    dropped = words_of(drop, "--drop", "reason and no code", LISTED)
    return (*words_of(apply, "--apply", "repair", LISTED), *(f"{DROPPING}{word}" for word in dropped))


def list_repairs() -> int:
    """Print every repair and every reason to drop a row."""
    names = {name: title for name, title in TITLES.items() if name != "drop"}
    width = max(map(len, [*names, *DROP_REASONS]))
    lines = ["--apply", *(f"  {name:<{width}}  {title}" for name, title in names.items())]
    lines += [
        "--drop",
        *(f"  {name:<{width}}  {title}" for name, title in DROP_REASONS.items()),
        f"  {'CODE':<{width}}  rows with this finding, e.g. TOO006",
    ]
    click.echo("\n".join(lines))
    return 0


def _reviewed(file: str | None) -> RowMarks:
    """What a file of review marks says."""
    from sftui.session.marks import RowMarks, load_marks

    return RowMarks() if file is None else load_marks(file)


def targets_of(
    options: OpenOptions, out: str | None, log: str | None, marks: str | None, dry_run: bool, force: bool
) -> tuple[OutputTarget | None, OutputTarget | None]:
    """Where the rows go (nowhere in a dry run) and the log, by itself next to them: never the data itself;
    ExportError."""
    if log is None and out is not None and out != STDOUT and not dry_run:
        log = f"{out.rpartition('.')[0] or out}.log.jsonl"  # as the inspector does: what was changed is never unsaid
    if not dry_run and out is None:
        raise ExportError("the new data needs a file", fix="name it with -o OUT.jsonl, or only count with --dry-run")
    if not dry_run and out is not None and out != STDOUT:
        check_targets(options.paths, out, None if log == STDOUT else log)
    target, journal = targets(inputs_of(options, marks), force, None if dry_run else out, log)
    return target, journal


def opened_for(options: OpenOptions, codes: bool, *, unread: bool = False) -> OpenData:
    """The data open, and the tokenizer where one is named or findings decide; ConversationError for what its trainer
    does not read, but where a conversion takes care of that (`unread`)."""
    if codes or options.recipe.tokenizer.name is not None or needs_tokens(options.where):
        return loaded_session(options, unread=unread)
    opened = open_data(options)
    accept(opened, unread=unread)
    return matching(opened)


def summary(
    counts: RunCounts, lost: int, target: OutputTarget | None, reasons: Mapping[str, str], own: tuple[str, ...] = ()
) -> str:
    kept = counts.rows - counts.dropped - lost
    where = "would be written" if target is None else f"written to {target.path or 'stdout'}"
    lines = [
        f"sftui: {kept:,} of {counts.rows:,} rows {where}, {counts.changed:,} of them changed,"
        f" {counts.dropped:,} dropped"
    ]
    for name, count in counts.by_repair.most_common():
        reason = f" ({reasons[name[5:]]})" if name.startswith("drop ") and name[5:] in reasons else ""
        lines.append(f"  {name:<20} {count:>9,} {'row' if count == 1 else 'rows'}{reason}")
    if own:
        lines.append(f"  map-roles kept {' and '.join(own)}: the dataset is read as ShareGPT, which uses these names")
    lines += [f"  {visible(word)}" for word in skipped_words(counts.skipped, counts.named)]
    if counts.skipped:
        lines.append("  repair them by hand, or drop them with --drop unreadable")
    if lost:
        lines.append(
            f"  {many(lost, 'row')} contain values that JSON cannot represent and could not be copied; drop them"
            " with --drop unreadable"
        )
    return "\n".join(lines)


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
        if not (given["trainer"] or given["recipe_file"] or arguments(given).config_file()):
            given["trainer"] = reader  # who is to read them has a word for what they are
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
        if reader is None and session.requested.supervised:
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
    if made.plan.regroup is not None:
        alone = f"; {many(now.waiting, 'answer')} left out: nothing to compare with"
        narrate(f"the trainer reads them as {many(now.made, 'row')}{alone if now.waiting else ''}")
    if comparison:
        narrate(comparison)
    if plan is not None and target is not None and target.path is not None:
        opening = opens_with(plan, made.to, made.opened.requested, target.path)
        _write_config(plan, opening_words(opening))
    return 0


def _write_config(plan: ExportPlan, words: tuple[str, ...]) -> None:
    narrate(*plan.notes)
    for path in plan.write(overwrite=True):
        click.echo(os.fsencode(path))
    narrate(f"open it with `{shlex.join(('sftui', *words))}`")
