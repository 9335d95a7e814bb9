"""Packs through the pipeline: documents named by row, padding counted as such, the collator's labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from sftui import labels
from sftui.errors import RecipeError
from sftui.model import IGNORE_INDEX, Batch, Inspection, Pack, Row
from sftui.pipeline import detect, feed_packs, inspect, make_batch, make_packs, make_toolbox
from sftui.recipe import Recipe, changed
from sftui.tokens import load_tokenizer
from sftui.trainers import Toolbox, preset


def packed(recipe: Recipe, rows: int = 4) -> tuple[tuple[Pack, ...], Batch]:
    return make_packs(*inspected(recipe, rows))


def inspected(recipe: Recipe, rows: int = 4) -> tuple[list[Inspection], Recipe, Toolbox]:
    recipe = changed(recipe, "tokenizer.name", "builtin:chatml")
    made = [
        Row(
            10 + i,
            {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "because " * (i + 1)}]},
            "{}",
            f"line {i}",
        )
        for i in range(rows)
    ]
    detected, tools = detect(made, recipe), make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    return [inspect(row, detected, recipe, tools) for row in made], recipe, tools


def test_documents_are_named_by_row_and_first_tokens_are_the_collators() -> None:
    recipe = changed(
        changed(changed(preset("trl@1.16"), "pack.strategy", "bfd"), "length.max", 64), "batch.flatten", True
    )
    packs, batch = packed(recipe)
    assert sorted(row for pack in packs for row, _, _ in pack.documents) == [10, 11, 12, 13]
    assert all(pack.labels[start] == IGNORE_INDEX for pack in packs for _, start, _ in pack.documents)
    assert sum(label != IGNORE_INDEX for pack in packs for label in pack.labels) == sum(
        label != IGNORE_INDEX for label in batch.labels[0]
    )


def test_padding_that_the_packer_adds_is_padding() -> None:
    recipe = changed(changed(preset("llamafactory@0.9"), "pack.strategy", "neat"), "length.max", 64)
    packs, batch = packed(recipe)
    for length, pack, ids in zip(batch.lengths, packs, batch.input_ids):
        assert length == sum(end - start for _, start, end in pack.documents) < len(ids)


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("hf-trainer", {}),
        ("trl@1.16", {}),
        ("trl@1.16", {"pack.strategy": "bfd", "batch.flatten": True}),
        ("axolotl@0.19", {}),
        ("axolotl@0.19", {"pack.strategy": "multipack"}),
        ("llamafactory@0.9", {}),
        ("unsloth@2026.10", {}),
        ("torchtune@0.7", {"render.template": "torchtune/qwen2_5"}),
    ],
)
def test_a_batch_of_more_positions_than_are_shown_is_refused(
    name: str, knobs: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "MOST_POSITIONS", labels.MOST_POSITIONS >> 14)
    recipe = changed(changed(preset(name), "batch.multiple", 2_000), "length.max", 64)
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    make = make_batch if recipe.pack.strategy == "none" else make_packs
    with pytest.raises(RecipeError, match="too large to show"):
        make(*inspected(recipe))


def test_a_recipe_that_does_not_pack_says_so() -> None:
    with pytest.raises(RecipeError, match="does not pack"):
        packed(preset("trl@1.16"))


def streamed(trainer: str, knobs: dict[str, object], rows: int) -> list[int]:
    """How many rows had been taken when each pack came."""
    recipe = changed(preset(trainer), "tokenizer.name", "builtin:chatml")
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    made = [
        Row(
            i, {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "so"}]}, "{}", str(i)
        )
        for i in range(rows)
    ]
    detected, tools = detect(made, recipe), make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    taken: list[int] = []

    def coming() -> Iterator[Inspection]:
        for row in made:
            taken.append(row.index)
            yield inspect(row, detected, recipe, tools)

    return [len(taken) for _ in feed_packs(coming(), recipe, tools)]


@pytest.mark.parametrize(
    ("trainer", "knobs", "group"),
    [
        ("trl@1.16", {"pack.strategy": "bfd", "length.max": 64, "pack.group": 10}, 10),
        ("trl@1.16", {"pack.strategy": "wrapped", "length.max": 64, "pack.group": 10}, 10),
        ("llamafactory@0.9", {"pack.strategy": "neat", "length.max": 64, "pack.group": 10}, 10),
        ("axolotl@0.19", {"pack.strategy": "multipack", "length.max": 64, "pack.group": 10}, 10),
        ("torchtune@0.6.1", {"pack.strategy": "sequential", "length.max": 64}, 6),
        (
            "axolotl@0.19",
            {
                "pack.strategy": "multipack",
                "length.max": 64,
                "own.sample_packing_sequentially": True,
            },
            6,
        ),
    ],
)
def test_packs_come_while_rows_are_read(trainer: str, knobs: dict[str, object], group: int) -> None:
    """No more rows are taken than the trainer's own algorithm needs: a group, or a pack's."""
    taken = streamed(trainer, knobs, 60)
    assert taken[0] <= group + 1 and taken[-1] == 60 and taken == sorted(taken)
    assert all(after - before <= group + 1 for before, after in pairwise(taken))
