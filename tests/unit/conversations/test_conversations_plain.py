"""Messages that are nothing but a role and a text take a short way: what comes out is what the long one gives."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.conversations.messages import read_messages
from sftui.errors import ConversationError
from sftui.templates.shortcuts import skeletons

TEXTS = st.sampled_from(
    ["", " ", "a", " a", "a\n", "<think>a</think>b", " <think>a</think>", "<think>open", "x" * 201, "\ud800"]
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool", "human", "function_call", "alien", "r" * 201, ""])
VALUES: st.SearchStrategy[Any] = TEXTS | st.none() | st.integers() | st.just([{"type": "text", "text": "a"}])
MESSAGES = st.lists(
    st.tuples(ROLES | VALUES, VALUES).map(lambda pair: {"role": pair[0], "content": pair[1]})
    | st.dictionaries(st.sampled_from(["content", "role", "name", "weight", "train"]), ROLES | VALUES),
    max_size=5,
)


def said(items: list[Any], roles: Mapping[str, str], **how: Any) -> Any:
    try:
        return read_messages(items, "messages", "row 0", {}, roles, **how)
    except ConversationError as error:
        return str(error)


@pytest.mark.parametrize("verbatim", [True, False])
@pytest.mark.parametrize(
    ("roles", "calls"),
    [({}, False), ({"human": "user", "user": "alien"}, False), ({}, True), ({"function_call": "assistant"}, True)],
)
@given(items=MESSAGES)
def test_messages_are_read_as_other_mappings(
    items: list[Any], roles: dict[str, str], calls: bool, verbatim: bool
) -> None:
    wrapped = [MappingProxyType(item) for item in items]  # no dict: each question is asked of it
    how = {"calls": calls, "verbatim": verbatim}
    assert said(items, roles, **how) == said(wrapped, roles, **how)


@given(items=MESSAGES)
def test_shapes_are_those_of_the_long_way(items: list[Any]) -> None:
    short = skeletons._read(items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skeletons, "_PLAIN", (None,))
        assert short == skeletons._read(items)
