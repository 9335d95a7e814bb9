"""A dataset under two or more recipes: one session a recipe, row by row side by side, and why two of
them differ: rows prepared again with settings of one in the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from sftui.comparison import ComparisonCount, RowComparison, compare_prepared, compare_row, evenly
from sftui.comparison.causes import DRAWN, Causes, Setting, Switch, collect, explained, settings_between, switched
from sftui.errors import SftuiError
from sftui.model import Inspection, Row
from sftui.recipe import Recipe
from sftui.session.facets import matching
from sftui.session.opened import PREPARED, OpenData, Split, held_out_by, settle_split, unsure_of
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, prove_rows, tokenized, under, with_tokenizer
from sftui.session.versions import tokenizer_key
from sftui.sources import Source
from sftui.tokens.loading.probes import probe_strings
from sftui.trainers.config import OpenedConfig
from sftui.trainers.versions import reference_version, running_version

Way = Callable[["OpenOptions", Recipe], OpenData]
"""How data is opened under a recipe."""
Loading = Callable[[OpenData], OpenData]
"""How its tokenizer is loaded."""


def load_proven(opened: OpenData) -> OpenData:
    """Load the proven tokenizer and hold it against the first rows."""
    return prove_rows(tokenized(opened))


def open_sides(
    options: OpenOptions,
    recipes: Sequence[Recipe],
    configs: Sequence[OpenedConfig | None] | None = None,
    open_data: Way = open_data,
    load: Loading = load_proven,
) -> RecipeComparison:
    """Open the data and load every tokenizer, in these ways; tokenizers of one name are loaded once. SftuiError where a
    recipe cannot be followed.

    `configs` are those that the recipes were read from, where one was; without them all are of `options`.
    """
    sides: list[Ready] = []
    with ExitStack() as failing:
        for recipe, config in zip(recipes, configs or (options.config,) * len(recipes)):
            own = replace(options, recipe=recipe, config=config)
            opened, whose = open_data(own, recipe), recipe.preset if sides else ""
            failing.callback(opened.close)
            opened.accepted(whose)
            wanted = tokenizer_key(recipe)
            alike = next((side for side in sides if tokenizer_key(side.recipe) == wanted), None)
            opened = load(opened) if alike is None else with_tokenizer(opened, alike.tokenizer)
            sides.append(opened.ready(whose) if sides else matching(opened.ready(whose)))
        failing.pop_all()
    return RecipeComparison(sides)


class RecipeComparison:
    """The rows of the first recipe's data under every recipe."""

    def __init__(self, sessions: Sequence[Ready]) -> None:
        self.sessions = tuple(sessions)
        self.unsure: tuple[int, ...] = ()

    def index(self) -> None:
        """Find every row of the first recipe's data."""
        _index(self.sessions[0].source)

    def settle(self, most: int | None) -> tuple[Split, ...]:
        """Find out which rows each side sets aside for evaluation (`most`: see `split_of`)."""
        for session in self.sessions[1:]:
            if held_out_by(session.recipe) is not None and self.sessions[0].count_now() is not None:
                _index(session.source)  # each has the data open for itself
        splits = tuple(settle_split(session, most) for session in self.sessions)
        self.unsure = unsure_of(splits)
        return splits

    def rows(self, limit: int | None = None, sample: int | None = None) -> Iterator[Row]:
        """The rows to compare (see `chosen_rows`)."""
        rows, only = chosen_rows(self.sessions[0].source, limit, sample), self.sessions[0].only
        return rows if only is None else filter(only.add, rows)

    def total(self, limit: int | None, sample: int | None) -> int | None:
        """How many rows that will be, where it is known."""
        figures = (self.sessions[0].count_now(), limit, sample)
        return min((figure for figure in figures if figure is not None), default=None)

    def compare(self, row: Row, *, align_equal: bool = True) -> RowComparison:
        """One row under every recipe, aligned."""
        sides = [partial(session.inspect_row, row, text=True) for session in self.sessions]
        return compare_prepared(sides, align_equal=align_equal, unsure=self.unsure)

    def count(
        self, rows: Iterable[Row], keep: int = 10, differing: MutableSequence[int] | None = None
    ) -> Iterator[ComparisonCount]:
        """The count after each row; the numbers of those that differ go to `differing`."""
        counted = ComparisonCount(keep=keep)
        for row in rows:
            found = self.compare(row, align_equal=False)
            if found.differs and differing is not None:
                differing.append(row.index)
            counted = counted.plus(found)
            yield counted

    def close(self) -> None:
        for session in self.sessions:
            session.close()


def _index(source: Source) -> None:
    while not source.index_more(1.0):
        pass


