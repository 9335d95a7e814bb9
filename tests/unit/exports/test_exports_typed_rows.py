"""Rows of JSON as Parquet: what pandas stores of them, or a refusal that names the row, and nothing in between."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui.errors import ExportError
from sftui.exports.typed_rows import GROUP_ROWS, write_typed


def lines(rows: Sequence[Any]) -> io.BytesIO:
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())


def typed(rows: io.BytesIO, file: IO[bytes], numbers: Sequence[int]) -> None:
    for _ in write_typed(rows, file, numbers):
        pass


def stored(rows: Sequence[Any]) -> list[Mapping[str, Any]]:
    file = io.BytesIO()
    typed(lines(rows), file, range(len(rows)))
    made: list[Mapping[str, Any]] = pq.read_table(io.BytesIO(file.getvalue())).to_pylist()
    return made


def test_each_row_has_the_columns_and_keys_of_all() -> None:
    rows = [
        {"messages": [{"role": "user", "content": "a"}]},
        {"messages": [{"role": "tool", "content": "b", "name": "f"}], "tools": [{"x": 1}]},
        {"messages": [], "tools": [], "score": 1},
        {"score": 0.5},
    ]
    assert stored(rows) == [
        {"messages": [{"role": "user", "content": "a", "name": None}], "tools": None, "score": None},
        {"messages": [{"role": "tool", "content": "b", "name": "f"}], "tools": [{"x": 1}], "score": None},
        {"messages": [], "tools": [], "score": 1.0},
        {"messages": None, "tools": None, "score": 0.5},
    ]


def test_types_are_those_of_all_row_groups() -> None:
    rows: list[dict[str, Any]] = [{"a": {"b": 1}} for _ in range(GROUP_ROWS)]
    rows += [{"a": {"c": ["x"]}}, {"a": None, "d": True}]
    found = stored(rows)
    assert found[0] == {"a": {"b": 1, "c": None}, "d": None}
    assert found[-2:] == [{"a": {"b": None, "c": ["x"]}, "d": None}, {"a": None, "d": True}]


DEEP: Any = "x"
for _ in range(60):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"a": [1]}, {"a": ["x"]}], "/a/[] is a string in row 1 but a number in earlier rows"),
        ([{"a": 1}] * GROUP_ROWS + [{"a": True}], "/a is true or false in row 1,000 but a number in"),
        ([{"a": {"b": 1}}, {"a": None}, {"a": [1]}], "/a is a list in row 2 but an object in earlier rows"),
        ([{"a": [1, "x"]}], "row 0 has a value that Parquet has no type for"),
        ([{"a": "x"}, {"a": 2**70}], "/a is a number in row 1 but a string in earlier rows"),
        ([{"a": 1}, {"a": 2**63}], "row 1 has a value that Parquet has no type for"),
        ([{"a": "\ud800"}], "row 0 has a value that Parquet has no type for"),
        ([{"a": [{"b": {}}]}, {"a": [{"b": {}}]}], "every object at /a/[]/b is empty"),
        ([{"a": DEEP}], "nested too deeply"),
        ([{"a": 1}, [1]], "row 1 is not a JSON object but a list"),
    ],
)
def test_what_has_no_type_is_refused_by_its_place(rows: list[Any], sentence: str) -> None:
    file = io.BytesIO()
    with pytest.raises(ExportError, match="no Parquet was written") as refused:
        typed(lines(rows), file, range(len(rows)))
    assert sentence in refused.value.what and refused.value.fix, refused.value.what


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 + 5) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(("messages", "tools")), VALUE, max_size=2), min_size=1, max_size=6))
def test_what_is_stored_is_what_pandas_stores(rows: list[dict[str, Any]]) -> None:
    wrapped = [{"row": [row]} for row in rows]  # inside of a list pandas, too, leaves whole numbers beside nulls whole
    read = [json.loads(json.dumps(row)) for row in wrapped]
    file = io.BytesIO()
    try:
        pd.DataFrame(read).to_parquet(file, engine="pyarrow")
        theirs = pq.read_table(io.BytesIO(file.getvalue())).to_pylist()
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        theirs = None
    try:
        ours = stored(wrapped)
    except ExportError:
        ours = None
    assert ours == theirs


def test_a_set_of_no_rows_is_a_file_without_columns() -> None:
    assert stored([]) == []


def test_sftui_reads_what_it_writes(tmp_path: Path) -> None:
    from sftui.sources import SourceSpec, open_source

    path = tmp_path / "new.parquet"
    with path.open("wb") as file:
        typed(lines([{"messages": [{"role": "user", "content": str(n)}]} for n in range(2_500)]), file, range(2_500))
    rows = list(open_source(SourceSpec((str(path),))).rows())
    assert len(rows) == 2_500 and (rows[-1].data or {})["messages"] == [{"role": "user", "content": "2499"}]
