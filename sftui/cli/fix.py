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
from sftui.cli.opening import open_options, opening_words
from sftui.cli.terminal import narrate
from sftui.cli.writing import STDOUT, OutputTarget, all_or_none, may_write, rows_written
from sftui.errors import ExportError
from sftui.exports.report_model import AuditReport, FixOutcome
from sftui.findings import Fix
from sftui.recipe import with_changes
from sftui.repairs.run import RunCounts
from sftui.session.arguments import words_of
from sftui.session.encoding import refuse_half
from sftui.session.fixing import FixPlan, plan_fix, samples
from sftui.session.inputs import Inputs
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready
from sftui.session.way_in import way_into


def refuse_folder(folder: str, inputs: Inputs) -> None:
    """ExportError for what no fix can be written into."""
    if folder == STDOUT:
        raise ExportError("a fix is several files, which stdout cannot take", fix="name a folder with --fix DIR")
    if not Path(folder).is_dir():
        inputs.refuse(Path(folder))
        if Path(folder).exists():
            raise ExportError(f"{folder} is a file, not a folder", fix="name a new folder with --fix DIR")


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
) -> FixOutcome:
    """Write what helps against what was found, and check it as the data was checked; SftuiError where that cannot be,
    and then nothing is left of it."""
    if STDOUT in found.paths:
        raise ExportError("what comes from a pipe cannot be fixed", fix="write the rows to a file first, and name it")
    dropped = words_of(drop, "--drop", "reason and no code", "`sftui repair --list` lists them")
    plan = plan_fix(session, found, Path(folder), dropped, way)
    made = FixOutcome(tuple(plan.cures), tuple(plan.left), plan.keys)
    if not plan.files:
        return made
    refuse_half(session)
    planned = () if plan.config is None else plan.config.files
    same = [file.path for file in planned if file.exists and not file.diff]
    may_write([file for file in plan.files if file not in same], inputs, force)
    again = {**given, **plan.opening}
    with all_or_none(plan.files):
        counts = _rows(plan)
        if plan.config is not None:
            narrate(*plan.config.notes)
            plan.config.write(overwrite=True)
        opening = opening_words(again)
        run = shlex.join(("sftui", "check", *opening))
        narrate(f"checks what was written: {run}")
        wanted = replace(wanted, waivers=session.waivers)
        after = audited(open_options(again), wanted, **work_of(given), opening=opening)
    diff = "".join(file.diff for file in planned)
    files = tuple(map(str, plan.files))
    return replace(made, diff=diff, rows=counts, samples=tuple(samples(plan)), files=files, run=run, after=after)


def _rows(plan: FixPlan) -> RunCounts | None:
    """Write the rows, where they are to be written, and count what repairs did to them."""
    if plan.data is None or plan.log is None:
        return None
    now = rows_written(plan.session, plan.rows, OutputTarget(plan.data), OutputTarget(plan.log))
    if now.lost:
        raise ExportError(f"{now.lost:,} rows could not be carried over", fix="leave them out with --drop unreadable")
    return now.counts
