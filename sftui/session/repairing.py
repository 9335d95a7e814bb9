"""Data repairs at work: over the rows of an open dataset, and written to a new file with a log."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import tempfile
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import tee
from pathlib import Path
from typing import IO

from sftui.conversations import Detection
from sftui.conversations.openai import MESSAGES
from sftui.errors import ExportError, SftuiError
from sftui.exports.files import atomic_file
from sftui.exports.typed_rows import write_typed
from sftui.findings.rule import TO_MESSAGES
from sftui.findings.words import WANTED
from sftui.model import Problem, Row
from sftui.pipeline import detect
from sftui.recipe import Recipe
from sftui.repairs.lines import TOO_DEEP, RepairedRow, as_it_was, as_json, line_of, row_of
from sftui.repairs.model import Repair, RepairLayout
from sftui.repairs.run import (
    RepairPlan,
    RunCounts,
    apply_plan,
    layout_after,
    make_plan,
    regrouped,
    repaired,
    rows_after,
)
from sftui.repairs.texts import looks_like_control, strip_tokens
from sftui.repairs.to_messages import MessageReading, has_calls, lost_calls, target_of, to_messages, way_of
from sftui.session.facets import stored_rows
from sftui.session.opened import OpenData, StoredData
from sftui.sources.files import format_of
from sftui.text import many
from sftui.tokens import LoadedTokenizer
from sftui.trainers import trainer_of

PARQUET = ".parquet"


# — over the rows —


REGROUPED = Problem(
    "this conversion changes the number of rows, so the open rows cannot show it", fix="write a file with sftui convert"
)


def lay_over(
    stored: StoredData, chosen: Sequence[str], recipe: Recipe, detected: Detection, tokenizer: LoadedTokenizer | None
) -> tuple[RepairPlan, RepairLayout, tuple[Row, ...], Recipe]:
    """Repairs that are to lie over data: their plan and the layout of what it makes, its first rows repaired, and the
    recipe that reads those; `detected` is how the rows are read as stored, under `recipe`. RecipeError for a repair
    that is none.

    What finding a row has is not asked of the first rows: they decide how rows are read, which findings hang on.
    """
    way = conversion_way(stored, recipe, detected) if TO_MESSAGES in chosen else None
    conversion = None if way is None else to_messages(way, target_of(recipe))
    if way is not None and conversion is not None and conversion.regroup is not None:
        way = replace(way, refused=REGROUPED)
        conversion = to_messages(way, target_of(recipe))
    plan = session_plan(tokenizer, chosen, conversion=conversion)
    layout = layout_after(plan, detected)
    done = [apply_plan(row, plan, layout) for row in stored.sample]
    kept = tuple(row_of(row) for row in done if row.dropped is None)
    converted = way is not None and way.refused is None
    return plan, layout, kept or stored.sample, reading_messages(recipe) if converted else recipe


def session_plan(
    tokenizer: LoadedTokenizer | None,
    chosen: Sequence[str],
    marked: Collection[int] = (),
    only: Collection[int] | None = None,
    *,
    conversion: Repair | None = None,
) -> RepairPlan:
    """The plan that a list of repairs means under the tokenizer of a session, which may have none yet, and with the
    conversion of its rows (see `conversion_of`)."""
    exact = {} if tokenizer is None else exact_repairs(tokenizer)
    converting = {} if conversion is None else {TO_MESSAGES: conversion}
    return make_plan(chosen, instead={**exact, **converting}, marked=marked, only=only)


def conversion_of(stored: StoredData, recipe: Recipe, detected: Detection) -> Repair:
    """The repair that makes messages of the rows of some data, which are read so under a recipe."""
    return to_messages(conversion_way(stored, recipe, detected), target_of(recipe))


def conversion_way(
    stored: StoredData, recipe: Recipe, detected: Detection, reader: Recipe | None = None, without: Sequence[str] = ()
) -> MessageReading:
    """How the rows become messages, or why they cannot: also where the trainer would then not read `messages`; for the
    trainer of `reader`, where that is another one's. The columns `without` are left out."""
    wanted, sample = reader or recipe, stored.sample
    target = target_of(wanted)
    if without and target.columns:
        sample = tuple(
            replace(row, data={name: value for name, value in (row.data or {}).items() if name not in without})
            for row in sample
        )
        detected = detect(sample, recipe)
    way = way_of(sample, recipe, detected)
    if way.refused is not None:
        return way
    if target.other:
        what = f"{target.title} does not read messages in OpenAI's format"
        return replace(way, refused=Problem(what, target.other, "convert the rows for another trainer (--for)"))
    plan = RepairPlan((to_messages(way, replace(target, loses_calls=""), without),))
    made = rows_after(stored.sample, plan, layout_after(plan, detected))
    if not made:
        return way
    calling = next((row for row in made if target.loses_calls and has_calls(row.data)), None)
    if calling is not None:
        return replace(way, refused=lost_calls(target, calling.where))
    lists = [column for name, column in target.columns.items() if name != "label"] or [MESSAGES]
    return replace(way, refused=_not_read(detect(made, reading_messages(wanted)), target.title, lists))


