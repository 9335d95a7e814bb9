"""The waste of open data: its sizes in one pass, the limits and strategies of its trainer, and a line for each, whose
cuts are held against the trainer's own on some rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sftui.audit.lengths import quantiles
from sftui.audit.waste import GROUPED, MOST_ROWS, CutRule, RowSizes, WasteLine, WasteTable, cut_rules, waste_line
from sftui.errors import RecipeError, SftuiError
from sftui.model import Inspection
from sftui.pipeline import as_problem
from sftui.recipe import Recipe, changed, get
from sftui.recipe_io import knob_at
from sftui.session.opened import held_out_by, settle_split
from sftui.session.ready import Ready, ready_under
from sftui.text import many
from sftui.trainers import preset, trainer_of
from sftui.trainers.own_config import choices_of, losses_of
from sftui.trainers.training import table_of

if TYPE_CHECKING:
    from sftui.tokens.shortcuts.bulk import Bulk

UNLIMITED = 1 << 30
"""A length.max that cuts nothing, for trainers that need one."""
QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)
MOST_LIMITS = 12
"""Limits that are looked at where none are named."""
MOST_LIMIT = 1 << 22
"""The longest limit that is looked at: collators make rows of it."""
EACH = 3
"""Rows of each kind on which a rule is held against the trainer."""


def sizes_of(ready: Ready, engine: Bulk | None = None) -> Iterator[RowSizes]:
    """The sizes of all rows, as far as they are known: given again and again until all are in; `engine` as in
    `Ready.inspect_many`.

    SftuiError where there are more than can be held, or none reaches the trainer, and for pairs.
    """
    if ready.recipe.paired:
        what, why = "sftui does not work out what limits cost pairs", "a batch cuts and pads both sides"
        raise SftuiError(what, why=why, fix="see what one cuts with `sftui check --max-length N`")
    whole = ready_under(ready, unlimited(ready.recipe))
    sizes, trainer = RowSizes(), trainer_of(ready.recipe)
    for found in whole.inspect_many(whole.rows(), spans=False, engine=engine):
        if len(sizes.tokens) >= MOST_ROWS:
            raise SftuiError(f"there are more than {MOST_ROWS:,} rows", fix="take fewer with --where")
        if found.row.left_out is None:
            sizes.add(found, trainer.takes_next(found))
        yield sizes
    if sizes.rows and not sizes.tokens:
        raise SftuiError("no row reaches the trainer, so no limit costs anything", fix="`sftui check` says why")
    yield sizes


def unlimited(recipe: Recipe) -> Recipe:
    """The recipe without packing, under which no row is cut."""
    plain = _with(recipe, dict(packing_changes(recipe, "none")))
    return plain if plain.length.max is None else changed(plain, "length.max", UNLIMITED)


def limits_of(sizes: RowSizes, recipe: Recipe) -> tuple[int, ...]:
    """The limits to look at: that of the recipe, powers of two around the rows, the longest row and some quantiles."""
    found = {part: max(length, 1) for part, length in quantiles(Counter(sizes.tokens), QUANTILES).items()}
    own = {recipe.length.max} if recipe.length.max is not None else set()
    if not found:
        return tuple(min(limit, MOST_LIMIT) for limit in own)
    powers = [1 << bits for bits in range(5, 31) if found[0.5] // 2 < 1 << bits < found[1.0]]
    wanted = {*own, found[1.0], *powers[-(MOST_LIMITS - 4) :], found[0.95], found[0.99]}
    return tuple(sorted({min(limit, MOST_LIMIT) for limit in wanted}))


def strategies_of(recipe: Recipe) -> tuple[str, ...]:
    """What the recipe's trainer can be told to do, its own first: values of pack.strategy, and `GROUPED`."""
    trainer, packings = trainer_of(recipe), choices_of(recipe, knob_at("pack.strategy", recipe))
    key = table_of(recipe.preset)["settings"].get("sampling", {}).get("key")
    groups = trainer.traits.training_arguments is not None or key == "group_by_length"
    found = ["none", *([GROUPED] if groups else []), *(one for one in packings if one != "none")]
    return tuple(sorted(found, key=lambda one: one != recipe.pack.strategy))


