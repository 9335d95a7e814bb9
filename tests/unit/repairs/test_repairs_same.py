"""Which rows are the same: all that a trainer may read of them must be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.conversations import detect
from sftui.conversations.identity import identity
from sftui.model import Row
from sftui.recipe import Data
from sftui.repairs.model import RepairLayout
from sftui.repairs.run import layout_of, make_plan, repaired

U, A = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
CHAT = {"messages": [U, A]}
ALPACA = {"instruction": "Go on", "input": "", "output": "ok"}


def left_out(*data: dict[str, Any], layout: RepairLayout | None = None) -> list[int]:
    """The rows that deduplicate leaves out, read as they are detected."""
    rows = [Row(index, one, "", f"row {index}") for index, one in enumerate(data)]
    layout = layout or layout_of(detect(rows, Data()))
    return [one.row.index for one in repaired(rows, make_plan(["deduplicate"]), layout) if one.dropped]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({**ALPACA, "history": [["a", "b"]]}, {**ALPACA, "history": [["c", "d"]]}),
        ({**ALPACA, "system": "x"}, {**ALPACA, "system": "y"}),
        *(
            ({**CHAT, name: ["1.png"]}, {**CHAT, name: ["2.png"]})
            for name in ("images", "image", "videos", "audios", "Audio", "image_path", "pixel_values")
        ),
        ({**CHAT, "photo": {"bytes": b"1", "path": None}}, {**CHAT, "photo": {"bytes": b"2", "path": None}}),
        ({**CHAT, "tools": [{"name": "f"}]}, {**CHAT, "tools": [{"name": "g"}]}),
        ({**CHAT, "system": "x"}, {**CHAT, "system": "y"}),
        ({**CHAT, "documents": [{"text": "x"}]}, {**CHAT, "documents": [{"text": "y"}]}),
        (
            {**CHAT, "chat_template_kwargs": {"enable_thinking": True}},
            {**CHAT, "chat_template_kwargs": {"enable_thinking": False}},
        ),
        ({"messages": [U, {**A, "reasoning_content": "x"}]}, {"messages": [U, {**A, "reasoning_content": "y"}]}),
        ({"messages": [U, {**A, "weight": 0}]}, {"messages": [U, {**A, "weight": 1}]}),
        (
            {"messages": [U, {**A, "tool_calls": [{"function": {"name": "f", "arguments": {"n": None}}}]}]},
            {"messages": [U, {**A, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}]},
        ),
        (
            {"messages": [U, {**A, "content": "if a:\n    b\n    c"}]},
            {"messages": [U, {**A, "content": "if a:\n    b\nc"}]},
        ),
        ({"messages": [U, {**A, "content": "    b"}]}, {"messages": [U, {**A, "content": "b"}]}),
        ({"input_ids": [1, 2], "labels": [-100, 2]}, {"input_ids": [1, 2], "labels": [1, 2]}),
        ({"input_ids": [1, 2], "completion_mask": [0, 1]}, {"input_ids": [1, 2], "completion_mask": [1, 1]}),
        ({"segments": [{"text": "x", "label": True}]}, {"segments": [{"text": "x", "label": False}]}),
        ({"prompt": "x", "completion": "y"}, {"prompt": "x", "completion": "z"}),
        ({"text": "x"}, {"text": "y"}),
    ],
)
def test_rows_that_train_something_else_both_stay(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert left_out(first, second) == []
    assert left_out(first, second, dict(first), dict(second)) == [2, 3]


def test_names_and_invisible_white_space_do_not_count() -> None:
    assert left_out({"id": 1, "source": "x", **CHAT}, {"id": 2, "source": "y", **CHAT}) == [1]
    assert left_out(
        CHAT,
        {"messages": [U, {**A, "content": "a \r\n"}]},
        {"messages": [{**U, "content": "\nq"}, {**A, "name": None}]},
    ) == [1, 2]
    assert left_out(CHAT, {"messages": [{"content": "q", "role": "user"}, A]}) == [1], "the order of keys says nothing"


def test_duplicates_are_those_that_the_audit_tells() -> None:
    rows: list[dict[str, Any]] = [
        CHAT,
        {**CHAT, "images": ["1"]},
        {**CHAT, "images": ["1"], "id": 3},
        {"messages": [U, {**A, "content": "a "}]},
    ]
    found = detect([Row(0, rows[1], "", "")], Data())
    first: dict[bytes, int] = {}
    told = [
        number
        for number, one in enumerate(rows)
        if first.setdefault(identity(one, tuple(found.fields.values())), number) != number
    ]
    assert left_out(*rows, layout=layout_of(found)) == told == [2, 3]


def test_a_deep_row_is_compared_too() -> None:
    deep: Any = "x"
    for _ in range(1500):
        deep = [deep]
    assert (
        identity({"messages": deep}, ("messages",))
        == identity({"messages": deep}, ("messages",))
        != identity({"messages": [deep]}, ("messages",))
    )


TEXT = st.text(alphabet="ab \n", max_size=5)
LEAF = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.0]), TEXT)
TREE = st.recursive(
    LEAF,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)),
    max_leaves=6,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": TEXT},
    optional={
        "tool_calls": st.lists(TREE, max_size=2),
        "reasoning_content": TEXT,
        "weight": st.sampled_from([0, 1, 0.5]),
    },
)
ROW = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE, min_size=1, max_size=2)},
    optional={
        "tools": st.lists(TREE, max_size=2),
        "images": st.lists(st.sampled_from(["1", "2"]), max_size=2),
        "system": TEXT,
        "id": st.integers(0, 2),
    },
)


def visible(value: Any, depth: int = 0) -> Any:
    """A value as a trainer sees it: with no name of the row, no null column or key of a message, no white space that
    cannot be seen."""
    if isinstance(value, str):
        return "\n".join(line.rstrip() for line in value.split("\n")).strip("\n")
    if isinstance(value, dict):
        return {
            key: visible(item, depth + 1)
            for key, item in value.items()
            if (depth > 2 or item is not None) and not (depth == 0 and key == "id")
        }
    if isinstance(value, list):
        return [visible(item, depth + 1) for item in value]
    return (type(value), value)


@given(st.lists(ROW, min_size=2, max_size=6))
def test_no_row_goes_that_differs_in_what_is_trained(data: list[dict[str, Any]]) -> None:
    gone = left_out(*data, layout=RepairLayout(decisive=("messages",)))
    for number in gone:
        assert visible(data[number]) in [visible(one) for one in data[:number]]
    kept = [visible(one) for number, one in enumerate(data) if number not in gone]
    assert all(one not in kept[:number] for number, one in enumerate(kept))
