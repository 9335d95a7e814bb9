"""Which rows ms-swift draws, sets aside and mixes, by seeds that one generator gives after the other, and its packs:
rows put into as few sequences as it finds, a thousand at a time, or in order.

Source: ms-swift 4.6.0, dataset/loader.py (load_dataset), dataset/dataset_meta.py (post_process), dataset/utils.py
(sample_dataset), utils/np_utils.py (get_seed), where rows that cannot be read are gone before; dataset/packing.py
(PackingDataset.create_packed_idx, calculate_matched_group), template/base.py (packing_row); binpacking 2
(to_constant_volume): the longest first, each into the emptiest pack that has room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from sftui.errors import RecipeError
from sftui.labels import pack_of
from sftui.model import Example, Inspection, Pack
from sftui.recipe import Recipe
from sftui.trainers.held_out import HeldOut, permuted
from sftui.trainers.ms_swift import MsSwiftOptions
from sftui.trainers.ms_swift.rows import DROPPED
from sftui.trainers.packing import Documents, NumberedRow, documents_of, emptiest_fit, next_fit

if TYPE_CHECKING:
    import numpy

LARGEST = 2**31 - 1


class RowDraw(HeldOut):
    """`size` is split_dataset_ratio, `most` the rows drawn of the dataset (#N), `shuffled` dataset_shuffle."""

    sifted = True

    def unreadable(self, early: Inspection) -> bool:
        read = early.conversation
        return super().unreadable(early) or (read is not None and DROPPED in read.extra)

    @property
    def undone(self) -> dict[str, Any]:
        return {"split_dataset_ratio": 0, "dataset_shuffle": False}

    @property
    def unmarked(self) -> str:
        return f"drawn rows and held-out rows ({self.key}) are not marked" if self.size or self.most else ""

    def sentence(self, title: str) -> str:
        aside = f"sets {self.size:.4g} of the rows aside for evaluation ({self.key})" if self.size else ""
        drawn = f"takes {self.most:,} rows from the dataset (#{self.most})" if self.most else ""
        mixed = "shuffles the rows (dataset_shuffle)" if self.shuffled else ""
        done = [one for one in (drawn, aside, mixed) if one]
        return f"{title} {' and '.join(done)}, with data_seed {self.seed}"

    def order(self, rows: int) -> tuple[list[int], list[int]]:
        import numpy

        if not rows:
            return [], []
        state = numpy.random.RandomState(self.seed)
        state.randint(0, LARGEST)  # that of decision_augment_config, which is drawn whether it is used or not
        wanted, aside = self.most or rows, 0
        order = list(range(rows))
        if self.size:
            aside = max(int(min(rows, wanted) * self.size), 1)
            seed = int(state.randint(0, LARGEST))
            order = permuted(seed, rows) if self.shuffled else [*order[rows - aside :], *order[: rows - aside]]
        training, evaluating = _sampled(order[aside:], wanted - aside, state, self.shuffled), order[:aside]
        if self.shuffled:
            training, evaluating = (
                [part[i] for i in permuted(int(state.randint(0, LARGEST)), len(part))] if part else part
                for part in (training, evaluating)
            )
        return training, evaluating


def _sampled(rows: list[int], count: int, state: numpy.random.RandomState, shuffled: bool) -> list[int]:
    """So many of the rows: each as often as it takes, and some drawn for the rest."""
    if not rows or count < 0:
        return []
    rest = count % len(rows)
    places = state.permutation(len(rows))[:rest] if shuffled and rest else range(rest)
    return [*rows * (count // len(rows)), *(rows[int(place)] for place in places)]


GROUP = 1000
"""PackingDataset.PACKING_BATCH_SIZE; of each but the last group the last pack goes on into the next."""


def size_of(recipe: Recipe, longest: int | None) -> int:
    """How many tokens a pack holds; RecipeError where that is not known."""
    size = MsSwiftOptions.of(recipe).packing_length or longest
    if size is None:
        raise RecipeError("ms-swift packs into max_length tokens", fix="set length.max")
    return size


def places(examples: Sequence[Example], recipe: Recipe) -> Iterator[Documents]:
    """The packs of all rows (see `Packing.places`)."""
    size = size_of(recipe, recipe.length.max)
    return map(documents_of, _fits(examples, size, recipe.pack.strategy == "sequential"))


def packs(examples: Iterable[Example], size: int, in_order: bool) -> Iterator[Pack]:
    """The packs of examples, in their order or the longest first; a group is held at a time."""
    return map(_pack, _fits(examples, size, in_order))


def _fits(examples: Iterable[Example], size: int, in_order: bool) -> Iterator[list[NumberedRow]]:
    rows, open_pack = enumerate(examples), list[NumberedRow]()
    fit = next_fit if in_order else emptiest_fit
    while group := [*islice(rows, GROUP)]:
        *full, open_pack = fit([*open_pack, *group], size)
        yield from full
    if open_pack:
        yield open_pack


def _pack(rows: Sequence[NumberedRow]) -> Pack:
    """Rows one after the other, position ids from 0 in each, and no mask."""
    return replace(pack_of(rows), attention_mask=None)
