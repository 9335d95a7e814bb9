"""A dataset of any shape as messages: what is to be done, the config that reads the new file, and whether the trainer
is given the same by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sftui.errors import ConversationError
from sftui.exports.plan import RECIPE_FILE, ExportPlan, plan_export
from sftui.exports.prepared import ExportInput
from sftui.findings import CODES
from sftui.findings.model import Consequence
from sftui.findings.rule import TO_MESSAGES
from sftui.model import Inspection, Row
from sftui.pipeline import detect
from sftui.recipe import Recipe, changed
from sftui.recipe_io import parse_yaml
from sftui.repairs.run import RepairPlan, layout_after, rows_after
from sftui.repairs.to_messages import target_of, to_messages
from sftui.session.opened import OpenData, few
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, tokenizer_of, under
from sftui.session.repairing import conversion_way, reading_messages, session_plan
from sftui.trainers import hand_written, preset, trainer_named
from sftui.trainers.own_config import can_name
from sftui.trainers.recognise import recognise
from sftui.trainers.training import leaves


@dataclass(frozen=True)
class Conversion:
    """What makes messages of open data: `plan` with all other repairs, `sample` the first rows after it. `to` is the
    preset of the trainer that is to read them, `chosen` the repairs by their names."""

    opened: OpenData
    to: str
    chosen: tuple[str, ...]
    plan: RepairPlan
    sample: tuple[Row, ...]
    reader: Recipe
    """That of the trainer that is to read them."""

    @property
    def recipe(self) -> Recipe:
        """What reads the rows as converted, by the trainer that read them before; preferences by the one that will."""
        requested = self.opened.requested
        return reading_messages(requested if requested.supervised else self.reader)


def conversion(opened: OpenData, to: str | None, chosen: Sequence[str], without: Sequence[str] = ()) -> Conversion:
    """The conversion of open data for the trainer `to` (None: the recipe's), with other repairs; ConversationError
    where none of its rows can be converted, or the trainer would not read them."""
    recipe = opened.requested
    other = to is not None and preset(to).trainer != recipe.trainer
    reader = changed(preset(to), "loss.objective", recipe.loss.objective) if other and to is not None else recipe
    before = detect(opened.stored.sample, recipe)
    way = conversion_way(opened.stored, recipe, before, reader, without)
    if way.refused is not None:
        raise ConversationError(way.refused.what, why=way.refused.why, fix=way.refused.fix)
    names = (TO_MESSAGES, *(name for name in chosen if name != TO_MESSAGES))
    repair = to_messages(way, target_of(reader), without)
    plan = session_plan(tokenizer_of(opened), names, conversion=repair)
    sample = rows_after(opened.stored.sample, plan, layout_after(plan, before))
    return Conversion(opened, to or recipe.preset, names, plan, sample, reader)


# — the config that reads it —


def plan_config(made: Conversion, out: Path, folder: Path) -> ExportPlan:
    """The files by which the trainer reads the converted rows from `out`: its config, or the recipe alone for a loop
    written by hand. ExportError where it would stop at them."""
    read = detect(made.sample, made.recipe)
    prepared = replace(made.opened.prepared(), detected=read, sample=few(made.sample), repairs=made.chosen)
    return plan_reading(made.opened.requested, made.to, made.opened.options, prepared, out, folder)


def plan_reading(
    recipe: Recipe, to: str, options: OpenOptions, prepared: ExportInput, out: Path | None, folder: Path
) -> ExportPlan:
    """The files by which the trainer `to` reads a file of rows (None: the data itself) under a recipe; ExportError."""
    config = prepared.config
    if config is not None and out is not None:
        named = parse_yaml(config.text, config.path)
        if not can_name(config.trainer, named, str(out), config.chosen):
            config = None  # sftui cannot write there which data is meant, and a config of its own can say it
    prepared = replace(prepared, config=config, repaired=None if out is None else str(out.absolute()))
    trainer = preset(to).trainer
    target = "recipe" if trainer in hand_written() or not trainer_named(trainer).traits.config else to
    return plan_export(target, str(folder), recipe, options.base or options.recipe, prepared)


def opens_with(
    plan: ExportPlan, to: str, meant: Recipe, out: Path, config: str = "", *, waived: bool = False
) -> dict[str, Any]:
    """The options that open rows as the planned files say, by their names; `config` is the trainer's own that was
    opened. What is `waived` stands in the recipe alone."""
    files = {file.path.name: file for file in plan.files}
    recipe = files.pop(RECIPE_FILE, None)
    main = next((one for name, one in files.items() if name.endswith((".yaml", ".yml")) or name == config), None)
    by_recipe = {"data": (str(out),), **({} if recipe is None else {"recipe_file": str(recipe.path)})}
    name = trainer_named(to).traits.data_name
    if main is None or waived or (name and out.name != name and recipe is not None):
        return by_recipe
    parsed = parse_yaml(main.content, main.path.name)
    known = isinstance(parsed, Mapping) and recognise(parsed).trainer == preset(to).trainer
    tokenizer = meant.tokenizer.name
    there = tokenizer is None or any(value == tokenizer for _, value in leaves(parsed))
    given: dict[str, Any] = {} if there else {"tokenizer": tokenizer}
    return {"data": (str(main.path),), **given, **({} if known else {"trainer": to})}


# — is it the same? —


@dataclass(frozen=True, slots=True)
class Agreement:
    """How the first rows come to the trainer before and after: of `rows` that it could prepare both times, how many
    have the `same` ids and labels, and how many at least the same `ids`; `gained` are prepared only after."""

    rows: int = 0
    same: int = 0
    ids: int = 0
    gained: int = 0

    def sentence(self) -> str:
        """What there is to say of it, in one sentence; "" where no row was prepared."""
        first = "first rows" if self.rows + self.gained > 1 else "first row"
        gained = f"of the first rows {self.gained:,} can be read only now" if self.gained else ""
        if not self.rows:
            return gained
        if self.same == self.rows:
            keep = "keeps its" if first == "first row" else "keep their"
            compared = f"the {first} that could be prepared before ({self.rows:,}) {keep} ids and labels"
        elif self.ids == self.rows:
            differing = f"{self.rows - self.same:,} of {self.rows:,}"
            compared = f"the {first} keep their ids, but {differing} train different tokens"
        else:
            compared = (
                f"{self.rows - self.ids:,} of {self.rows:,} {first} have different ids from before, because they were"
                " read differently"
            )
        return f"{compared}; {gained}" if gained else compared


def refuse_stuck(made: Conversion) -> None:
    """ConversationError where the conversion changes none of the first rows, and the trainer that is to read them can
    render none of them."""
    recipe, to = made.opened.requested, preset(made.to)
    if recipe.trainer != to.trainer:
        recipe = replace(to, tokenizer=recipe.tokenizer, render=replace(to.render, template=recipe.render.template))
    after = under(made.opened, reading_messages(recipe), ())
    if not isinstance(after, Ready) or any(row.repairs for row in made.sample):
        return
    whys: list[str] = []
    for row in made.sample:
        one = after.inspect_row(row)
        garbled = (got.sentence for got in after.found(one) if CODES[got.code].leads_to is Consequence.GARBLED)
        whys.append(next(garbled, one.problem.sentence() if one.problem else ""))
    if whys and all(whys):
        raise ConversationError(
            "the rows are already messages, but none of the first rows can be rendered",
            why=f"row {made.sample[0].index}: {whys[0]}",
            fix="run `sftui check` to see what would help",
        )


def alike(made: Conversion) -> Agreement:
    """The first rows under the recipe as they stand, and as converted; nothing where there is no tokenizer, or where
    they are for another trainer."""
    opened = made.opened
    other = preset(made.to).trainer != opened.requested.trainer
    if not isinstance(opened, Ready) or other or made.plan.regroup is not None:
        return Agreement()
    after = under(opened, opened.requested, made.chosen)
    if not isinstance(after, Ready):
        return Agreement()
    converted = {row.index: row for row in made.sample}
    pairs = [
        (opened.inspect_row(row, spans=False), after.inspect_row(converted[row.index], spans=False))
        for row in opened.stored.sample
        if row.index in converted
    ]
    both = [(a, b) for a, b in pairs if a.tokens is not None and b.tokens is not None]
    ids = [(a, b) for a, b in both if _ids(a) == _ids(b)]
    return Agreement(
        len(both),
        sum(_labels(a) == _labels(b) for a, b in ids),
        len(ids),
        sum(a.tokens is None and b.tokens is not None for a, b in pairs),
    )


def _ids(found: Inspection) -> list[tuple[int, ...] | None]:
    return [side.tokens.input_ids if side.tokens is not None else None for side in found.sides]


def _labels(found: Inspection) -> list[tuple[int, ...] | None]:
    return [side.labels.labels if side.labels is not None else None for side in found.sides]
