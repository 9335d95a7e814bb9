"""Ids that stay an array on their way: what is read of them is what tuples give."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.exports.records import record
from sftui.labels import example, keep, label
from sftui.model import (
    IGNORE_INDEX,
    Conversation,
    Example,
    Inspection,
    Kind,
    Labels,
    Reason,
    RenderedText,
    Row,
    Tokens,
    flat_example,
)
from sftui.recipe import Recipe
from sftui.runs import Runs, cut, flat, labelled, masked, moved
from sftui.trainers import trainer_named

IDS = st.lists(st.integers(0, 2**31 - 1), max_size=30)
NONE: Runs[object] = Runs()


@st.composite
def ranges(draw: st.DrawFn, size: int) -> tuple[tuple[int, int], ...]:
    borders = draw(st.lists(st.integers(0, size), unique=True).map(sorted))
    return tuple(zip(borders[::2], borders[1::2]))


@given(st.data(), IDS)
def test_ranges_move_with_what_is_kept(data: st.DataObject, ids: list[int]) -> None:
    trained, kept = data.draw(ranges(len(ids))), data.draw(ranges(len(ids)))
    labels = masked(IGNORE_INDEX, trained, flat(ids))
    assert list(labels) == [one if any(a <= i < b for a, b in trained) else IGNORE_INDEX for i, one in enumerate(ids)]
    left = cut(kept, flat(ids))
    assert list(left) == [one for a, b in kept for one in ids[a:b]]
    assert masked(IGNORE_INDEX, moved(trained, kept), left) == cut(kept, labels)


@given(st.data(), IDS, st.integers(0, 40), st.sampled_from(["cut_right", "cut_left", "drop"]), st.booleans())
def test_a_row_is_what_its_prompt_and_its_length_say(
    data: st.DataObject, ids: list[int], most: int, over: str, dropping: bool
) -> None:
    prompt = data.draw(st.one_of(st.none(), st.integers(0, len(ids)).map(lambda end: ids[:end]), IDS))
    recipe = trainer_named("hf-trainer").preset()
    length = replace(recipe.length, max=most or None, over=over, drop_unlabelled=dropping)
    recipe = replace(recipe, length=length)
    tokens = Tokens(flat(ids), (), (), NONE, NONE, None if prompt is None else flat(prompt))  # type: ignore[arg-type]
    size, received, arrays, plain, again, _, labels, stored = _made(tokens, recipe)
    masked_at = 0 if prompt is None else min(len(prompt), len(ids))
    assert labels.labels == (IGNORE_INDEX,) * masked_at + tuple(ids[masked_at:])
    assert arrays == plain and again == (tokens, labels, stored)
    ((start, end),), why = keep(len(ids), length)
    unlabelled = dropping and why is None and max(start, masked_at) >= end
    assert (stored is None) == (why is not None or unlabelled) == (labels.dropped is not None)
    if stored is None:
        return
    assert stored == Example(tuple(ids[start:end]), labels.labels[start:end], (1,) * (end - start))
    assert size == (end - start, max(end - max(start, masked_at), 0)) and received == end - start
    assert tokens.prompt_ids == (None if prompt is None else tuple(prompt)) and tokens.input_ids == tuple(ids)


def _made(tokens: Tokens, recipe: Recipe) -> tuple[Any, ...]:
    conversation = Conversation(Kind.TEXT, "text", text="")
    labels = label(tokens, RenderedText(""), conversation, recipe)
    stored = example(tokens, labels, recipe)
    found = Inspection(Row(0, {}, "{}", "row 0"), conversation, tokens=tokens, labels=labels, example=stored)
    arrays = {name: _plain(value) for name, value in record(found, as_arrays=True).items()}
    size = None if stored is None else (stored.size, stored.trained)
    again = pickle.loads(pickle.dumps((tokens, labels, stored)))
    return size, found.received, arrays, record(found), again, tokens, labels, stored


def _plain(value: object) -> object:
    return value if isinstance(value, (int, str, tuple)) else tuple(value)  # type: ignore[arg-type]


def test_nothing_is_made_before_it_is_requested() -> None:
    made = flat_example(flat((5, 6, 7)), ((1, 3),))
    assert made.size == 3 and made.trained == 2 and not {"input_ids", "labels", "attention_mask"} & vars(made).keys()
    assert made == Example((5, 6, 7), (IGNORE_INDEX, 6, 7), (1, 1, 1))
    assert made.ranges == ((1, 3),)
    changed = replace(made, input_ids=(1, 2, 3))
    assert changed.flat is None and changed.labels == made.labels


@given(IDS, st.integers(0, 40))
def test_there_is_one_reason_for_each_label(ids: list[int], count: int) -> None:
    reasons = (Reason.PROMPT,) * count
    if count == len(ids):
        assert Labels(flat(ids), (), reasons, ((0, count),)).labels == (IGNORE_INDEX,) * count
        return
    with pytest.raises(ValueError, match=f"{count} reasons for {len(ids)} labels"):
        Labels(flat(ids), (), reasons, ((0, count),))


@given(st.lists(st.booleans()))
def test_ranges_are_where_labels_are(flags: list[bool]) -> None:
    found = labelled([7 if on else IGNORE_INDEX for on in flags])
    assert [any(start <= i < end for start, end in found) for i in range(len(flags))] == flags
    assert all(a < b for a, b in found) and all(one[1] < two[0] for one, two in pairwise(found))
