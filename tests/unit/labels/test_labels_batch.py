"""The padded rectangle equals DataCollatorForSeq2Seq's own output."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui import labels
from sftui.errors import RecipeError
from sftui.labels import collate
from sftui.model import Example
from sftui.recipe import Batch


def reference_tokenizer(side: str) -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({"<pad>": 0, "a": 1}, unk_token="a"))
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", padding_side=side)


SIDES = {side: reference_tokenizer(side) for side in ("left", "right")}
ROWS = st.lists(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=20), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(["left", "right"]), st.sampled_from([None, 1, 8, 64]), st.sampled_from(["longest", "max"]))
def test_equal_to_data_collator_for_seq2seq(
    rows: list[list[tuple[int, bool]]], side: str, multiple: int | None, to: str
) -> None:
    from transformers import DataCollatorForSeq2Seq

    examples = [
        Example(tuple(i for i, _ in row), tuple(i if on else -100 for i, on in row), (1,) * len(row)) for row in rows
    ]
    ours = collate(
        examples, range(len(rows)), Batch(multiple=multiple, pad_to=to), pad_id=0, padding_side=side, max_length=20
    )
    collator = DataCollatorForSeq2Seq(
        SIDES[side],
        padding="max_length" if to == "max" else True,
        max_length=20,
        pad_to_multiple_of=multiple,
        return_tensors="np",
    )
    theirs = collator(
        [
            {"input_ids": list(e.input_ids), "labels": list(e.labels), "attention_mask": list(e.attention_mask)}
            for e in examples
        ]
    )
    assert [list(r) for r in ours.input_ids] == theirs["input_ids"].tolist()
    assert [list(r) for r in ours.labels] == theirs["labels"].tolist()
    assert ours.attention_mask is not None
    assert [list(r) for r in ours.attention_mask] == theirs["attention_mask"].tolist()


def test_without_pad_token_only_equal_rows_make_a_batch() -> None:
    same = [Example((1, 2), (1, 2), (1, 1))] * 2
    assert collate(same, (0, 1), Batch(), pad_id=None, padding_side="right").input_ids == ((1, 2), (1, 2))
    with pytest.raises(RecipeError, match="no pad token"):
        collate([*same, Example((1,), (1,), (1,))], (0, 1, 2), Batch(), pad_id=None, padding_side="right")


@pytest.mark.parametrize("rows", [1, 2])
def test_a_batch_of_as_many_positions_as_are_shown_is_shown(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MOST_POSITIONS", 6)
    examples = [Example((7,) * (6 // rows), (7,) * (6 // rows), (1,) * (6 // rows))] * rows
    assert collate(examples, range(rows), Batch(), pad_id=0, padding_side="right").input_ids[0] == (7,) * (6 // rows)
    assert labels.end_to_end(examples, range(rows), "").input_ids == ((7,) * 6,)
    with pytest.raises(RecipeError, match="too large to show"):
        labels.end_to_end([*examples, examples[0]], range(rows + 1), "")


def test_a_batch_of_no_rows_is_not_wide() -> None:
    assert labels.padded_width((), Batch(), None) == 0