def _not_read(after: Detection, title: str, columns: Collection[str]) -> Problem | None:
    """Why a trainer would not read the converted rows, which it reads so; None where it would."""
    if after.refused is not None:
        return Problem(
            f"{title} could not read the messages either: {after.refused.what}", after.refused.why, after.refused.fix
        )
    if {*columns} <= {*after.fields.values()}:
        return None
    named, wanted = (
        " and ".join(f"`{one}`" for one in dict.fromkeys(some)) for some in (after.fields.values(), columns)
    )
    return Problem(
        f"{title} would read {named} instead of {wanted}",
        fix=f"leave {named} out (sftui convert --without), or rename it",
    )


def reading_messages(recipe: Recipe) -> Recipe:
    """The recipe with which converted rows are read, whatever it says of the columns that they had."""
    return trainer_of(recipe).reading_messages(recipe)


def exact_repairs(tokenizer: LoadedTokenizer) -> dict[str, Repair]:
    """Repairs that know this tokenizer: `strip-tokens` takes out its own control tokens too."""

    def controls(text: str) -> list[str]:
        pieces = (tokenizer.piece(token) for token in tokenizer.encode(text).ids if tokenizer.is_special(token))
        own = [piece for piece in pieces if not any(word in piece.lower() for word in WANTED)]
        return [*looks_like_control(text), *own]

    return {"strip-tokens": strip_tokens(controls)}


def codes_of(session: OpenData, plan: RepairPlan) -> Callable[[Row], Collection[str]] | None:
    """What is found in a row, where the plan asks for it.

    What it returns raises SftuiError where that is not known: without a tokenizer or a template, and for a row that
    stopped before every check was made and has nothing that the plan asks for.
    """
    if not plan.codes:
        return None

    def codes(row: Row) -> set[str]:
        inspection = session.inspect_row(row, text=False)
        found = {finding.code for finding in session.ready().found(inspection)}
        problem = inspection.problem
        if problem is not None and not any(code.startswith(plan.codes) for code in found):
            raise SftuiError(problem.what, why=problem.why, fix=problem.fix)
        return found

    return codes


# — written —


@dataclass(frozen=True, slots=True)
class WriteProgress:
    """How far a write is: what was counted, rows that could neither be repaired nor carried over, how many were made,
    and of those that are put together how many are left over."""

    counts: RunCounts
    lost: int = 0
    made: int = 0
    waiting: int = 0


