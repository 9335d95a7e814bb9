"""JSON lists and objects over several lines: the scanner against json.loads, and damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui.errors import SourceError
from sftui.sources import Source, SourceSpec, json_layout, open_source
from sftui.sources.json_array import ElementScanner


def open_bytes(folder: Path, data: bytes, name: str = "t.json", **options: Any) -> Source:
    path = folder / name
    path.write_bytes(data)
    return open_source(SourceSpec((str(path),), **options))


def read(source: Source) -> list[Any]:
    while not source.index_more(1):
        pass
    assert source.count().rows == len(list(source.rows()))
    return [row.data for row in source.rows()]


def scan(data: bytes, size: int, in_array: bool = True) -> tuple[list[bytes], list[str]]:
    begin = data.index(b"[") + 1 if in_array else 0
    scanner = ElementScanner(begin, in_array=in_array)
    spans = []
    for at in range(begin, len(data), size):
        spans += scanner.feed(data[at : at + size])
    spans += scanner.finish()
    return [data[start:end] for start, end in spans], scanner.damage


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(VALUES, max_size=6), st.integers(1, 30), st.sampled_from([None, 1]), st.booleans())
def test_the_scanner_cuts_where_json_does(values: list[Any], size: int, indent: int | None, ascii_only: bool) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    pieces, damage = scan(data, size)
    assert [json.loads(piece) for piece in pieces] == values
    assert not damage


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet='"\\{}[],x\n', max_size=20), max_size=5), st.integers(1, 7))
def test_quotes_and_backslashes_at_block_ends(texts: list[str], size: int) -> None:
    values = [{text: text} for text in texts]
    assert [json.loads(piece) for piece in scan(json.dumps(values).encode(), size)[0]] == values
    stream = "\n".join(json.dumps(value, indent=2) for value in values).encode()
    assert [json.loads(piece) for piece in scan(stream, size, in_array=False)[0]] == values


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='"\\{}[],x 1\n', max_size=40), st.integers(1, 7))
def test_any_garbage_ends_without_an_error_and_whatever_the_blocks(text: str, size: int) -> None:
    data = b"[" + text.encode()
    assert scan(data, size)[0] == scan(data, 1000)[0]


@pytest.mark.parametrize(
    ("data", "rows", "says"),
    [
        (b'[{"a":1} {"a":2}]', 2, "a missing comma between two records at byte 8"),
        (b'[{"a":1},,{"a":2}]', 2, "an extra comma"),
        (b'[{"a":1},]', 1, "an extra comma"),
        (b'[{"a":1}, {"a": 2', 2, "it ends inside a record, which begins at byte 10"),
        (b'[{"a":1}', 1, "it ends before the closing ] of its list"),
        (b'[{"a":1}] {"b":1}', 1, "text after the closing ]"),
        (b'[{"a":1}, oops {"a":2}]', 3, "text that is not JSON"),
    ],
)
def test_damage_is_said_and_the_records_around_it_work(tmp_path: Path, data: bytes, rows: int, says: str) -> None:
    source = open_bytes(tmp_path, data)
    found = read(source)
    assert len(found) == rows and found[0] == {"a": 1}
    assert any(says in said for said in (*source.notes, *(one.why for one in source.damage)))
    assert bool(source.damage) == (not data.rstrip().endswith((b"]", b"}")) or data == b'[{"a":1}')
    assert [one.rows for one in source.damage] in ([], [1])


def test_a_cut_record_says_where(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'[{"a":1},\n{"a": "x')
    row = source.row(1)
    assert row.data is None and row.problem is not None and "t.json record 1 is not valid JSON" in row.problem


def test_elements_that_are_no_objects_between_objects(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'[{"a":1}, 5, "x", null, [1], {"a":2}]')
    assert read(source) == [{"a": 1}, None, None, None, None, {"a": 2}]
    assert "is not a JSON object but a list" in (source.row(4).problem or "")
    assert not source.notes


def test_a_list_of_strings_becomes_the_column_text(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'["one", "two"]')
    assert read(source) == [{"text": "one"}, {"text": "two"}]
    assert "column text" in source.notes[0]


def test_misnamed_files_are_read_by_what_they_hold(tmp_path: Path) -> None:
    lines = open_bytes(tmp_path, b'{"a":1}\n{"a":2}\n', "lines.json")
    assert lines.kind == "jsonl" and read(lines) == [{"a": 1}, {"a": 2}]
    array = open_bytes(tmp_path, b'[\n{"a":1},\n{"a":2}\n]', "array.jsonl")
    assert array.kind == "json" and read(array) == [{"a": 1}, {"a": 2}]
    assert "is a JSON list instead of JSON Lines" in array.notes[0]
    lists = open_bytes(tmp_path, b"[1]\n[2]\n", "lists.jsonl")
    assert lists.kind == "jsonl" and read(lists) == [None, None]


def test_objects_over_several_lines(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'{\n "a": 1\n}\n{\n "a": 2\n}\n')
    assert read(source) == [{"a": 1}, {"a": 2}]
    assert "each object is a row" in source.notes[0]


def test_a_broken_first_line_does_not_make_it_one_object(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'{"a": [\n{"a": 2}\n{"a": 3}\n', "t.jsonl")
    assert read(source) == [None, {"a": 2}, {"a": 3}]


@pytest.mark.parametrize(
    "data", [b'{"data": [{"a":1},{"a":2}]}', b'{"v": 1.5, "t": "x\\"",\n "data": [\n{"a":1},\n{"a":2}], "end": [1]}']
)
def test_rows_inside_one_object(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_bytes(tmp_path, data)
    assert len(read(source)) == 1
    assert "it is one row, as datasets reads it; if its rows are the list in data" in source.notes[-1]
    inner = open_bytes(tmp_path, data, field="data")
    assert read(inner) == [{"a": 1}, {"a": 2}]
    assert inner.notes == ("the rows are the list in the field data of t.json",)
    for block in (7, 1 << 18):
        monkeypatch.setattr(json_layout, "BLOCK", block)
        both = (
            b'{"test": 1, "train": [{"a": "\\"test\\": [{"}, {"b": [1]}], "x": "test", "meta": {"test": [{}]}, "test" :'
            b' [ {"a": 5}, {"a": 6}], "z": 1}'
        )
        assert read(open_bytes(tmp_path, both, field="test")) == [{"a": 5}, {"a": 6}]
        assert len(read(open_bytes(tmp_path, both, field="train"))) == 2
        with pytest.raises(SourceError, match="has no list of objects in the field meta"):
            open_bytes(tmp_path, both, field="meta")
    with pytest.raises(SourceError, match="its first list of objects is data"):
        open_bytes(tmp_path, data, field="rows")


def test_the_one_line_of_a_jsonl_is_a_row_whatever_lists_it_holds(tmp_path: Path) -> None:
    data = b'{"messages": [{"role": "user", "content": "Hi"}]}\n'
    assert open_bytes(tmp_path, data, "t.jsonl").notes == () == open_bytes(tmp_path, data, "t.ndjson").notes
    assert "is one object, so it is one row" in open_bytes(tmp_path, data, "t.json").notes[0]


def test_an_empty_list_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^t.json: contains an empty list$"):
        open_bytes(tmp_path, b" [\n]\n")


def test_a_record_over_the_limit(tmp_path: Path) -> None:
    big = json.dumps({"a": "x" * 3_000_000})
    source = open_bytes(tmp_path, f'[{{"a":1}},{big},{{"a":3}}]'.encode(), row_limit=1_000_000)
    assert source.row(2).data == {"a": 3}
    assert source.row(1).data is None and "over the limit" in (source.row(1).problem or "")


def test_a_changed_list_is_said(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'[{"a":1},{"a":2}]')
    read(source)
    (tmp_path / "t.json").write_bytes(b"[]")
    assert "file changed while sftui read it" in (source.row(1).problem or "")
