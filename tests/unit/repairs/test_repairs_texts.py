"""Repairs of texts outside lists of messages: Alpaca columns and history, and JSON stored as text."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from sftui.conversations import detect
from sftui.model import Row
from sftui.recipe import Data
from sftui.repairs.model import RepairLayout
from sftui.repairs.run import REPAIRS, TITLES, layout_of, make_plan, repair_row, repaired
from sftui.repairs.splice import lossless

ALPACA = {"instruction": "Go on", "input": "", "output": "ok", "history": [["a", "b"]]}


def layout(data: dict[str, Any], **more: Any) -> RepairLayout:
    return layout_of(detect([Row(0, {**data, **more}, "", "row 0")], Data()))


def after(name: str, data: dict[str, Any], where: RepairLayout) -> tuple[Any, list[str]]:
    made, changes = repair_row(data, (REPAIRS[name],), where)
    again, more = repair_row(made, (REPAIRS[name],), where)
    assert again is made and not more
    return made, [one.place for one in changes]


def test_control_tokens_leave_the_history_too() -> None:
    data = {**ALPACA, "history": [["a</s>", "b"], ["c", "<eos>d"]]}
    assert after("strip-tokens", data, layout(ALPACA)) == (
        {**ALPACA, "history": [["a", "b"], ["c", "d"]]},
        ["history[0][0]", "history[1][1]"],
    )


def test_white_space_is_cut_in_columns_that_become_messages() -> None:
    data = {**ALPACA, "instruction": " Go on", "output": "ok\n", "history": [["a ", "b"], ["c", " "]]}
    made, places = after("trim", data, layout(ALPACA))
    assert made == {**ALPACA, "history": [["a", "b"], ["c", " "]]}
    assert places == ["instruction", "output", "history[0][0]"]
    raw = {"prompt": "q: ", "completion": " a"}
    assert after("trim", raw, layout(raw))[0] is raw, "between a prompt and its completion white space is text"


def test_missing_questions_and_numbers_in_the_history() -> None:
    data = {**ALPACA, "history": [[None, 4], ["c", None]]}
    made, places = after("fill-content", data, layout(ALPACA))
    assert made["history"] == [["", "4"], ["c", None]] and places == ["history[0][0]", "history[0][1]"]


def test_a_history_stored_as_text_becomes_a_list() -> None:
    data = {**ALPACA, "history": '[["a", "b"]]'}
    assert after("parse-json", data, layout(ALPACA)) == (ALPACA, ["history"])
    for text in ("[1]", '[["a"]]', "[]x", '"a"'):
        assert after("parse-json", {**ALPACA, "history": text}, layout(ALPACA))[1] == []


@pytest.mark.parametrize("broken", [[["a"]], [None], ["ab"], "text", 3, [["a", "b", "c"]]])
def test_a_history_that_is_none_is_left_alone(broken: Any) -> None:
    for name in REPAIRS:
        assert after(name, {**ALPACA, "history": broken}, layout(ALPACA))[1] == []


@pytest.mark.parametrize(
    "data",
    [
        {"input_ids": [1, 2], "labels": [1, 2]},
        {"segments": [{"text": "x", "label": True}]},
        {**ALPACA, "instruction": "", "output": ""},
    ],
)
def test_a_row_that_says_something_is_not_empty(data: dict[str, Any]) -> None:
    where = layout(data) if "history" not in data else layout(ALPACA)
    blank = {key: [] if isinstance(value, list) else "" for key, value in data.items()}
    rows = [Row(0, data, "", ""), Row(1, blank, "", "")]
    assert [one.dropped for one in repaired(rows, make_plan([], ["empty"]), where)] == [None, "empty"]


def call(arguments: str) -> dict[str, Any]:
    return {
        "messages": [
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
        ]
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"q": NaN}',
        '{"q": -Infinity}',
        '{"q": 1, "q": 2}',
        '{"a": [{"q": 1, "q": 2}]}',
        '{"a":' * 300 + "1" + "}" * 300,
    ],
)
def test_json_text_that_would_not_be_whole_as_json_stays_text(text: str) -> None:
    assert after("parse-json", call(text), RepairLayout())[1] == []


def test_a_number_keeps_its_text_on_the_way_to_another_process() -> None:
    number = pickle.loads(pickle.dumps(lossless('{"a": 1.10}')))["a"]
    assert number == 1.1 and number.text == "1.10" and json.dumps(number) == "1.1"


def test_titles_tell_what_each_repair_does() -> None:
    assert set(REPAIRS) < set(TITLES)
    assert json.dumps(TITLES)


def test_calls_take_the_form_that_a_template_reads() -> None:
    def row(*calls: Any) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": list(calls)}]}

    flat, nested = {"id": "1", "name": "f", "arguments": {"a": "é"}}, {"name": "f", "arguments": {"a": "é"}}
    wrapped = {"type": "function", "id": "1", "function": nested}
    text = {**wrapped, "function": {"name": "f", "arguments": '{"a": "é"}'}}
    where = layout(row(flat))
    assert after("wrap-calls", row(flat, wrapped), where) == (row(wrapped, wrapped), ["messages[1].tool_calls[0]"])
    place = "messages[1].tool_calls[0].arguments"
    assert after("parse-json", row(text, wrapped), where) == (row(wrapped, wrapped), [place])
    stored = {"messages": [row()["messages"][0], {"role": "assistant", "tool_calls": json.dumps([wrapped])}]}
    assert after("parse-json", stored, where) == (row(wrapped), ["messages[1].tool_calls"])
