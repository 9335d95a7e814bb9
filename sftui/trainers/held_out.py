"""Which rows train, in which order, and which are set aside, where a config asks its trainer to split, draw or shuffle.

The draws are those of `datasets`: Dataset.shuffle and Dataset.train_test_split permute with
numpy.random.default_rng(seed), and a share counts rows upwards (datasets 4 and 5, arrow_dataset.py). Without a seed
Dataset.shuffle takes one of numpy's global state, which no run repeats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

from sftui.model import Inspection
from sftui.values import value_class


@value_class
class HeldOut:
    """A split as the config asks for it: `key` and its value, by the seed of the run, which may be absent (`seed`
    None).

    `size` is a share below 1 or a number of rows. `drawn`: the evaluation rows are drawn from the rows as they are
    read, of which there are at most `most` (llamafactory 0.9.5, data/data_utils.py split_dataset). Else they are the
    last of the rows that are left when too long and too short ones are dropped, in the order of the dataset or, with
    `shuffled`, of the shuffle before (axolotl 0.19.0, utils/data/shared.py merge_datasets and
    create_train_validation_split, which is asked not to shuffle).
    """

    key: str
    size: float
    seed: int | None
    drawn: bool
    shuffled: bool = True
    most: int | None = None
    unsure: str = ""
    """Why it is not known which rows, where the seed is."""
    packs: bool = True
    """Whether they are packed where those that train are."""
    off: ClassVar[Any] = 0
    """The value of `key` with which nothing of it is done."""
    seed_key: ClassVar[str] = "seed"
    packs_again: ClassVar[bool] = False
    """Whether the packs are shuffled once more, by the same seed."""
    sifted: ClassVar[bool] = False
    """Whether rows that the trainer cannot read are gone before the draw."""

    def unreadable(self, early: Inspection) -> bool:
        """Whether a row, read as far as its conversation, is one of those."""
        return early.problem is not None

    @property
    def undone(self) -> dict[str, Any]:
        """The keys with which nothing of it is done."""
        return {self.key: self.off}

    @property
    def doubt(self) -> str:
        """Why it is not known which rows, where it is not."""
        unseeded = self.seed is None and (self.drawn or self.shuffled)
        said = f"without `{self.seed_key}`, each run draws different rows (set it)" if unseeded else ""
        return " and ".join(filter(None, (self.unsure, said)))

    @property
    def unmarked(self) -> str:
        """What is not told apart where that is so; "" where no row is to be marked."""
        return f"rows held out for evaluation ({self.key}) are not marked"

    def sentence(self, title: str) -> str:
        """What is set aside, for the notes on a recipe."""
        what = f"{self.size:.4g} of the rows" if self.size < 1 else f"{int(self.size):,} rows"
        by = "without a seed" if self.seed is None else f"with seed {self.seed}"
        last = "the last remaining ones" + f", after a shuffle {by}" * self.shuffled
        how = f"drawn {by}" if self.drawn else last
        which = f"; sftui does not know which ({self.doubt}), so figures cover all rows" if self.doubt else ""
        return f"{title} holds out {what} for evaluation ({self.key}), {how}{which}"

    def order(self, rows: int) -> tuple[list[int], list[int]]:
        """The rows that train and those that evaluate, of so many and in the order of the draw; rows that are not read
        come last. A row in neither is left out.

        Dataset.train_test_split takes the first of a permutation for the test part and the rest, in that order, for the
        training part.
        """
        read = min(rows, self.most) if self.most is not None else rows
        order = permuted(self.seed, read)
        aside = count_of(self.size, read)
        return [*order[aside:], *range(read, rows)], order[:aside]


class SampledRows(HeldOut):
    """Rows drawn to train (`size` of them) from all: the others are not read (verl 0.9.1,
    utils/dataset/multiturn_sft_dataset.py, which draws with numpy.random.default_rng)."""

    off, seed_key = -1, "data.seed"

    @property
    def unmarked(self) -> str:
        return f"the drawn rows ({self.key}) cannot be distinguished from those that are not read"

    def sentence(self, title: str) -> str:
        by = f"with seed {self.seed}" if self.seed is not None else "without a seed"
        which = f"; sftui does not know which ({self.doubt}), so all are shown" if self.doubt else ""
        return f"{title} draws {int(self.size):,} rows {by} and ignores the rest ({self.key}){which}"

    def order(self, rows: int) -> tuple[list[int], list[int]]:
        import numpy

        if self.size >= rows:
            return list(range(rows)), []
        chosen = numpy.random.default_rng(self.seed).choice(rows, size=int(self.size), replace=False)
        return [int(row) for row in chosen], []


class ShuffledRows(HeldOut):
    """No row set aside, but all of them shuffled before they are packed (trl 1.16.0, trainer/sft_trainer.py
    _prepare_dataset)."""

    off, unmarked, packs_again = False, "", True

    def sentence(self, title: str) -> str:
        known = (
            f"in an unknown order ({self.doubt})"
            if self.doubt
            else f"with seed {self.seed}; they are packed here in that order"
        )
        return f"{title} shuffles the rows before it packs them ({self.key}), {known}"


IN_ORDER = "in dataset order"


def in_order(said: str, held: HeldOut | None) -> str:
    """What is assumed of the order of packed rows, where a shuffle comes before."""
    if held is None:
        return said
    order = f"{IN_ORDER}: {held.doubt}" if held.doubt else f"as shuffled with seed {held.seed}"
    return said.replace(IN_ORDER, order)


def permuted(seed: int | None, rows: int) -> list[int]:
    """The order of so many rows after Dataset.shuffle."""
    import numpy

    return [int(row) for row in numpy.random.default_rng(seed).permutation(rows)]


def count_of(size: float, rows: int) -> int:
    """How many of so many rows are set aside."""
    return min(rows, math.ceil(size * rows) if size < 1 else int(size))


def evaluation_rows(held: HeldOut, kept: Sequence[int]) -> frozenset[int]:
    """The numbers of the rows that are set aside; `kept` says of every row whether it is left after the drops."""
    rows = len(kept)
    if held.drawn:
        return frozenset(held.order(rows)[1])
    order = permuted(held.seed, rows) if held.shuffled else range(rows)
    left = [row for row in order if kept[row]]
    return frozenset(left[len(left) - count_of(held.size, len(left)) :])


UNPAIRED_TOGETHER = 1_000
"""Pairs that are taken apart at once: the batch size of `datasets.map`."""


def unpaired(rows: Iterable[Inspection]) -> Iterator[Inspection]:
    """The sides of pairs as rows of their own, as trl 1.16.0 orders them (data_utils.py, unpair_preference_dataset)."""
    rest = iter(rows)
    while some := list(islice(rest, UNPAIRED_TOGETHER)):
        yield from [replace(row, rejected=None) for row in some]
        yield from [row.rejected for row in some if row.rejected is not None]
