"""How many tokens of each stretch of a row are trained."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from sftui.findings.shapes import trained_in
from sftui.model import Part
from sftui.runs import labelled

STRETCHES = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), max_size=8)
"""Of each token of each stretch whether it is trained."""


@given(STRETCHES)
def test_trained_tokens_are_counted_by_stretch(rows: list[list[bool]]) -> None:
    ends = list(accumulate(map(len, rows)))
    stretches = [(end - len(own), end, number, Part.CONTENT) for number, (own, end) in enumerate(zip(rows, ends))]
    flags = [flag for own in rows for flag in own]
    found = trained_in(stretches, labelled(flags, ignore=False))
    assert found == [sum(own) for own in rows]
