"""Why two open sides of a comparison differ: their rows prepared again with settings of one in the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from sftui.comparison import RowComparison, compare_prepared, compare_row, evenly
from sftui.comparison.causes import DRAWN, Causes, Setting, Switch, collect, explained, settings_between, switched
from sftui.errors import SftuiError
from sftui.model import Inspection, Row
from sftui.session.ready import Ready, under, with_tokenizer
from sftui.session.splitting import PREPARED, settle_split, unsure_of
from sftui.session.versions import tokenizer_key
from sftui.trainers.versions import reference_version

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