def check_targets(paths: Sequence[str], out: str, log: str | None) -> None:
    """ExportError where a file to be written is the data itself or among it, or is both files."""
    if not out.lower().endswith((".jsonl", ".ndjson", PARQUET)):
        raise ExportError(f"{out} does not name a format that sftui can write", fix="name it OUT.jsonl or OUT.parquet")
    targets = [Path(out), *([Path(log)] if log is not None else [])]
    own = {os.path.realpath(one) for path in paths for one in (path, *glob.glob(path))}
    for target in targets:
        place = os.path.realpath(target)
        if place in own or any(os.path.isdir(one) and place.startswith(one + os.sep) for one in own):
            raise ExportError(
                f"{target} is the data itself", why="repairs go to a new file, never in place", fix="name another file"
            )
    if len({os.path.realpath(target) for target in targets}) < len(targets):
        raise ExportError(f"{out} cannot be both the data and the log")


def write_repaired(
    session: OpenData, plan: RepairPlan, target: Path | None, journal: Path | None
) -> Iterator[WriteProgress]:
    """Write the rows after a plan, and a log of every change; both take their names only at the end, whole.

    Reports after every row how far it is; without files it only counts. Not being asked for more stops it, and
    leaves nothing behind. A target named `.parquet` is typed at the end (`write_typed`). ExportError, also where lines
    of JSON, or one type a place, cannot hold a row.
    """
    layout = layout_after(plan, detect(session.stored.sample, session.requested))
    counts, lost, total = RunCounts(), 0, 0
    now = WriteProgress(counts)
    with contextlib.ExitStack() as files:
        written = files.enter_context(atomic_file(target, folders=False)) if target is not None else None
        typed = target if target is not None and format_of(target.name) == "parquet" else None
        lines = files.enter_context(tempfile.TemporaryFile(dir=typed.parent)) if typed is not None else None
        rows, numbers, regroup = lines or written, array("q"), None if plan.regroup is None else plan.regroup()
        # takes its name first
        log_file = files.enter_context(atomic_file(journal, folders=False)) if journal is not None else None
        rows_now, stored_as = tee(stored_rows(session))
        for done in repaired((row for row, _ in rows_now), plan, layout, codes_of(session, plan)):
            _, original = next(stored_as)
            if original is None:
                done = as_json(done)
            made = [(done, original)]
            if regroup is not None and done.data is not None and not done.skipped:
                made = [(regrouped(done, data), stood) for data, stood in regroup.rows(done.data, original)]
            found = [line_of(one, stood) for one, stood in made]
            if None in found and done.dropped is None and original is not None:
                done = as_it_was(done, TOO_DEEP)
                found = [line_of(done, original)]
            counts.add(done)
            lost += None in found and done.dropped is None
            kept = [line for line in found if line is not None]
            total += len(kept)
            if rows is not None:
                rows.writelines(kept)
            if lines is not None:
                numbers.extend([done.row.index] * len(kept))
            if log_file is not None and (done.changes or done.unchecked or done.skipped):
                _log(log_file, done)
            now = WriteProgress(counts, lost, total, 0 if regroup is None else regroup.waiting)
            yield now
        if plan.converts and counts.skipped:
            raise _mixed(counts)
        if regroup is not None and counts.rows and not total:
            why = "every question has only desirable or only undesirable answers"
            raise ExportError("nothing was written: no two answers make a pair", why=why, fix="keep loss.objective kto")
        if lines is not None and written is not None:
            for _ in write_typed(lines, written, numbers):
                yield now


def _mixed(counts: RunCounts) -> ExportError:
    """The refusal to write a file in which some rows are messages and some are not, which no trainer reads."""
    row, where, why = counts.named[0]
    rows = f"{counts.skipped:,} of {many(counts.rows, 'row')}"
    return ExportError(
        f"nothing was written: {rows} cannot become messages",
        why=f"row {row:,} ({where}): {why}",
        fix="fix them, or drop them with `--drop unreadable`",
    )


def _log(file: IO[bytes], done: RepairedRow) -> None:
    entry: dict[str, object] = {"row": done.row.index, "where": done.row.where, "dropped": done.dropped}
    entry["changes"] = [change.to_json() for change in done.changes]
    entry |= {name: why for name in ("unchecked", "skipped") if (why := getattr(done, name))}
    file.write(json.dumps(entry).encode() + b"\n")
