"""`sftui check --fix`: what was tried and helps, written as new data and a new config, and proven by a second check."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.audit.found import Filter
from sftui.cli.auditing import audited, work_of
from sftui.cli.loading import open_data
from sftui.cli.opening import open_options, opening_words, option_words
from sftui.cli.terminal import narrate
from sftui.cli.writing import STDOUT, OutputTarget, may_write, rows_written
from sftui.errors import ExportError
from sftui.exports.report_model import AuditReport, FixOutcome
from sftui.findings import Fix
from sftui.recipe import with_changes
from sftui.session.arguments import words_of
from sftui.session.fixing import plan_fix, put_in_force, way_into
from sftui.session.inputs import Inputs
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready
from sftui.session.repairing import WriteProgress


def refuse_data(folder: str, data: Sequence[str]) -> None:
    """ExportError where the data was taken for the folder."""
    if not data and Path(folder).is_file():
        raise ExportError(
            f"--fix takes {folder} as its output folder", fix=f"name the data first: sftui check {folder} --fix"
        )


def folder_for(folder: str, options: OpenOptions, inputs: Inputs) -> str:
    """The folder that a fix is written into, beside the data where none is named; ExportError for what none can be
    written into."""
    if not folder:
        named = Path(options.paths[0] if options.config is None else options.config.path)
        place = (named.parent if named.exists() else Path()) / f"{named.stem}-fixed"
        if place.exists():
            raise ExportError(f"{place} already exists", fix="name a new folder with --fix DIR")
        folder = str(place)
    if folder == STDOUT:
        raise ExportError("a fix is several files, so it cannot go to stdout", fix="name a folder with --fix DIR")
    place = Path(folder)
    there = next(one for one in (place, *place.parents) if one.exists())
    if not there.is_dir():
        raise ExportError(f"{there} is a file, not a folder", fix="name a new folder with --fix DIR")
    if there != place:
        inputs.refuse(place)
    return folder


def with_way(options: OpenOptions) -> tuple[OpenOptions, Fix | None]:
    """The options that open a set which its trainer does not read by these, and what was set for it; None where
    nothing that was tried helps."""
    with contextlib.closing(open_data(options)) as opened:
        way = way_into(opened)
    recipe = options.recipe if way is None else with_changes(options.recipe, way.changes)
    return replace(options, recipe=recipe, base=options.base or options.recipe), way


def fixed(
    session: Ready,
    found: AuditReport,
    folder: str,
    drop: Sequence[str],
    way: Fix | None,
    force: bool,
    inputs: Inputs,
    given: Mapping[str, Any],
    wanted: Filter,
    chosen: Mapping[str, Any],
) -> FixOutcome:
    """Write what helps against what was found, and check it as the data was checked, by the same selection, which are
    the options `chosen`; SftuiError where that cannot be, and then nothing is left of it."""
    if STDOUT in found.paths:
        raise ExportError("--fix cannot work on piped data", fix="write the rows to a file first, and name it")
    dropped = words_of(drop, "--drop", "reason and no code", "`sftui repair --list` lists them")
    plan = plan_fix(session, found, Path(folder), dropped, way)
    may_write(plan.written, inputs, force)
    again = {**given, **plan.opening}
    opening = opening_words(again)
    run = shlex.join(("sftui", "check", *opening, *option_words(chosen.items())))

    def rows(data: Path, log: Path) -> WriteProgress:
        return rows_written(plan.session, plan.rows, OutputTarget(data), OutputTarget(log))

    def check() -> AuditReport:
        narrate(*(plan.config.notes if plan.config is not None else ()), f"checking what was written: {run}")
        return audited(open_options(again), wanted, **work_of(given), opening=opening)

    return replace(put_in_force(plan, rows, check), run=run)
