"""What makes rows the same, told fast: as it always was told, since baselines hold it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.conversations import identity as told
from sftui.conversations.identity import identity, key_of, squeezed

A_CALL = {"id": "c", "function": {"name": "f", "arguments": {"n": [1, 2], "x": None, "y": 1.5}}}
TOLD: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
    (
        {
            "messages": [
                {"role": "user", "content": "q \n\n"},
                {"role": "assistant", "content": "a", "name": None},
            ],
            "id": 7,
        },
        ("messages",),
        "50738e1031b15e8e358f8cbcc9877e48",
    ),
    (
        {
            "messages": [{"role": "assistant", "content": "", "tool_calls": [A_CALL]}],
            "tools": [{"name": "f", "strict": True}],
        },
        ("messages",),
        "2d5d6e03efd8031df231f8f7a4a941b1",
    ),
    (
        {"prompt": "é\u2028 ", "completion": "\ud800", "image": b"\x89PNG"},
        ("prompt", "completion"),
        "8c688a88615f527cb163173b51a16df5",
    ),
    ({"input_ids": [1, 2, 3], "labels": [-100, 2, 3]}, ("text",), "e67d7164d2a6c1129d356f67d4517297"),
]


@pytest.mark.parametrize(("row", "columns", "told"), TOLD)
def test_a_row_is_told_as_in_the_baselines_written_before(
    row: dict[str, Any], columns: tuple[str, ...], told: str
) -> None:
    assert [identity(row, columns).hex() for _ in range(2)] == [told, told], "remembered, and for the first time"


@pytest.mark.parametrize("column", ["tools", "messages"])
def test_what_is_equal_in_python_and_not_in_json_is_told_apart(column: str) -> None:
    values: tuple[Any, ...] = (
        [{"a": 1}],
        [{"a": True}],
        [{"a": 1.0}],
        [{"a": "1"}],
        [{"a": {}}],
        [{"a": []}],
        [{1: "a"}],
        [{True: "a"}],
    )
    assert len({identity({column: value}, (column,)) for value in values}) == len(values)


def test_long_tools_and_those_that_are_no_plain_data_are_told_too() -> None:
    long: Any = [{"name": "x" * 50_000}]
    deep: Any = "x"
    for _ in range(1500):
        deep = [deep]
    assert len({identity({"tools": value}, ()) for value in (long, [{"name": "x"}], deep, object)}) == 4


def test_every_blank_parts_words() -> None:
    blanks = [chr(one) for one in range(sys.maxunicode + 1) if chr(one).isspace()]
    assert len(blanks) > 20
    for blank in [*blanks, "  ", " \n "]:
        for text in (f"a{blank}b", f"{blank}a b", f"a b{blank}", blank, f"é{blank}b"):
            assert squeezed(text) == " ".join(text.split()), repr(text)


DEEP: Any = "x"
for _ in range(1500):
    DEEP = [DEEP]
RECORDED: list[tuple[dict[str, Any], str]] = [
    ({"messages": DEEP}, "5b2c5e4fceac7875fdb9b4abb41bcd61"),
    (
        {"tools": [{"name": "x"}], "messages": [{"role": "user", "content": "hi", "n": None}]},
        "942e24e560ef49ec8bdec24cd16bf0b1",
    ),
    (
        {
            "messages": [{"role": "user", "content": " Hé \n"}, {"role": "assistant", "content": "x", "weight": 0}],
            "images": [b"ab"],
        },
        "6f20f84b76aa766d822f55ff556fc4d6",
    ),
    ({"input_ids": [1, 2, 3], "labels": [-100, 2, 3]}, "e67d7164d2a6c1129d356f67d4517297"),
]


@pytest.mark.parametrize(("data", "expected"), RECORDED)
def test_baselines_of_before_know_a_row_by_the_same_bytes(data: dict[str, Any], expected: str) -> None:
    assert identity(data, ("messages",)).hex() == expected


@given(st.text(" \t\nab\x1c\x85\u2003é", max_size=12))
def test_squeezed_has_single_spaces_between_words(text: str) -> None:
    assert squeezed(text) == " ".join(text.split())


BLANKS = st.sampled_from(["", " \n", "\n ", "\r\n", *" \n\t\x0b\x1c\x85\xa0\u2003\u2028\u205f\u3000\u1680"])
MARKS = st.sampled_from(["null", "\\n", '\\"', *'ab"\\é\u2019\u4e2d\ud800\x7f'])
WORDS = st.builds("".join, st.lists(st.one_of(BLANKS, MARKS), max_size=5))
SCALARS = st.sampled_from(
    [None, True, 1, 1.0, 0, -0.0, 2**63, 2**64, float("nan"), float("inf"), b"a", (1, 2), [1, 2], [True]]
)
KEYS: st.SearchStrategy[Any] = st.sampled_from(["role", "content", "a", "a ", "1", 1, True])
VALUES = st.recursive(
    st.one_of(WORDS, SCALARS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)
COLUMNS = st.sampled_from(["messages", "prompt", "tools", "text", "images", "id"])


class Word(str):
    """A text of another kind."""


@st.composite
def told_alike(draw: st.DrawFn, value: Any) -> Any:
    """The same data, or data that differ a little: in white space, in the order of keys, in null ones, in types."""
    if isinstance(value, str):
        others = (value + " ", value + "\n", "\n" + value, value.replace("\n", " \r\n"), Word(value), value + "b")
        return draw(st.sampled_from([value, value, *others]))
    if isinstance(value, dict):
        items = [(key, draw(told_alike(item))) for key, item in value.items()]
        more: list[tuple[Any, Any]] = draw(st.sampled_from([[], [], [("none", None)], [("some", "x")]]))
        return dict(draw(st.permutations([*items, *more])))
    if isinstance(value, list):
        items_alike = [draw(told_alike(item)) for item in value]
        return draw(st.sampled_from([items_alike, tuple(items_alike)]))
    return value


@given(st.data(), st.dictionaries(COLUMNS, VALUES, max_size=3))
def test_keys_are_equal_where_the_identity_is(data: st.DataObject, row: dict[str, Any]) -> None:
    columns = data.draw(st.sampled_from([("messages",), ("prompt", "completion"), ("text",)]))
    other = data.draw(told_alike(row))
    assert (key_of(row, columns) == key_of(other, columns)) == (identity(row, columns) == identity(other, columns))


@given(WORDS)
def test_keys_are_equal_for_texts_that_are_seen_alike(text: str) -> None:
    for other in (told.seen_text(text), text + " ", "\n" + text, f"{text}\x0b"):
        keys, whole = ({of({"text": one}, ("text",)) for one in (text, other)} for of in (key_of, identity))
        assert len(keys) == len(whole)


def test_keys_without_the_faster_writer_are_identities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "orjson", None)
    row = {"text": "a"}
    assert key_of(row, ("text",)) == identity(row, ("text",))