def packing_changes(recipe: Recipe, strategy: str) -> tuple[tuple[str, Any], ...]:
    """The knobs that a strategy sets in a recipe, as reading the trainer's own key for it sets them."""
    packing, usual = trainer_of(recipe).traits.packing, preset(recipe.preset)
    strategy = "none" if strategy == GROUPED else strategy
    if strategy == recipe.pack.strategy:
        return ()
    apart = dict(packing.separate)
    wanted = {"pack.strategy": strategy, "pack.isolate": usual.pack.isolate, "batch.flatten": usual.batch.flatten}
    if strategy in packing.separates or strategy == apart.get("pack.strategy"):
        kept = {**wanted, "pack.isolate": True, **apart, "pack.strategy": strategy}
        lost = [losses_of(_with(recipe, knobs)) for knobs in (kept, wanted)]
        wanted = kept if len(lost[0]) <= len(lost[1]) else wanted
    return tuple((path, value) for path, value in wanted.items() if get(recipe, path) != value)


def _with(recipe: Recipe, knobs: Mapping[str, Any]) -> Recipe:
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    return recipe


def waste_table(
    ready: Ready, sizes: RowSizes, limits: Sequence[int] = (), strategies: Sequence[str] = ()
) -> WasteTable:
    """The table before its lines are worked out; where none are named of the limits and strategies that fit.

    RecipeError for a strategy that the trainer has not, or a limit that is out of range.
    """
    known, title = strategies_of(ready.recipe), trainer_of(ready.recipe).title
    for strategy in strategies:
        if strategy not in known:
            raise RecipeError(f"{title} has no strategy `{strategy}`", fix=f"it has {', '.join(known)}")
    if not all(1 <= limit <= MOST_LIMIT for limit in limits):
        raise RecipeError(f"a length limit is from 1 to {MOST_LIMIT:,} tokens", fix="give e.g. 1024,2048")
    never = len(sizes.rows) - len(set(sizes.owners))
    notes = [
        f"batches of {ready.recipe.batch.size:,} on one device, the last one whether full or not",
        "rows are in dataset order; if the trainer shuffles, batches combine different rows",
        *([f"{many(never, 'row')} never reach the trainer, whatever the limit"] if never else []),
    ]
    chosen = tuple(sorted(set(limits))) or limits_of(sizes, ready.recipe)
    return WasteTable(
        len(sizes.rows),
        len(sizes.starts),
        sum(sizes.tokens),
        max(sizes.tokens, default=0),
        tuple(dict.fromkeys(strategies)) or known,
        chosen,
        notes=tuple(notes),
    )


def waste_lines(ready: Ready, sizes: RowSizes, table: WasteTable) -> Iterator[Callable[[], WasteLine]]:
    """What works out each line of a table, with no row or template, so that a thread may do it."""
    orders: dict[object, RowSizes] = {}
    for strategy in table.strategies:
        for limit in table.limits:
            changes = (*packing_changes(ready.recipe, strategy), ("length.max", limit))
            recipe = _with(ready.recipe, dict(changes))
            changes = tuple((path, value) for path, value in changes if get(ready.recipe, path) != value)
            try:
                found = _line(ready, ready_under(ready, recipe), sizes, orders, strategy == GROUPED)
            except SftuiError as error:
                yield partial(_unknown, strategy, limit, changes, error)
            else:
                yield partial(_finished, found, strategy, limit, changes)


def _finished(
    found: Callable[[], WasteLine], strategy: str, limit: int, changes: tuple[tuple[str, Any], ...]
) -> WasteLine:
    try:
        return replace(found(), changes=changes)
    except SftuiError as error:
        return _unknown(strategy, limit, changes, error)


