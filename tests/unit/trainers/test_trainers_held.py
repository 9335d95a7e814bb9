"""Examples of a packing group, on disk and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.model import Example
from sftui.trainers.packing import PickledStore

VALUES = st.one_of(st.integers(-100, 200_000), st.integers(-(2**40), 2**40))


@given(st.lists(st.tuples(st.lists(VALUES, max_size=9), st.booleans(), st.booleans()), max_size=12))
@pytest.mark.parametrize("in_memory", [0, 16, 1 << 20])
def test_every_example_comes_back(in_memory: int, made: list[tuple[list[int], bool, bool]]) -> None:
    examples = [
        Example(tuple(ids), tuple(-one for one in ids), (1,) * len(ids) if ones else tuple(ids), shifted)
        for ids, ones, shifted in made
    ]
    held = PickledStore[Example](in_memory)
    for example in examples:
        held.append(example)
    assert len(held) == len(examples) and list(held) == examples and list(held[1:3]) == examples[1:3]
    assert [held[i] for i in reversed(range(len(held)))] == examples[::-1]
    held.close()
