"""Which tokens an empty think block is made of, found in one pass over the row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from sftui.findings.rules.generation import _touching
from sftui.model import NOWHERE

PLACES = st.lists(
    st.one_of(
        st.just((NOWHERE, NOWHERE)),
        st.tuples(st.integers(0, 60), st.integers(0, 9)).map(lambda one: (one[0], one[0] + one[1])),
    ),
    max_size=40,
)
BORDERS = st.lists(st.integers(0, 60), unique=True, max_size=12).map(sorted)


@given(PLACES, BORDERS)
def test_tokens_of_blocks_are_those_that_one_block_at_a_time_has(
    places: list[tuple[int, int]], borders: list[int]
) -> None:
    blocks = list(zip(borders[::2], borders[1::2]))
    look = SimpleNamespace(
        tokens=SimpleNamespace(starts=tuple(start for start, _ in places), ends=tuple(end for _, end in places))
    )
    assert _touching(cast(Any, look), blocks) == [
        [i for i, (start, end) in enumerate(places) if start != NOWHERE and start < until and end > begin]
        for begin, until in blocks
    ]