def _unknown(strategy: str, limit: int, changes: tuple[tuple[str, Any], ...], error: SftuiError) -> WasteLine:
    return WasteLine(strategy, limit, changes, unknown=as_problem(error).sentence())


def _line(
    ready: Ready, other: Ready, sizes: RowSizes, orders: dict[object, RowSizes], grouped: bool
) -> Callable[[], WasteLine]:
    recipe, limit = other.recipe, other.recipe.length.max or 0
    held, trainer = held_out_by(recipe), trainer_of(recipe)
    if held not in orders:
        orders[held] = sizes.in_order(_training(ready, other, sizes))
    sizes = orders[held]
    if recipe.length.over == "error" and (over := sum(count > limit for count in sizes.tokens)):
        stops = f"{trainer.title} stops at the first of {many(over, 'longer row')}"
        raise RecipeError(stops, fix="raise length.max, or set length.over")
    rule = _proven(other, sizes, limit)
    return partial(waste_line, sizes, recipe, trainer, other.tools, rule, grouped=grouped)


def _training(ready: Ready, other: Ready, sizes: RowSizes) -> Sequence[int] | None:
    """The rows that train under another recipe, in its trainer's order; None: all, in that of the dataset."""
    held = held_out_by(other.recipe)
    drawn = held is not None and held.drawn and held != held_out_by(ready.recipe)
    # those of others go by what is dropped, of which one limit is asked
    split = settle_split(other if drawn else ready)
    if held is None or split.training is not None:
        return split.training if held is not None else None
    return [row for row in sizes.rows if row not in split.evaluation] if split.evaluation else None


def _proven(ready: Ready, sizes: RowSizes, limit: int) -> CutRule:
    """The rule that cuts some rows as their trainer does; RecipeError where none does."""
    trial = {sizes.owners[number] for number in _trial(sizes, limit)}
    tried = [(at, ready.inspect_row(ready.row(sizes.rows[at]), spans=False)) for at in sorted(trial)]
    for rule in cut_rules(ready.recipe):
        if all(_as_cut(sizes, sizes.sequences(at), found, rule, limit) for at, found in tried):
            return rule
    title = trainer_of(ready.recipe).title
    problem = next((found.problem for _, found in tried if found.problem is not None), None)
    if problem is not None:
        raise RecipeError(problem.what, why=problem.why, fix=problem.fix)
    raise RecipeError(
        f"{title} cuts these rows by more than their lengths", fix="set it as length.max, and see the audit"
    )


def _trial(sizes: RowSizes, limit: int) -> list[int]:
    """Sequences of every kind that a rule may cut otherwise: long, short, about as long as the limit, with the first
    answer behind it, with several answers, without one."""
    counts, until = np.array(sizes.tokens), np.array(sizes.until, np.int64)
    answers = np.diff(until, prepend=0)
    first = np.array([*sizes.starts, 0])[until - answers]
    kinds = (counts > limit, counts < limit - 1, abs(counts - limit) < 2, (answers > 0) & (first >= limit - 1),
             (counts > limit) & (answers > 1), answers == 0)  # fmt: skip
    found = map(np.flatnonzero, kinds)
    return sorted({int(number) for kind in found for number in kind[:: max(len(kind) // EACH, 1)][:EACH]})


def _as_cut(sizes: RowSizes, numbers: range, found: Inspection, rule: CutRule, limit: int) -> bool:
    """Whether a rule leaves of a row what its trainer leaves."""
    if found.labels is None:
        return False
    parts = rule.parts(sizes, limit, numbers)
    begins, fewer = (np.array(one)[parts.owners] for one in (sizes.begins, sizes.fewer))
    moved = begins[parts.of]
    kept = tuple(zip((parts.first + moved).tolist(), (parts.stop + moved).tolist()))
    left = (parts.lengths() - fewer).tolist()
    if found.example is None:
        return not left
    return kept == found.labels.kept and left == [example.size for example in found.examples]
