"""`sftui export`: the recipe, a stand-alone script, or a trainer's config, written into a folder."""

from __future__ import annotations

import contextlib
import os
from itertools import islice
from typing import Any

import click

from sftui.audit.verdict import Verdicts, of_row
from sftui.cli import loading
from sftui.cli.opening import open_options
from sftui.cli.terminal import narrate
from sftui.cli.writing import STDOUT, Progress, may_write
from sftui.errors import ExportError, SftuiError
from sftui.exports.conversion import refused_export
from sftui.exports.plan import TARGETS, check_target, plan_export
from sftui.findings.model import Consequence
from sftui.recipe import Recipe
from sftui.session import ready
from sftui.session.comparing import open_sides
from sftui.session.facets import matching
from sftui.session.inputs import inputs_of
from sftui.session.opened import OpenData
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready
from sftui.text import many, visible
from sftui.trainers import trainer_of, traits_of
from sftui.views.cells import plain
from sftui.views.compare import count_lines


def export(to: str, folder: str, force: bool, max_rows: int | None, **given: Any) -> int:
    """Plan, show what would change on stderr, ask, and write; the paths written go to stdout.

    For another trainer than the recipe's, what changes in the labels is counted over the dataset
    (`max_rows`: over its first rows) and reported before anything is written. 1 where no answer of the data reaches the
    model: then nothing is written but with `force`.
    """
    check_target(to)
    if folder == STDOUT:
        raise ExportError("an export is several files, so it cannot go to stdout", fix="name a folder with -o DIR")
    options = open_options(given)
    recipe = options.recipe
    session = loading.open_data(options, recipe)
    try:
        if to != "recipe":
            loading.accept(session)
        if recipe.tokenizer.name is not None and to != "recipe":
            session = loading.load_tokenizer(session).ready()
        loading.DataNotes(session).look()
        plan = plan_export(to, folder, recipe, options.base or recipe, session.prepared())
        lost, wanted = None, exported(session, plan.converted or recipe)
        if options.where is not None:
            narrate("the exported files use all rows; `sftui repair --where` writes the matching rows to a file")
        if to not in TARGETS:
            refuse_untrainable(wanted, plan.converted or recipe)
        if isinstance(wanted, Ready):
            lost = unreached(matching(wanted), max_rows)
        if lost is not None:
            narrate(lost)
            if not force:
                other = to not in TARGETS and traits_of(to).name != recipe.trainer
                more = f" --trainer {to}` says why, `sftui convert --for {to}` writes rows as it reads them"
                narrate(f"nothing was written: `sftui check{more if other else '` says why'}; --force writes it anyway")
                return 1
        loading.print_versions([session])
        stops = to == recipe.trainer and isinstance(session, Ready) and loading.print_stops([session])
    finally:
        session.close()
    known = loading.print_notes([recipe] if plan.converted is None else [recipe, plan.converted])
    for line in (plan.first_line, *(note for note in plan.notes if note not in known)):
        click.echo(visible(line), err=True)
    if plan.converted is not None:
        print_changes(options, recipe, plan.converted, max_rows)
    for file in plan.files:
        if file.diff:
            click.echo("\n".join(visible(line) for line in file.diff.splitlines()), err=True)
    # The recipe and the config may be written back: the diff above shows what becomes of them.
    written = [file.path for file in plan.files if file.diff or not file.exists]
    may_write(written, inputs_of(options, recipes=False), force)
    for path in plan.write(overwrite=True):
        click.echo(os.fsencode(path))  # as it is: a name need not be UTF-8
    return 2 if stops else 0


def exported(session: OpenData, recipe: Recipe) -> OpenData:
    """The data under the exported recipe, with its tokenizer; without one where it cannot be loaded and a recipe alone
    is written."""
    other = ready.under(session, recipe)
    try:
        return ready.tokenized(other) if ready.waits(other) and recipe.tokenizer.name is not None else other
    except SftuiError:
        if not ready.waits(session):  # the other trainer brings another transformers
            raise
        return other


def refuse_untrainable(session: OpenData, recipe: Recipe) -> None:
    """ExportError where no sampled row can be made into labels under the exported recipe, tokenizer and template."""
    title = trainer_of(recipe).title or recipe.preset
    if ready.waits(session):
        return
    if not isinstance(session, ready.Ready):
        raise refused_export(title, session.problem)
    made = [session.inspect_row(row, spans=False) for row in session.sample if row.data is not None]
    problems = [inspection.problem for inspection in made if inspection.problem is not None]
    if problems and len(problems) == len(made):
        raise refused_export(title, problems[0])


def print_changes(options: OpenOptions, recipe: Recipe, converted: Recipe, limit: int | None) -> None:
    """Count on stderr what becomes of the labels under the other trainer."""
    count = None
    try:
        with contextlib.closing(open_sides(options, (recipe, converted))) as comparing:
            progress = Progress(comparing.total(limit, None))
            for count in comparing.count(comparing.rows(limit), keep=1):
                progress.at(count.rows)
            progress.end()
            loading.print_matches(comparing.sessions[0])
    except SftuiError as error:
        click.echo(f"the label changes cannot be counted: {visible(str(error))}", err=True)
        return
    if count is not None:
        click.echo(plain(count_lines(count, (recipe.preset, converted.preset), 200)), err=True, nl=False)
        if count.first:
            first = count.first[0]
            why = next(
                (f": {side.gone}" for side in first.sides if side.gone is not None), "; `sftui compare` shows where"
            )
            click.echo(visible(f"the first is row {first.row}{why}"), err=True)


def unreached(session: Ready, most: int | None = None) -> str | None:
    """What becomes of data, or of its first `most` rows, of which no answer reaches the model, in a sentence; None for
    any other, which the first row tells that is trained."""
    verdicts, count, why = Verdicts(), 0, ""
    for made in session.inspect_many(islice(session.rows(), most)):
        if made.evaluates or made.row.left_out is not None:
            continue
        found = session.found(made)
        comes_to = of_row(found)
        if made.trained and (comes_to is None or not comes_to[1].lost):
            return None
        count += 1
        verdicts.count(tuple((one.code, one.severity) for one in found), made.row.index)
        why = why or (made.problem.sentence() if made.problem is not None else made.dropped or "")
    if not count:
        return None
    told = next((one for one in verdicts.verdicts(count, why) if Consequence[one.consequence.upper()].lost), None)
    words = told.sentence if told is not None else f"nothing is trained in {many(count, 'row')}{why and ': '}{why}"
    return f"{words}{'' if most is None else f' (in the first {most:,} rows)'}"
