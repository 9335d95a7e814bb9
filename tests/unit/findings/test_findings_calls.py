"""What is remembered of lists of tools, and quick ways of looking for names: as the plain ways tell it."""

from __future__ import annotations

import re
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sftui.conversations.identity import identity
from sftui.findings import calls
from sftui.findings.calls import declared
from sftui.findings.rules import tools
from sftui.findings.words import words

NESTED: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["", "name", "default", "f", "é"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "function", "default", "x", "y"]), inner, max_size=3),
    ),
    max_leaves=12,
)


@given(st.one_of(NESTED, st.lists(NESTED, max_size=3)))
def test_a_list_of_tools_says_the_same_each_time(listed: Any) -> None:
    first, again = declared(listed), declared(listed)
    assert first == again == calls._declared(listed) and first.known == set(first.names)
    assert all(text in first.text for text in words(listed))
    assert first.identity == again.identity == identity({"tools": listed}, ())


def test_what_cannot_be_remembered_is_declared_all_the_same() -> None:
    named = {"name": "f", "x": None, "y": {"default": None}}
    strange = {"name": "g", "of": object()}
    assert declared([named, strange]).names == ("f", "g") and declared([named]).empty == ("x",)
    assert declared([{**named, "text": "a" * 20_000}]).names == ("f",)
    assert declared(1).names == declared(True).names == () and declared(None).text == ""


@given(st.text("ab_é-. ", max_size=4), st.text("ab_é-. ", max_size=12))
def test_a_name_stands_as_a_whole_word(name: str, text: str) -> None:
    plain = name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
    assert tools._named(name, text) == plain


@given(st.text("a1\\nu é_", max_size=8))
def test_what_says_more_than_one_letter(text: str) -> None:
    assert tools._says(text) == (len(tools._bare(text)) > 1)


def test_what_is_bare_are_letters_and_digits_alone() -> None:
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    assert tools._bare("".join(every)) == "".join([char for char in every if char.isalnum()])
