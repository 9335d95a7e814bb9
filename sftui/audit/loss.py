"""Whose loss it is: what a mean over the trained tokens of a step, of a batch or of a row makes of each token.

Rows are shuffled, so a share is an expected one. Where a mean goes over the N trained tokens of some rows together, a
token of a row with T of them weighs E[1 / N] = ∫ exp(-uT) E[exp(-uS)] du over u > 0, S being what the other rows have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, lgamma, log
from typing import Any

from sftui.audit.figures import LossFigures, LossShare
from sftui.audit.lengths import best_fit
from sftui.audit.tallies import MOST_NAMES, OTHERS
from sftui.findings import Context

SOURCE_COLUMNS = ("source", "data_source", "dataset", "subset", "domain", "category")
"""Columns that say where a row comes from."""
LONGEST_SOURCE = 80
_COLUMNS = frozenset(SOURCE_COLUMNS)
HEAVIEST = 0.01
"""Of which part of the rows, those with the largest share, the share is reported."""
EXACT, STABLE = 4000, 32
"""Up to so many rows times rows of a mean, rows are drawn without being put back, and up to so many rows where a mean
goes over more than half of them; else as if each were drawn from all others (off by their spread, over the rows)."""
LARGEST = 1e100
"""Weights that add up to more, or cancel each other but for so small a part, say nothing of whose loss it is."""
STEP, ENDS = 0.4, 30.0
"""The trapezoidal rule in log u, from exp(-ENDS) over the largest N to ENDS over the smallest: off by at most 1e-9."""

Amount = int | Fraction
"""Trained tokens, or what their weights add up to."""
Histogram = Mapping[int, int]
"""How many rows have so many tokens."""


@dataclass(frozen=True, slots=True)
class Averaging:
    """How a recipe's loss is averaged: `over` the trained tokens of a `step` or a `batch`, empty where it is not known;
    the `batch` on one device and the `step` (None: not known) count rows, or packs of `limit` tokens."""

    over: str
    batch: int
    step: int | None = None
    pack: str = "none"
    limit: int | None = None

    @classmethod
    def of(cls, context: Context) -> Averaging:
        """As the trainer of a recipe does it."""
        recipe, over = context.recipe, context.traits.averages
        return cls(over, recipe.batch.size, context.step_rows, recipe.pack.strategy, recipe.length.max)

    def rows_in_a_pack(self, lengths: Histogram) -> float:
        """In the mean; 1 where none are packed."""
        if self.pack == "none" or self.limit is None or not lengths:
            return 1.0
        tokens, rows = sum(length * count for length, count in lengths.items()), sum(lengths.values())
        packs = -(-tokens // self.limit) if self.pack == "wrapped" else best_fit(lengths, self.limit)[0]
        return max(1.0, rows / max(1, packs))


class LossTally:
    """How many tokens of which role, source and length are trained in rows of so many trained tokens; merges."""

    def __init__(self) -> None:
        self.rows = Counter[int]()
        self.kinds: dict[str, dict[str, dict[int, Amount]]] = {}

    def add(self, trained: int, counts: Mapping[tuple[str, str], Amount]) -> None:
        """A sequence of so many trained tokens, and how many of them there are of each kind and name."""
        self.rows[trained] += 1
        for (kind, name), count in counts.items():
            self._put(kind, name, trained, count)

    def merge(self, other: LossTally) -> None:
        self.rows.update(other.rows)
        for kind, names in other.kinds.items():
            for name, counts in names.items():
                for trained, count in counts.items():
                    self._put(kind, name, trained, count)

    def _put(self, kind: str, name: str, trained: int, count: Amount) -> None:
        """Later names beyond `MOST_NAMES` of a kind are counted together."""
        try:
            held = self.kinds[kind][name]
        except KeyError:
            names = self.kinds.setdefault(kind, {})
            held = names.setdefault(name if len(names) < MOST_NAMES else OTHERS, {})
        held[trained] = held.get(trained, 0) + count

    def figures(self, averaging: Averaging, lengths: Histogram) -> LossFigures | None:
        """None where nothing is trained, or by weights beyond all use; `lengths`: how many rows have so many tokens."""
        rows = sum(self.rows.values())
        in_pack = averaging.rows_in_a_pack(lengths)
        of_step = None if averaging.step is None else averaging.step * in_pack
        ways = [token_weights(self.rows, among) for among in (of_step, averaging.batch * in_pack, 1.0)]
        sources = [counts for _, counts in sorted(self.kinds.get("file", {}).items())]
        totals = [sum(_weigh(counts, way) for counts in sources) for way in ways]
        if not all(total > 0 for total in totals):
            return None
        even = {trained: trained * times for trained, times in self.rows.items()}
        wholes = [_weigh(even, way) for way in ways]
        per_row = {
            trained: tuple([trained * way[trained] / whole for way, whole in zip(ways, wholes)])
            for trained in sorted(self.rows)
            if trained
        }
        shares = [
            LossShare(kind, name, _real(sum(counts.values())), *[_weigh(counts, w) / t for w, t in zip(ways, totals)])
            for kind, names in self.kinds.items()
            for name, counts in names.items()
        ]
        if not all(abs(part) < LARGEST for one in shares for part in (one.tokens, one.step, one.batch, one.sample)):
            return None
        return LossFigures(
            averaging.over,
            averaging.batch,
            averaging.step,
            in_pack,
            rows,
            self.rows[0],
            unlabelled_batch(rows, self.rows[0], averaging.batch * in_pack),
            per_row,
            tuple(sum(_heaviest(self.rows, per_row, i)) for i in range(len(ways))),
            tuple(sorted(shares, key=_order)),
        )


def source_column(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The column that says where a row comes from, and what it says; empty where there is none."""
    if _COLUMNS.isdisjoint(row):
        return ()
    said = ((column, row.get(column)) for column in SOURCE_COLUMNS)
    names = [(column, name) for column, name in said if isinstance(name, str) and 0 < len(name) <= LONGEST_SOURCE]
    return tuple(names[:1])


