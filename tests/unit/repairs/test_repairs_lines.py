"""The line of a repaired row: only what the repair changed differs from the line it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sftui.repairs.lines import RepairedRow, line_of, row_of
from sftui.repairs.model import RepairLayout
from sftui.repairs.run import REPAIRS, repair_row
from sftui.repairs.splice import Splice
from sftui.sources.records import one_line, parse_record

ALL = tuple(REPAIRS.values())


def mended(line: str, *names: str) -> str:
    """The line after repairs, all of them where none is named."""
    row = parse_record(line.encode(), 0, "line 1", offset=0)
    assert row.data is not None
    data, changes = repair_row(row.data, [REPAIRS[name] for name in names] or ALL, RepairLayout())
    made = line_of(RepairedRow(row, data, changes), line.encode())
    assert made is not None and made.endswith(b"\n") and made.count(b"\n") == 1
    shown = row_of(RepairedRow(row, data, changes))
    assert shown.raw == made.decode().rstrip("\n"), "the inspector shows what would be written"
    return made.decode().rstrip("\n")


BEFORE, AFTER = '{"role": "user", "content": " q"}', '{"role": "user", "content": "q"}'


@pytest.mark.parametrize(
    "rest",
    [
        '"id": 123456789012345678901234567890, "big": 1e400, "x": 1.10, "y": -0, "z": 1E+2, "n": NaN',
        '"k": 1, "k": 2',
        '"a":[1,2] ,"b" : {"c":1.0,   "d":[]}',
        '"e": "\\u00e9\\/"',
        '"content": "say \\"k\\": v"',
        '"deep": ' + "[" * 400 + "]" * 400,
    ],
)
def test_what_a_repair_does_not_touch_keeps_its_text(rest: str) -> None:
    line = '{%s, "messages": [%s], "also": 1.50}'
    assert mended(line % (rest, BEFORE), "trim") == line % (rest, AFTER)
    inner = '{"messages": [{"role": "user", "content": " q", %s}]}'
    assert mended(inner % rest.replace('"content"', '"said"'), "trim") == (
        inner % rest.replace('"content"', '"said"')
    ).replace('" q"', '"q"')


@pytest.mark.parametrize(
    ("line", "after"),
    [
        (
            '{"messages":[{"role":"user","content":" say \\"k\\": v"}]}',
            '{"messages":[{"role":"user","content":"say \\"k\\": v"}]}',
        ),
        (
            '{"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":"{\\"a\\": [1, 2]}"}}]}]}',
            '{"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":{"a":[1,2]}}}],"content":""}]}',
        ),
        (
            '{"messages": [{"role": "user", "content": " a\\":b"}]}',
            '{"messages": [{"role": "user", "content": "a\\":b"}]}',
        ),
        (
            '{"messages": [{"role": "user", "content": " \\\\u00e9"}, {"role": "x", "content": "\\u001b"}], "x": "é"}',
            '{"messages": [{"role": "user", "content": "\\\\u00e9"}, {"role": "x", "content": "\\u001b"}], "x": "é"}',
        ),
    ],
)
def test_spacing_is_told_from_outside_of_strings(line: str, after: str) -> None:
    assert mended(line, "parse-json", "trim", "fill-content") == after


def test_numbers_in_arguments_stored_as_text_keep_their_text() -> None:
    line = '{"messages": [{"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": %s}}]}]}'
    text = '{"q": 1e999, "r": 123456789012345678901234567890, "s": 1.10}'
    assert mended(line % json.dumps(text)) == line % text


def test_joined_and_folded_messages_keep_their_numbers() -> None:
    system, user = '{"role": "system", "content": "s"}', '{"role": "user", "content": "q", "n": 1e400, "m": [1.10]}'
    parts = '[{"type": "text", "text": "%s"}]'
    assert mended(f'{{"messages": [{system}, {user}]}}') == f'{{"messages": [{user}]}}'.replace('"q"', '"s\\n\\nq"')
    line = '{"messages": [{"role": "user", "content": %s}, {"role": "user", "content": %s}], "x": 1.0}'
    one = line.replace('}, {"role": "user", "content": %s}', "}")
    assert mended(line % (parts % "a", parts % "b")) == one % '"a\\n\\nb"'


def test_a_row_too_deep_to_write_is_lost_and_still_shown() -> None:
    line = f'{{"messages": [{BEFORE}], "deep": {"[" * 1000 + "]" * 1000}}}'
    row = parse_record(line.encode(), 0, "", offset=0)
    if row.data is not None:
        data, changes = repair_row(row.data, ALL, RepairLayout())
        assert line_of(RepairedRow(row, data, changes), line.encode()) in (
            None,
            (line.replace('" q"', '"q"') + "\n").encode(),
        )
        assert row_of(RepairedRow(row, data, changes)).repairs


def test_a_record_over_several_lines_becomes_one() -> None:
    text = '{\n  "a": 1.10,\n  "b": [\n    1,\n    "x, \\n y"\n  ],\r\n  "a": {}\n}'
    assert one_line(text.encode()) == b'{"a": 1.10, "b": [1, "x, \\n y"], "a": {}}'
    assert one_line(b'{"a":  1}') == b'{"a":  1}'


TEXT = st.text(max_size=6)
LEAF = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT)
TREE = st.recursive(
    LEAF, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)), max_leaves=12
)
OBJECT = st.dictionaries(TEXT, TREE, max_size=4)


@given(OBJECT, OBJECT, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_any_data_put_into_any_line_is_what_is_read_back(old: Any, new: Any, indent: Any, escaped: bool) -> None:
    line = one_line(json.dumps(old, indent=indent, ensure_ascii=escaped).encode("utf-8", "surrogatepass")).decode(
        "utf-8", "surrogatepass"
    )
    splice = Splice(line, json.loads(line))
    assert splice.put(json.loads(line)) == line
    text = json.dumps(new)
    wanted = json.dumps(
        json.loads(text.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null")), sort_keys=True
    )
    if "NaN" not in text and "Infinity" not in text:
        assert json.dumps(json.loads(splice.put(new)), sort_keys=True) == wanted


MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "User", "assistant"])},
    optional={
        "content": st.one_of(st.sampled_from(["", " a", "a </s>", "b", "é ", "\ud83d "]), st.none(), st.integers(0, 3)),
        "x": TREE,
    },
)


@given(st.lists(MESSAGE, max_size=5), TREE, st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]), st.booleans())
def test_a_second_time_there_is_nothing_left_to_do(
    messages: list[Any], other: Any, separators: tuple[str, str], escaped: bool
) -> None:
    line = json.dumps({"id": other, "messages": messages}, separators=separators, ensure_ascii=True)
    if not escaped:
        try:
            line = json.dumps({"id": other, "messages": messages}, separators=separators, ensure_ascii=False)
            line.encode()
        except UnicodeEncodeError:
            return
    row = parse_record(line.encode(), 0, "", offset=0)
    assert row.data is not None
    data, changes = repair_row(row.data, ALL, RepairLayout())
    once = line_of(RepairedRow(row, data, changes), line.encode())
    assert once is not None
    read = parse_record(once.rstrip(b"\n"), 0, "", offset=0)
    assert json.dumps(read.data, sort_keys=True) == json.dumps(data, sort_keys=True)
    again, more = repair_row(read.data or {}, ALL, RepairLayout())
    assert not more and again is read.data
