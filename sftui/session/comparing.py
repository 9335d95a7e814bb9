"""A dataset under two or more recipes: one session a recipe, row by row side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from sftui.comparison import ComparisonCount, RowComparison, compare_prepared, evenly
from sftui.model import Row
from sftui.recipe import Recipe
from sftui.session.matching import matching
from sftui.session.opened import OpenData, Split
from sftui.session.options import OpenOptions
from sftui.session.ready import Ready, open_data, prove_rows, tokenized, with_tokenizer
from sftui.session.splitting import held_out_by, settle_split, unsure_of
from sftui.session.versions import tokenizer_key
from sftui.sources import Source
from sftui.tokens.loading.probes import probe_strings
from sftui.trainers.config import OpenedConfig
from sftui.trainers.versions import running_version

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
