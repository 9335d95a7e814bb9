"""How rows are put into packs, by hand: what fits exactly, what opens the next pack, what is left at the end."""

from __future__ import annotations

import pytest

from sftui.model import Example
from sftui.recipe import Recipe, changed
from sftui.trainers import packing, preset, trainer_of
from sftui.trainers.axolotl.packing import bin_size, first_fit, varlen


def rows(*lengths: int) -> list[packing.NumberedRow]:
    return [(place, Example((7,) * length, (7,) * length, (1,) * length)) for place, length in enumerate(lengths)]


def places(packs: list[list[packing.NumberedRow]]) -> list[list[int]]:
    return [[place for place, _ in pack] for pack in packs]


@pytest.mark.parametrize(
    ("lengths", "multiple", "packs"),
    [
        ((4, 6, 1), 1, [[0, 1], [2]]),  # 10 of 10
        ((4, 7, 3), 1, [[0], [1, 2]]),
        ((11, 1), 1, [[0], [1]]),  # longer than a pack: alone
        ((3, 3, 3), 4, [[0, 1], [2]]),  # each takes 4
        ((4, 4), 4, [[0, 1]]),  # and no more where it is a multiple
        ((5, 5, 5), 4, [[0], [1], [2]]),  # each takes 8
        ((), 1, []),
    ],
)
def test_next_fit(lengths: tuple[int, ...], multiple: int, packs: list[list[int]]) -> None:
    assert places([*packing.next_fit(rows(*lengths), 10, multiple)]) == packs


@pytest.mark.parametrize(
    ("lengths", "packs"),
    [
        ((3, 6, 4), [[1, 2], [0]]),  # the longest first: 6 + 4 are 10 of 10
        ((5, 5, 5), [[0, 1], [2]]),  # equal ones in their order
        ((7, 6, 3, 3), [[0, 3], [1, 2]]),  # into the one that holds least
        ((8, 9, 1, 1), [[1, 3], [0, 2]]),  # of two that hold 9 the first
        ((12, 4), [[0], [1]]),  # longer than a pack
        ((), []),
    ],
)
def test_emptiest_fit(lengths: tuple[int, ...], packs: list[list[int]]) -> None:
    assert places(packing.emptiest_fit(rows(*lengths), 10)) == packs


@pytest.mark.parametrize(
    ("lengths", "documents"),
    [
        ((3, 4, 5), [[(0, 0, 3), (1, 0, 2)], [(1, 2, 4), (2, 0, 3)], [(2, 3, 5)]]),
        ((5, 5), [[(0, 0, 5)], [(1, 0, 5)]]),
        ((12,), [[(0, 0, 5)], [(0, 5, 10)], [(0, 10, 12)]]),
        ((0, 2, 0, 3, 0), [[(1, 0, 2), (3, 0, 3)]]),
        ((), []),
    ],
)
def test_wrapped(lengths: tuple[int, ...], documents: list[packing.Documents]) -> None:
    assert [*packing.wrapped([example for _, example in rows(*lengths)], 5)] == documents


@pytest.mark.parametrize(
    ("lengths", "most", "group", "bins"),
    [
        ((6, 5, 4, 5), 9, 100, [[0, 2], [1, 3]]),  # 10 of 10, twice
        ((6, 4, 5, 5), 9, 2, [[0, 1], [2, 3]]),
        ((6, 5, 4, 5), 9, 2, [[0], [1], [2, 3]]),  # a group fills bins of its own
        ((6, 3, 4), 9, 3, [[0, 1], [2]]),  # of those with room the first
        ((1, 1, 1, 1), 2, 100, [[0, 1], [2, 3]]),
        ((5, 5), 9, 0, [[0], [1]]),  # a group of no rows is one of one
        ((11, 1), 9, 100, [[0], [1]]),
    ],
)
def test_axolotls_first_fit(lengths: tuple[int, ...], most: int, group: int, bins: list[list[int]]) -> None:
    assert first_fit(lengths, 10, most, group) == bins


@pytest.mark.parametrize(
    ("attention", "implementation", "real", "capacity"),
    [
        ("none", None, None, (300, 1)),  # position ids keep documents apart: one long bin
        ("doc_ids", None, None, (100, 3)),
        ("doc_ids", "flash_attention_2", None, (300, 1)),
        ("doc_ids", "flash_attention_2@main:fwd", None, (300, 1)),
        ("none", "eager", None, (100, 3)),
        ("none", None, True, (100, 3)),
        ("doc_ids", "eager", False, (300, 1)),
    ],
)
def test_axolotls_bins(
    attention: str, implementation: str | None, real: bool | None, capacity: tuple[int, int]
) -> None:
    recipe: Recipe = preset("axolotl")
    for path, value in {
        "batch.size": 3,
        "length.max": 100,
        "batch.attention": attention,
        "own.attn_implementation": implementation,
        "own.multipack_real_batches": real,
    }.items():
        recipe = changed(recipe, path, value)
    assert (bin_size(recipe), trainer_of(recipe).packs_in_a_batch(recipe)) == capacity


def test_a_revision_of_an_attention_is_that_attention() -> None:
    assert varlen("flash_attention_2") and varlen("flash_attention_2@main") and varlen("flash_attention_2:f@x")
    assert not varlen("eager") and not varlen("sdpa@main")
