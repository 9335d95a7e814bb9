"""Which rows a trainer sets aside for evaluation, where its config asks it to split the training data.

The draws are those of `datasets`: Dataset.shuffle and Dataset.train_test_split permute with
numpy.random.default_rng(seed), and a share counts rows upwards (datasets 4 and 5, arrow_dataset.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A split as the config asks for it: `key` and its value, by the seed of the run.

    `size` is a share below 1 or a number of rows. `drawn`: the evaluation rows are drawn from the rows as they are
    read, of which there are at most `most` (llamafactory 0.9.5, data/data_utils.py split_dataset). Else they are the
    last of the rows that are left when too long and too short ones are dropped, in the order of the dataset or, with
    `shuffled`, of the shuffle before (axolotl 0.19.0, utils/data/shared.py merge_datasets and
    create_train_validation_split, which is asked not to shuffle).
    """

    key: str
    size: float
    seed: int
    drawn: bool
    shuffled: bool = True
    most: int | None = None
    unsure: str = ""
    """Why it is not known which rows, where it is not."""
    packs: bool = True
    """Whether they are packed where those that train are."""

    def sentence(self, title: str) -> str:
        """What is set aside, for the notes on a recipe."""
        what = f"{self.size:.4g} of the rows" if self.size < 1 else f"{int(self.size):,} rows"
        how = (
            f"drawn with seed {self.seed}"
            if self.drawn
            else f"the last ones that are left, as shuffled with seed {self.seed}"
            if self.shuffled
            else "the last ones that are left"
        )
        which = f"; figures are of all rows: which they are is not known, {self.unsure}" if self.unsure else ""
        return f"{title} sets {what} aside for evaluation ({self.key}), {how}{which}"


def count_of(size: float, rows: int) -> int:
    """How many of so many rows are set aside."""
    return min(rows, math.ceil(size * rows) if size < 1 else int(size))


def evaluation_rows(held: HeldOut, kept: Sequence[int]) -> frozenset[int]:
    """The numbers of the rows that are set aside; `kept` says of every row whether it is left after the drops."""
    import numpy

    rows = len(kept)
    drawn = drawn_order(held, rows)
    if drawn is not None:
        return frozenset(drawn[1])
    order = numpy.random.default_rng(held.seed).permutation(rows) if held.shuffled else numpy.arange(rows)
    left = [int(row) for row in order if kept[int(row)]]
    return frozenset(left[len(left) - count_of(held.size, len(left)) :])


def drawn_order(held: HeldOut, rows: int) -> tuple[list[int], list[int]] | None:
    """The rows that train and those that evaluate, of so many and in the order of the draw; None where none is made.
    Rows that are not read come last.

    Dataset.train_test_split takes the first of a permutation for the test part and the rest, in that order, for the
    training part.
    """
    import numpy

    if not held.drawn:
        return None
    read = min(rows, held.most) if held.most is not None else rows
    order = [int(row) for row in numpy.random.default_rng(held.seed).permutation(read)]
    aside = count_of(held.size, read)
    return [*order[aside:], *range(read, rows)], order[:aside]