def chosen_rows(source: Source, limit: int | None, sample: int | None) -> Iterator[Row]:
    """All rows of a source, its first `limit`, or `sample` of those at even distances, the first one among them."""
    if sample is None:
        for number, row in enumerate(source.rows()):
            if limit is not None and number >= limit:
                return
            yield row
        return
    _index(source)
    count = source.count().rows if limit is None else min(limit, source.count().rows)
    yield from map(source.row, evenly(count, sample))


def tokenized_otherwise(sessions: Sequence[Ready], names: Sequence[str]) -> tuple[str, ...]:
    """Which sides have other ids than the first because another transformers loads the same tokenizer: a sentence each.

    Told from the probe strings, so that a version that changes nothing here is not blamed.
    """
    found = []
    first = sessions[0].tokenizer
    for session, name in zip(sessions[1:], names[1:]):
        other = session.tokenizer
        if first is other:
            continue
        same = tokenizer_key(session.recipe)[:3] == tokenizer_key(sessions[0].recipe)[:3]
        a, b = (tokenizer.facts.transformers or running_version() for tokenizer in (first, other))
        if not same or a == b or first.facts.random or other.facts.random:
            continue
        probes = probe_strings(first.facts.special_tokens.values())
        both = [[one.encode_batch(probes, special) for one in (first, other)] for special in (False, True)]
        differ = sum(any(x[i].ids != y[i].ids for x, y in both) for i in range(len(probes)))
        if differ:
            found.append(
                f"{name} tokenizes with transformers {b}, {names[0]} with {a}, which load this tokenizer"
                f" differently: {differ} of {len(probes)} probe strings get different ids, so rows may too"
            )
    return tuple(found)


MOST_ROWS = 200
"""Of so many differing rows, at even distances, the causes are looked for."""
MOST_WAYS = 64
"""So many combinations of settings are tried; each is the data opened once more."""


def chosen(rows: Sequence[int], most: int = MOST_ROWS) -> list[int]:
    """At most so many of some rows, at even distances, the first one among them."""
    return [rows[number] for number in evenly(len(rows), most)]


def explain(one: Ready, other: Ready, rows: Sequence[int], of: int) -> Iterator[Causes]:
    """The causes after each of these rows; `of` is how many rows differ in all."""
    trial = _Trial(one, other)
    settings = settings_between(one.recipe, other.recipe, reference_version)
    drawn = tuple(side.tools.tokenizer.facts.random for side in (one, other))
    by_chance = Switch(frozenset({DRAWN})) if any(drawn) else None
    if by_chance:  # no setting can be told apart from what another draw gives
        settings = (Setting(DRAWN, (drawn[0] or None, drawn[1] or None)),)
    names = [setting.name for setting in settings]
    known: list[Switch] = []

    def found() -> Iterator[tuple[RowComparison, Switch | None]]:
        for index in rows:
            row = one.row(index)
            first = one.inspect_row(row, text=True)
            why = by_chance or explained(names, partial(trial.differs, row, first), known)
            if why is not None and why not in known:
                known.append(why)
            yield trial.placed(row, first), why

    for number, causes in enumerate(collect(found(), settings), 1):
        yield Causes(causes, number, of)


class _Trial:
    """The first side, and the second with settings of the first, each combination opened once."""

    def __init__(self, one: Ready, other: Ready) -> None:
        self._one, self._other = one, other
        self._ways: dict[frozenset[str], Ready | None] = {}

    def differs(self, row: Row, first: Inspection, names: frozenset[str]) -> RowComparison | None:
        """The row under the first recipe next to the second with these settings of the first; None where that recipe
        cannot be followed."""
        if names not in self._ways and len(self._ways) < MOST_WAYS:
            self._ways[names] = self._opened(names)
        way = self._ways.get(names)
        if way is None:
            return None
        unsure = unsure_of(side.split for side in (self._one, way))
        sides = (lambda spans: first, partial(way.inspect_row, row, text=True))
        return compare_prepared(sides, align_equal=False, unsure=unsure)

    def placed(self, row: Row, first: Inspection) -> RowComparison:
        """One row of both sides, with who wrote each token of either."""
        made = [first, self._other.inspect_row(row, text=True)]
        return compare_row(made, align_equal=False, unsure=unsure_of(side.split for side in (self._one, self._other)))

    def _opened(self, names: frozenset[str]) -> Ready | None:
        try:
            recipe = switched(self._one.recipe, self._other.recipe, names, reference_version)
            opened = under(self._other, recipe)
            if tokenizer_key(recipe) == tokenizer_key(self._one.recipe):
                opened = with_tokenizer(opened, self._one.tokenizer)
            way = opened.ready()
            settle_split(way, PREPARED)
        except SftuiError:
            return None
        return way
