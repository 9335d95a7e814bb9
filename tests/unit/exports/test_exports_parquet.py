"""Prepared rows as parquet: what is read back is what was put, in groups that are not too large."""

from __future__ import annotations

import io
import weakref
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

from sftui.exports import parquet
from sftui.exports.records import Columns


def written(records: list[dict[str, Any]], columns: Columns = parquet.ROWS) -> pq.ParquetFile:
    file = io.BytesIO()
    parquet.write_parquet(file, records, columns)
    return pq.ParquetFile(io.BytesIO(file.getvalue()))


def row(number: int, tokens: int) -> dict[str, Any]:
    ids = tuple(range(number, number + tokens))
    return {"row": number, "input_ids": ids, "labels": (-100, *ids[1:]), "attention_mask": (1,) * tokens}


def test_long_rows_fill_a_group_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_TOKENS", 500)
    monkeypatch.setattr(parquet, "FIRST_TOKENS", 1000)
    made = [row(number, 100) for number in range(1, 31)]
    file = written(made)
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [10, 5, 5, 5, 5]
    assert [{**one, "input_ids": list(one["input_ids"])} for one in made] == [
        {**one, "labels": tuple(one["labels"]), "attention_mask": tuple(one["attention_mask"])}
        for one in file.read(["row", "input_ids", "labels", "attention_mask"]).to_pylist()
    ]


def test_no_group_is_kept_while_the_next_one_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_TOKENS", 500)
    monkeypatch.setattr(parquet, "FIRST_TOKENS", 1000)
    made: list[weakref.ref[Any]] = []
    batch_of = parquet._batch

    def noted(*given: Any) -> Any:
        batch = batch_of(*given)
        made.append(weakref.ref(batch))
        return batch

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(30):
            yield row(number, 100)
            assert number % 5 == 4 or not any(batch() for batch in made)

    monkeypatch.setattr(parquet, "_batch", noted)
    parquet.write_parquet(io.BytesIO(), rows())
    assert len(made) == 5


def test_rows_that_lack_columns_are_null_there() -> None:
    made = [{"row": 0, "dropped": "too long"}, row(1, 3), {"row": 2, "error": "half a \ud800 character"}]
    read = written(made).read().to_pylist()
    assert [one["input_ids"] for one in read] == [None, [1, 2, 3], None]
    assert [one["attention_mask"] for one in read] == [None, [1, 1, 1], None]
    assert [one["dropped"] for one in read] == ["too long", None, None]
    assert read[2]["error"] == "half a \\ud800 character"


def test_a_mask_of_zeros_and_ones_keeps_its_zeros() -> None:
    made = {**row(0, 3), "attention_mask": (1, 0, 1)}
    assert written([made]).read()["attention_mask"].to_pylist() == [[1, 0, 1]]


def test_weights_have_a_column_of_their_own_where_the_trainer_has_some() -> None:
    made = [{**row(0, 3), "loss_weights": (0.0, 0.3, 1e300)}, {"row": 1, "dropped": "too long"}]
    read = written(made, Columns(weights=True)).read()
    assert str(read.schema.field("loss_weights").type) == "list<element: float>"
    assert read["loss_weights"].to_pylist() == [[0.0, 0.30000001192092896, float("inf")], None]
    assert "loss_weights" not in written([row(0, 3)]).read().column_names
