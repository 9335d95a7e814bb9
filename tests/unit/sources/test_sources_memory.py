"""Rows that a program holds: each as the row that its JSON would be."""

from __future__ import annotations

import enum
import json
from typing import Any

import pytest

from sftui.errors import SourceError
from sftui.sources import SourceSpec
from sftui.sources.memory import ListSource, plain, source_in_memory

SPEC = SourceSpec(())


class Role(str, enum.Enum):
    USER = "user"


def test_values_become_what_json_brings_back() -> None:
    import numpy as np

    given = {
        "a": (1, 2),
        "b": np.arange(3),
        "c": np.float32(0.5),
        "d": Role.USER,
        "e": {"f": [None, True, 1.5]},
        "g": np.bool_(True),
        "h": np.str_("text"),
    }
    found = plain(given)
    assert found == {
        "a": [1, 2],
        "b": [0, 1, 2],
        "c": 0.5,
        "d": "user",
        "e": {"f": [None, True, 1.5]},
        "g": True,
        "h": "text",
    }
    assert found == json.loads(json.dumps(found)) and type(found["d"]) is type(found["h"]) is str


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"a": object()}, "object is not a JSON value"),
        ({"a": {1: 2}}, "the key 1 is not text"),
        ({"a": {3, 4}}, "set is not a JSON value"),
        ([1], "is not a dict but list"),
        (None, "is not a dict but NoneType"),
        ("text", "is not a dict but str"),
    ],
)
def test_a_row_that_is_none_says_so_and_the_others_are_read(row: Any, told: str) -> None:
    source = source_in_memory([{"text": "a"}, row, {"text": "b"}], SPEC)
    assert source.row(1).data is None and told in str(source.row(1).problem)
    assert [one.data for one in source.rows()] == [{"text": "a"}, None, {"text": "b"}]


def test_what_holds_itself_ends() -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    assert "nested deeper than 200" in str(source_in_memory([loop], SPEC).row(0).problem)


def test_rows_are_snapshots() -> None:
    rows = [{"messages": [{"role": "user"}]}]
    seen = source_in_memory(rows, SPEC).row(0)
    rows[0]["messages"].append({"role": "assistant"})
    assert seen.data == {"messages": [{"role": "user"}]}


def test_a_long_row_is_refused() -> None:
    source = ListSource([{"text": "x" * 100}], row_limit=50)
    assert "over the limit of 50 per row" in str(source.row(0).problem)


def test_a_generator_is_taken_whole() -> None:
    source = source_in_memory(({"text": str(n)} for n in range(5)), SPEC)
    assert source.count().rows == 5 and source.count().exact and source.columns() == ("text",)
    for past in (5, -1):
        with pytest.raises(IndexError):
            source.row(past)


def test_tables_of_arrow_pandas_and_datasets_are_read() -> None:
    import datasets
    import pandas as pd
    import pyarrow as pa

    rows = [{"text": str(n), "n": n} for n in range(7)]
    table = pa.concat_tables([pa.Table.from_pylist(rows[:3]), pa.Table.from_pylist(rows[3:])])
    for data in (table, table.combine_chunks().to_batches()[0], pd.DataFrame(rows), datasets.Dataset.from_list(rows)):
        source = source_in_memory(data, SPEC)
        assert [row.data for row in source.rows()] == rows and source.columns() == ("text", "n")
        source.close()


def test_what_cannot_be_read_by_number_says_what_to_give() -> None:
    import datasets

    one = datasets.Dataset.from_list([{"a": 1}])
    for data, told in (
        (one.to_iterable_dataset(), "an IterableDataset has no row numbers"),
        ({"a": 1}, "a single dict is one row; put it into a list"),
        (b"bytes", "bytes is not data that sftui can open"),
        (datasets.Dataset.from_list([]), "the Dataset: has no rows"),
    ):
        with pytest.raises(SourceError) as raised:
            source_in_memory(data, SPEC)
        assert told in str(raised.value)
    split = datasets.DatasetDict({"train": one, "test": datasets.Dataset.from_list([{"a": 2}])})
    assert source_in_memory(split, SourceSpec((), split="test")).row(0).data == {"a": 2}
    with pytest.raises(SourceError, match="dev"):
        source_in_memory(split, SourceSpec((), split="dev"))
