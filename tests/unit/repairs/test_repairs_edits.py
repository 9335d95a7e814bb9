"""Edits: a record in the place of a row's, made over that row alone, told from another row's, and read back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sftui.errors import RecipeError, SftuiError
from sftui.model import Row
from sftui.repairs.edits import CHANGED, differences, edit_name, edits_of, read_edit, read_record, repair_titles
from sftui.repairs.lines import line_of, row_of
from sftui.repairs.model import RepairLayout
from sftui.repairs.run import apply_plan, make_plan, repaired
from sftui.sources import SourceSpec, open_source

CHAT = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": " Teh end"}], "id": 7}
LAYOUT = RepairLayout()


def stored(record: Any = CHAT, index: int = 0) -> Row:
    raw = json.dumps(record)
    return Row(index, record, raw, f"d.jsonl line {index + 1}", size=len(raw))


def answered(text: str) -> dict[str, Any]:
    return {**CHAT, "messages": [CHAT["messages"][0], {"role": "assistant", "content": text}]}  # type: ignore[index]


def test_an_edit_is_made_over_its_row_alone_and_before_the_repairs() -> None:
    row = stored()
    plan = make_plan(["trim", edit_name(row, answered(" The end "))])
    first, second = (apply_plan(one, plan, LAYOUT) for one in (row, stored(index=1)))
    assert first.data == answered("The end") and second.data == answered("Teh end")
    assert [change.repair for change in first.changes] == ["edit", "trim"]
    assert first.changes[0].place == "messages[1].content"
    assert first.changes[0].what == "' Teh end' → ' The end '"
    made = row_of(first)
    assert made.stored == row and made.repairs[0].startswith("messages[1].content: ")


def test_the_line_keeps_what_was_not_edited() -> None:
    line = b'{ "id": 7.50,  "messages": [{"role": "user", "content": "H\\u0069"}] }\r\n'
    row = Row(0, json.loads(line), line.decode().strip(), "d.jsonl line 1", size=len(line))
    record = {"id": 7.5, "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]}
    written = line_of(apply_plan(row, make_plan([edit_name(row, record)]), LAYOUT), line)
    assert written is not None and json.loads(written) == record
    assert written.startswith(b'{ "id": 7.50,  "messages": [{"role": "user", "content": "H\\u0069"}')


def test_an_edit_of_a_row_that_is_another_one_by_now_is_not_made() -> None:
    name = edit_name(stored(), answered("The end"))
    other = replace(stored(answered("Something else")))
    done = apply_plan(other, make_plan([name, "trim"]), LAYOUT)
    assert CHANGED in done.skipped and done.data == other.data and not done.changes


def test_a_line_that_is_no_json_is_mended_by_an_edit(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps(CHAT) + '\n{"messages": [}\n' + json.dumps(CHAT) + "\n")
    source = open_source(SourceSpec((str(path),)))
    rows = list(source.rows())
    assert rows[1].data is None and rows[1].problem
    done = list(repaired(rows, make_plan([edit_name(rows[1], CHAT)]), LAYOUT))
    assert [one.data for one in done] == [CHAT, CHAT, CHAT] and row_of(done[1]).problem is None
    lines = [line_of(one, original) for one, original in zip(done, source.lines())]
    assert [json.loads(line or b"") for line in lines] == [CHAT] * 3


def test_names_are_read_back_and_listed_short() -> None:
    names = [edit_name(stored(index=at), answered("Ä \ud800 \u2028")) for at in range(5)]
    assert [read_edit(name).row for name in names] == list(range(5))
    assert read_edit(names[0]).record == answered("Ä \ud800 \u2028")
    assert edits_of(["trim", *names]) == dict(enumerate(names))
    assert repair_titles(["trim", names[3]]) == ["trim", "edit 3"]
    assert repair_titles([names[0], "trim", *names[1:]]) == ["trim", "5 edits"]


@pytest.mark.parametrize("name", ["edit 3", "edit x abc {}", "edit -1 abc {}", "edit 3 abc [1]", "edit 3 abc {"])
def test_half_an_edit_is_refused(name: str) -> None:
    with pytest.raises(RecipeError, match="not an edit"):
        make_plan([name])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1,}', "line 1, column"),
        ('{"a": 1, "a": 2}', "duplicate keys"),
        ('{"a": NaN}', "NaN"),
        ("[1]", "not a JSON object"),
        ("", "not JSON"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "too deep"),
    ],
)
def test_what_is_no_record_is_refused(text: str, why: str) -> None:
    with pytest.raises(SftuiError) as caught:
        read_record(text)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, ["a", "b", "c"]),
        ({"m": [{"x": 1}, {"x": 2}]}, {"m": [{"x": 1}, {"x": 3}]}, ["m[1].x"]),
        ({"m": [1, 2]}, {"m": [1]}, ["m"]),
        ({"m": None}, {"m": {}}, ["m"]),
    ],
)
def test_where_records_differ(before: Any, after: Any, places: list[str]) -> None:
    assert [place for place, _ in differences(before, after)] == places


def test_only_some_rows_are_written() -> None:
    rows = [stored(index=at) for at in range(4)]
    done = list(repaired(rows, make_plan([], marked=[1], only=[1, 3]), LAYOUT))
    assert [one.dropped for one in done] == ["others", "marked", "others", None]
