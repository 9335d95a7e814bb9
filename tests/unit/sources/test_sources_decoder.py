"""The decoder that is kept for all rows gives what json.loads gives, mistakes included."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sftui.sources.records import _integer, _json

PARTS = [
    '{"a":',
    "}",
    "[",
    "]",
    ",",
    " ",
    "1",
    "-0.0",
    "1e400",
    "NaN",
    "-Infinity",
    '"\\ud800"',
    '"é"',
    "null",
    "\ufeff",
]
NUMBERS = st.integers(-(2**70), 2**70)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def said(text: str, load: Any) -> str:
    try:
        return repr(load(text))
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join) | VALUES.map(json.dumps) | st.text())
def test_as_json_loads(text: str) -> None:
    assert said(text, _json) == said(text, lambda given: json.loads(given, parse_int=_integer))


def test_the_last_of_two_equal_keys_counts() -> None:
    assert _json('{"a": 1, "a": 2}') == {"a": 2}
    assert _json("[123456789012345678901234567890]") == [123456789012345678901234567890.0]