def token_weights(rows: Histogram, among: float | None) -> dict[int, float]:
    """What a token of a row with so many trained ones weighs, where a mean goes over `among` rows together (None: over
    so many that each token weighs the same); one row has none beside it."""
    rows = dict(sorted(rows.items()))  # sums of floats come out the same in whatever order rows came
    count, found = sum(rows.values()), dict.fromkeys((trained for trained in rows if trained), 0.0)
    if among is None or among >= count or not found:
        return dict.fromkeys(found, 1 / (sum(trained * times for trained, times in rows.items()) or 1))
    if among <= 1:
        return {trained: 1 / trained for trained in found}
    others, fits = among - 1, count * among <= EXACT and (2 * among <= count or count <= STABLE)
    exact = fits and float(among).is_integer()
    at, end = -ENDS - log(max(found) * among), log(ENDS / min(found))
    while at < end:
        u = exp(at)
        chances = {trained: exp(-u * trained) for trained in rows}
        beside = _without(chances, rows, int(others)) if exact else _beside(chances, rows, others)
        for trained in found:
            found[trained] += STEP * u * chances[trained] * beside[trained]
        at += STEP
    return found


def _beside(chances: Mapping[int, float], rows: Histogram, others: float) -> dict[int, float]:
    """The mean of exp(-uS), where each of the others is drawn from all rows but this one."""
    count, total = sum(rows.values()), sum(chances[trained] * times for trained, times in rows.items())
    return {trained: max(0.0, (total - own) / (count - 1)) ** others for trained, own in chances.items()}


def _without(chances: Mapping[int, float], rows: Histogram, others: int) -> dict[int, float]:
    """The same where no row is drawn twice: means of products of `others` different rows, first of all rows, each
    row's own then taken out."""
    means, count = [1.0] + [0.0] * others, 0
    for trained, times in rows.items():
        for _ in range(times):
            count += 1
            for j in range(min(count, others), 0, -1):
                means[j] = (means[j] * (count - j) + chances[trained] * means[j - 1] * j) / count
    found = {}
    for trained, own in chances.items():
        left = 1.0
        for j in range(1, others + 1):
            left = (means[j] * count - own * left * j) / (count - j)
        found[trained] = left
    return found


def unlabelled_batch(rows: int, unlabelled: int, among: float) -> float:
    """How likely none of `among` rows, drawn without being put back, has a trained token."""
    if unlabelled < among or not unlabelled:
        return 0.0
    ways = [lgamma(count + 1) - lgamma(count - among + 1) for count in (unlabelled, rows)]
    return exp(ways[0] - ways[1])


def _weigh(counts: Mapping[int, Amount], way: Mapping[int, float]) -> float:
    return float(sum(_real(count) * way[trained] for trained, count in sorted(counts.items()) if trained))


def _real(amount: Amount) -> float:
    """The nearest float; infinite where there is none."""
    try:
        return float(amount)
    except OverflowError:
        return inf


def _order(one: LossShare) -> tuple[int, str, float, str]:
    """Roles, files, what columns say, each with the most tokens first; then lengths."""
    if one.kind == "length":
        return 3, "", int(one.name[1:].replace("k", "000")), ""
    return {"role": 0, "file": 1}.get(one.kind, 2), one.kind, -one.tokens, one.name


def _heaviest(rows: Histogram, per_row: Mapping[int, tuple[float, ...]], way: int) -> Iterator[float]:
    """What each of the heaviest rows adds, those of one count of tokens together."""
    left = max(1, round(HEAVIEST * sum(rows.values())))
    for trained in sorted(per_row, key=lambda one: -per_row[one][way]):
        taken = min(left, rows[trained])
        yield taken * per_row[trained][way]
        left -= taken
