"""Packs through the pipeline: documents named by row, padding counted as such, the collator's labels."""

from __future__ import annotations

import pytest

from sftui.errors import RecipeError
from sftui.model import IGNORE_INDEX, Batch, Inspection, Pack, Row
from sftui.pipeline import detect, inspect, make_packs, make_toolbox
from sftui.recipe import Recipe, changed
from sftui.tokens import load_tokenizer
from sftui.trainers import preset


def packed(recipe: Recipe, rows: int = 4) -> tuple[tuple[Pack, ...], Batch]:
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
    inspections: list[Inspection] = [inspect(row, detected, recipe, tools) for row in made]
    return make_packs(inspections, recipe, tools)


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


def test_a_recipe_that_does_not_pack_says_so() -> None:
    with pytest.raises(RecipeError, match="does not pack"):
        packed(preset("trl@1.16"))
