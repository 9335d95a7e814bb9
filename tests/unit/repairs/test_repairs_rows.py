"""Each repair alone: what it changes, what it leaves, and that it never touches what it was given."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from sftui.conversations import detect
from sftui.errors import RecipeError
from sftui.findings import CODES, SCOPE_OF
from sftui.findings.catalogue import REPAIR_OF
from sftui.model import Row
from sftui.recipe import Data
from sftui.repairs.lines import RepairedRow, line_of
from sftui.repairs.model import RepairLayout
from sftui.repairs.run import REPAIRS, TITLES, RepairPlan, layout_of, make_plan, repair_row, repaired
from sftui.repairs.texts import strip_tokens
from sftui.repairs.turns import known_role

LAYOUT = RepairLayout()
U, A, S = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, {"role": "system", "content": "s"}


def mended(name: str, *messages: Any, layout: RepairLayout = LAYOUT, **columns: Any) -> Any:
    """The messages after one repair; the same object where nothing changed, and the input as it was."""
    data = {**columns, "messages": list(messages)}
    before = copy.deepcopy(data)
    after, changes = repair_row(data, (REPAIRS[name],), layout)
    assert data == before
    assert (after is data) == (not changes)
    assert list(after) == list(data)
    again, more = repair_row(after, (REPAIRS[name],), layout)
    assert again is after and not more, "a second time there is nothing left to do"
    return after["messages"]


@pytest.mark.parametrize(
    ("role", "known"),
    [
        ("human", "user"),
        ("gpt", "assistant"),
        ("Assistant", "assistant"),
        (" user ", "user"),
        ("asistant", "assistant"),
        ("observation", "tool"),
        ("user", None),
        ("function_call", None),
        ("critic", None),
        ("", None),
        ("ipython", None),
        ("ai", "assistant"),
    ],
)
def test_roles(role: str, known: str | None) -> None:
    assert known_role(role) == known
    assert mended("map-roles", {"role": role, "content": "x"}) == [{"role": known or role, "content": "x"}]


def test_roles_that_the_format_explains_stay() -> None:
    layout = RepairLayout(role="from", content="value", roles={"human": "user", "gpt": "assistant"})
    items = [{"from": "human", "value": "q"}, {"from": "Gpt", "value": "a"}]
    assert mended("map-roles", *items, layout=layout) == [items[0], {"from": "gpt", "value": "a"}]
    unmapped = RepairLayout(role="from", content="value")
    assert [item["from"] for item in mended("map-roles", *items, layout=unmapped)] == ["user", "assistant"], (
        "no trainer reads these names"
    )


def test_roles_become_the_standard_ones_whatever_the_preset_maps() -> None:
    layout = RepairLayout(roles={"human": "user", "gpt": "assistant"})
    items = [{"role": "human", "content": "q"}, {"role": "gpt", "content": "a"}, {"role": "model", "content": "b"}]
    assert [item["role"] for item in mended("map-roles", *items, layout=layout)] == ["user", "assistant", "assistant"]


def test_neighbours_are_joined_and_equal_ones_kept_once() -> None:
    assert mended("merge-neighbours", U, {**U, "content": "r"}, A) == [{**U, "content": "q\n\nr"}, A]
    assert mended("merge-neighbours", U, U, U, A) == [U, A]
    assert mended("merge-neighbours", U, A, {**A, "content": ""}) == [U, A]


@pytest.mark.parametrize(
    "second", [{**A, "tool_calls": [{}]}, {**A, "weight": 0}, {**A, "name": "x"}, {**A, "content": 3}, "text"]
)
def test_neighbours_that_differ_in_more_than_text_stay(second: Any) -> None:
    assert mended("merge-neighbours", U, A, second) == [U, A, second]


def test_neighbours_with_parts() -> None:
    part = {"type": "text", "text": "p"}
    assert mended("merge-neighbours", {**U, "content": [part]}, U, A) == [
        {**U, "content": [part, {"type": "text", "text": "q"}]},
        A,
    ]


def test_the_system_message_goes_into_the_next_user_message() -> None:
    assert mended("fold-system", S, U, A) == [{**U, "content": "s\n\nq"}, A]
    assert mended("fold-system", U, A, S, U, A) == [U, A, {**U, "content": "s\n\nq"}, A]
    assert mended("fold-system", S, {**S, "content": "t"}, U) == [{**U, "content": "s\n\nt\n\nq"}]
    assert mended("fold-system", S, A) == [S, A]
    assert mended("fold-system", U, A, S) == [U, A, S]
    assert mended("fold-system", S, {**U, "content": [{"type": "image"}]}) == [
        {**U, "content": [{"type": "text", "text": "s\n\n"}, {"type": "image"}]}
    ]


def test_json_stored_as_text() -> None:
    call = {"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}
    parsed = {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}
    after, changes = repair_row(
        {"messages": json.dumps([U, {**A, "tool_calls": [call]}]), "tools": "[{}]", "n": "[1]"},
        (REPAIRS["parse-json"],),
        LAYOUT,
    )
    assert after == {"messages": [U, {**A, "tool_calls": [parsed]}], "tools": [{}], "n": "[1]"}
    assert [one.place for one in changes] == ["messages", "tools", "messages[1].tool_calls[0].arguments"]
    for text in ("no json", '{"a"', "[1, 2]", "3", '"text"'):
        assert repair_row({"messages": text}, (REPAIRS["parse-json"],), LAYOUT)[1] == ()
    assert mended("parse-json", {**A, "tool_calls": [{**call, "function": {"name": "f", "arguments": "{"}}]})


def test_white_space_at_the_edges() -> None:
    assert mended("trim", {**U, "content": " q\n"}, {**A, "content": "\ta b"}) == [U, {**A, "content": "a b"}]
    assert mended("trim", {**A, "content": " \n"}, {**A, "content": None}) == [
        {**A, "content": " \n"},
        {**A, "content": None},
    ]


def test_content_that_is_missing() -> None:
    assert mended("fill-content", {"role": "user", "content": None}, {"role": "tool"}) == [
        {"role": "user", "content": ""},
        {"role": "tool", "content": ""},
    ]
    assert mended("fill-content", {**A, "content": 42}, {**A, "content": True}) == [
        {**A, "content": "42"},
        {**A, "content": "true"},
    ]
    called: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [{}]}
    assert mended("fill-content", called) == [{**called, "content": ""}]
    assert mended("fill-content", {"role": "assistant", "content": None}) == [{"role": "assistant", "content": None}]


def test_control_tokens_are_taken_out_also_those_that_form_anew() -> None:
    assert mended("strip-tokens", {**U, "content": "a<|im_<|im_end|>end|>b</s>"}) == [{**U, "content": "ab"}]
    assert mended("strip-tokens", {**U, "content": [{"type": "text", "text": "<eos>x"}]}) == [
        {**U, "content": [{"type": "text", "text": "x"}]}
    ]
    kept = {**A, "content": "<think>a < b</think> <tool_call> <b> [x] <|python_tag|>"}
    assert mended("strip-tokens", kept) == [kept]
    data, changes = strip_tokens(lambda text: ["XX"]).apply(
        {"prompt": "aXXb"}, RepairLayout(columns=(), texts=("prompt",))
    )
    assert data == {"prompt": "ab"} and changes[0].place == "prompt"


def rows(*data: Any) -> list[Row]:
    return [
        Row(index, one if isinstance(one, dict) else None, json.dumps(one), f"line {index + 1}")
        for index, one in enumerate(data)
    ]


def run(plan: RepairPlan, *data: Any, **more: Any) -> list[RepairedRow]:
    return list(repaired(rows(*data), plan, LAYOUT, **more))


def test_rows_are_left_out_for_reasons_and_codes() -> None:
    plan = make_plan([], ["unreadable", "empty", "no-answer"])
    done = run(
        plan,
        {"messages": [U, A]},
        "text",
        {"messages": []},
        {"id": 1},
        {"messages": [U]},
        {"messages": [U, {**A, "content": " "}]},
    )
    assert [one.dropped for one in done] == [None, "unreadable", "empty", "empty", "no-answer", "no-answer"]
    plan = make_plan(["trim"], ["CON"])
    done = run(
        plan,
        {"messages": [U, {**A, "content": "a "}]},
        codes=lambda row: {"CON004"} if "a " in str(row.data) else {"TRU001"},
    )
    assert [one.dropped for one in done] == [None], "codes are asked after the other repairs"
    assert [one.dropped for one in run(plan, {"messages": [U]}, codes=lambda row: {"CON003", "BOS001"})] == ["CON003"]


@pytest.mark.parametrize(
    ("row", "stays"),
    [
        ({"instruction": "q", "input": "", "output": "a"}, True),
        ({"instruction": "q", "input": "", "output": " \n"}, False),
        ({"instruction": "q", "input": "", "output": None}, False),
        ({"prompt": "q", "completion": "a"}, True),
        ({"prompt": "q", "completion": ""}, False),
        ({"prompt": [U], "completion": [A]}, True),
        ({"prompt": [U], "completion": [{**A, "content": ""}]}, False),
        ({"text": "q"}, True),
        ({"messages": [U, {**A, "content": [{"type": "text", "text": " "}]}]}, False),
        ({"messages": [U, {**A, "content": [{"type": "image"}]}]}, True),
        ({"messages": [U, {**A, "content": [{"type": "text", "text": "a"}]}]}, True),
        ({"messages": [U, {**A, "content": None, "tool_calls": [{}]}]}, True),
    ],
)
def test_rows_without_an_answer_are_left_out_in_every_format(row: dict[str, Any], stays: bool) -> None:
    whole = {
        **row,
        **{
            name: "a"
            for name in ("output", "completion")
            if isinstance(row.get(name), str) or (name in row and row[name] is None)
        },
    }
    layout = layout_of(detect([Row(0, whole, "", "row 0")], Data()))
    done = list(repaired([Row(0, row, "", "row 0")], make_plan([], ["no-answer"]), layout))
    assert [one.dropped for one in done] == [None if stays else "no-answer"]


def test_duplicates_white_space_and_other_columns_aside() -> None:
    plan = make_plan(["deduplicate"])
    done = run(
        plan,
        {"id": 1, "messages": [U, A]},
        {"id": 2, "messages": [U, {**A, "content": "a "}]},
        {"messages": [U, {**A, "content": "b"}]},
    )
    assert [one.dropped for one in done] == [None, "the same conversation as row 0", None]


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(RecipeError, match="merge-neighbours"):
        make_plan(["merge-neighbors"])
    with pytest.raises(RecipeError, match="no-answer"):
        make_plan([], ["no-answers"])


def test_only_codes_of_rows_leave_rows_out() -> None:
    for code in CODES:
        near = code in {"DUP004", "DUP005"}  # which only `check --near-duplicates` looks for
        if (not near and SCOPE_OF[code] == "row") or code == "TPL007":  # found in single rows as well
            assert make_plan([], [code]).codes == (code,)
        else:
            with pytest.raises(RecipeError, match="does not drop rows"):
                make_plan([], [code])
    assert make_plan([], ["lab"]).codes == ("LAB",), "some of these are of rows"


def test_the_order_of_names_does_not_matter() -> None:
    assert [one.name for one in make_plan(["trim", "map-roles", "parse-json"]).repairs] == [
        "parse-json",
        "map-roles",
        "trim",
    ]


@pytest.mark.parametrize(
    ("original", "messages", "line"),
    [
        (b'{"b": 1,   "messages": []}\r\n', None, b'{"b": 1,   "messages": []}\r\n'),
        (b'{"b": 1}', None, b'{"b": 1}\n'),
        (
            b'{"b":1,"messages":[{"role":"user","content":" \xc3\xa9"}]}\n',
            "\u00e9",
            b'{"b":1,"messages":[{"role":"user","content":"\xc3\xa9"}]}\n',
        ),
        (
            b'{"b": 1, "messages": [{"role": "user", "content": " \\u00e9"}]}\n',
            "\u00e9",
            b'{"b": 1, "messages": [{"role": "user", "content": "\\u00e9"}]}\n',
        ),
        (
            b'{"b": 1, "messages": [{"role": "user", "content": " \\ud83d\xc3\xa9"}]}\n',
            "\ud83d\u00e9",
            b'{"b": 1, "messages": [{"role": "user", "content": "\\ud83d\\u00e9"}]}\n',
        ),
    ],
)
def test_lines_keep_their_style(original: bytes, messages: str | None, line: bytes) -> None:
    data: dict[str, Any] = {"b": 1, "messages": [{"role": "user", "content": messages}]}
    changes = (
        () if messages is None else REPAIRS["trim"].apply({"messages": [{"role": "user", "content": " x"}]}, LAYOUT)[1]
    )
    assert line_of(RepairedRow(rows(data)[0], data, changes), original) == line


def test_every_fix_names_codes_and_repairs_that_exist() -> None:
    for code in CODES:
        assert set(REPAIR_OF.get(code, ())) <= set(TITLES)
    assert CODES["GEN001"].tags and REPAIR_OF.get("DUP001", ()) == ("deduplicate",)
    assert REPAIR_OF.get("CON001", ()) == ("fill-content", "drop")
    assert "TPL011" not in REPAIR_OF and not CODES["TPL011"].tags
