"""`sftui compare`: where recipes, trainers, templates or tokenizers differ over a dataset."""

from __future__ import annotations

import contextlib
import math
import os
import shlex
from array import array
from collections.abc import Sequence
from typing import Any

import click

from sftui.cli import loading
from sftui.cli.opening import open_options
from sftui.cli.terminal import narrate, terminal_width
from sftui.cli.writing import Progress
from sftui.comparison import Causes, ComparisonCount, RowComparison, RowSide
from sftui.errors import RecipeError
from sftui.exports.records import as_json, attributes
from sftui.recipe import Recipe, changed, get
from sftui.recipe_io import parse_yaml
from sftui.session.arguments import set_knob, starting_recipe, template_of
from sftui.session.comparing import chosen, explain, open_sides, tokenized_otherwise
from sftui.session.configs import config_text, open_config
from sftui.session.facets import refuse_where
from sftui.session.opened import PREPARED
from sftui.trainers import preset, trainer_of
from sftui.trainers.config import OpenedConfig
from sftui.trainers.recognise import is_config, is_script, recognise
from sftui.views.cells import plain
from sftui.views.compare import cause_lines, compare_lines, count_lines, does, keys_of_setting, unmarked_words

SHORT = {"tokenizer": "tokenizer.name", "revision": "tokenizer.revision", "max_length": "length.max"}
"""What --with may call a knob, too."""


def compare(against: str | None, **given: Any) -> int:
    """Compare recipes with each other, or stored sequences with a dataset (`against`)."""
    if against is None:
        return compare_recipes(**given)
    if given["others"] or given["max_rows"] is not None or given["sample"] is not None:
        raise RecipeError("--against compares every sequence", fix="omit --with, --max-rows and --sample")
    from sftui.cli.against import compare_against

    refuse_where(given, "--against looks up every sequence")

    return compare_against(against, **given)


def compare_recipes(
    others: Sequence[str],
    max_rows: int | None,
    sample: int | None,
    shown: int,
    causes: int,
    form: str,
    width: int | None,
    **given: Any,
) -> int:
    """Print the count and the first differing rows; 0 where nothing differs, 1 where something does, 2 where no row
    could be compared."""
    if not others:
        raise RecipeError(
            "there is nothing to compare with",
            fix="name it: --with trl@1.16, --with FILE, --with tokenizer=NAME, --with KNOB=VALUE",
        )
    options = open_options(given)
    base = options.recipe
    sides = [(base.preset, base, options.config), *(other_side(text, base, options.config) for text in others)]
    names, recipes, configs = (list(column) for column in zip(*sides))
    count = None
    found: list[Causes | None] = []
    with contextlib.closing(
        open_sides(options, recipes, configs, loading.open_data, loading.load_tokenizer)
    ) as comparing:
        loading.print_versions(comparing.sessions)
        loading.print_notes(recipes)
        narrate(*tokenized_otherwise(comparing.sessions, names))
        notes = loading.DataNotes(*comparing.sessions)
        some = max_rows is not None or sample is not None
        if sample is not None:
            comparing.index()  # as choosing them does
        if some:
            notes.look()
        notes.print()
        splits = comparing.settle(PREPARED if some else None)
        narrate(*unmarked_words([split.note for split in splits], names))
        progress = Progress(comparing.total(max_rows, sample))
        differing = array("q")
        for count in comparing.count(comparing.rows(max_rows, sample), keep=shown, differing=differing):
            progress.at(count.rows)
        progress.end()
        notes.print()
        loading.print_matches(comparing.sessions[0])
        rows = chosen(differing, causes)
        progress = Progress(len(rows) * len(others))
        for number, session in enumerate(comparing.sessions[1:], 1):
            last = None
            for last in explain(comparing.sessions[0], session, rows, len(differing)):
                progress.at((number - 1) * len(rows) + last.looked_at)
            found.append(last)
        progress.end()
        stops = loading.print_stops(comparing.sessions)
    if count is None:
        narrate("the data has no rows, so there is nothing to compare")
        return 2
    if form == "json":
        click.echo(as_json({**as_record(count, names), "causes": causes_record(found, recipes)}))
    else:
        _print(count, found, names, recipes, width or terminal_width())
    return 2 if stops or count.nowhere == count.rows else 1 if count.differing_rows else 0


def _print(
    count: ComparisonCount, causes: Sequence[Causes | None], names: Sequence[str], recipes: Sequence[Recipe], width: int
) -> None:
    click.echo(plain(count_lines(count, names, width)), nl=False)
    for number, found in enumerate(causes, 1):
        if found is not None:
            click.echo()
            click.echo(plain(cause_lines(found, recipes[0], recipes[number], width, (0, number))), nl=False)
    for comparison in count.first:
        click.echo(f"\nrow {comparison.row}")
        click.echo(plain(compare_lines(comparison, names, width, differing=True)), nl=False)
    left = count.differing_rows - len(count.first)
    if left:
        click.echo(f"\n… and {left:,} more rows (--show N prints more)")


def as_record(count: ComparisonCount, names: Sequence[str]) -> dict[str, Any]:
    """The count as one record; `columns` of a row are those that differ, with each side's ids and labels (null:
    cut), and the weights of its labels where they are not all 1 (null: no number)."""
    return {
        **attributes(count, "rows", "differing_rows", "differing_tokens"),
        **attributes(count, "labels_differing", "ids_differing", "weights_differing"),
        "one_sided_rows": count.one_sided,
        "evaluation_differing_rows": count.evaluation_differing,
        "failing_rows": count.failing,
        "first_failing": _row(count.gone) if count.gone is not None and count.failing else None,
        "sides": [
            {
                "name": name,
                "trained": count.trained[k],
                "tokens": count.received[k],
                "dropped": count.dropped[k],
                "stopped": count.stopped[k],
                "evaluation_rows": count.evaluation_rows[k],
                "evaluation_tokens": count.evaluation_tokens[k],
            }
            for k, name in enumerate(names)
        ],
        "first": [_row(comparison) for comparison in count.first],
    }


def causes_record(causes: Sequence[Causes | None], recipes: Sequence[Recipe]) -> list[dict[str, Any]]:
    """Why each further side differs from the first: a record a cause, those of most rows first."""
    return [
        {
            "side": number,
            "rows": cause.rows,
            "looked_at": found.looked_at,
            "differing_tokens": cause.tokens,
            "trained": list(cause.trained),
            "tokens": list(cause.received),
            "one_sided_rows": cause.one_sided,
            "first_rows": list(cause.first),
            "does": [does(made, gone) for made, gone in zip(cause.does, cause.gone)],
            "settings": [
                {
                    "name": setting.name,
                    "values": list(setting.values),
                    "goes_along": setting in cause.bound,
                    "keys": [keys_of_setting(setting, recipe) for recipe in (recipes[0], recipes[number])],
                }
                for setting in (*cause.settings, *cause.bound)
            ],
        }
        for number, found in enumerate(causes, 1)
        if found is not None
        for cause in found.found
    ]


def _row(comparison: RowComparison) -> dict[str, Any]:
    return {
        "row": comparison.row,
        "sides": [_side(side) for side in comparison.sides],
        "columns": [
            [_cell(side, a, b) for (a, b), side in zip(column.cells, comparison.sides)]
            for column in comparison.columns
            if column.differs
        ],
    }


def _cell(side: RowSide, start: int, end: int) -> dict[str, Any]:
    made: dict[str, Any] = {"at": start, "ids": list(side.ids[start:end]), "labels": list(side.labels[start:end])}
    if not side.weights:
        return made
    weights = [weight if math.isfinite(weight) else None for weight in side.weights[start:end]]
    return {**made, "weights": weights}


def _side(side: RowSide) -> dict[str, Any]:
    made = {"trained": side.trained, "tokens": side.received, "gone": side.gone}
    return {**made, "split": "evaluation"} if side.evaluates else made


Side = tuple[str, Recipe, OpenedConfig | None]
"""One side of a comparison: the name it is shown by, its recipe, and the trainer's config that this was read from."""


def other_side(text: str, base: Recipe, config: OpenedConfig | None = None) -> Side:
    """What one --with stands for; RecipeError where it names nothing. `config`: that `base` was read from.

    Words separated by spaces: at most one file (a recipe, a trainer's config) or preset, which
    starts anew but keeps the tokenizer, template and columns of `base`; then changes to it:
    tokenizer=NAME, template=NAME|FILE, or any knob=value.
    """
    if os.path.exists(text):
        words = [text]
    else:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise RecipeError(f"--with {text} is not valid", why=str(error).lower()) from error
    recipe, name = base, ""
    for number, word in enumerate(words):
        path, equals, value = word.partition("=")
        if equals and not os.path.exists(word):
            if path == "template":
                recipe = changed(recipe, "render.template", template_of(value))
            else:
                recipe = set_knob(recipe, SHORT.get(path, path), value)
        elif number == 0:
            recipe, config = _start(word, base)
            name = os.path.basename(word) if os.path.exists(word) else recipe.preset
        else:
            raise RecipeError(f"--with {text} names more than one starting point", fix="repeat --with for each side")
    changes = " ".join(word for word in words if "=" in word and not os.path.exists(word))
    return " ".join(part for part in (name, changes) if part) or text, recipe, config


def _start(word: str, base: Recipe) -> tuple[Recipe, OpenedConfig | None]:
    """A recipe file, a trainer's config (returned, too), or a preset on the tokenizer and the data of `base`."""
    if not is_config(word):
        return _onto(preset(word), base, data=True), None
    mapping = {} if is_script(word) else parse_yaml(config_text(word), word)
    if is_script(word) or ("preset" not in mapping and recognise(mapping).trainer is not None):
        chosen = open_config(word, None, None)
        return _onto(chosen.reference.recipe, base, data=False), chosen.opened
    return _onto(starting_recipe(word, None), base, data=False), None


def _onto(recipe: Recipe, base: Recipe, *, data: bool) -> Recipe:
    """What a starting recipe leaves open, from the recipe it is compared with."""
    if recipe.tokenizer.name is None:
        recipe = changed(
            changed(recipe, "tokenizer.name", base.tokenizer.name), "tokenizer.revision", base.tokenizer.revision
        )
    if recipe.render.template == "tokenizer" and base.render.template.startswith(("file:", "builtin:")):
        recipe = changed(recipe, "render.template", base.render.template)
    if data:
        for path in ("data.format", "data.fields", "loss.objective"):
            recipe = changed(recipe, path, get(base, path))
        trainer_of(recipe)  # which refuses an objective that it has not
    return recipe
