"""The encoded table: read in every way, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sftui
from sftui.cli import main

REPO = Path(__file__).resolve().parents[3]
CHAT = REPO / "sample_data" / "chat_messages.jsonl"
GIVEN: dict[str, Any] = {"tokenizer": "builtin:chatml"}


def test_every_way_of_reading_gives_the_same() -> None:
    import pyarrow as pa

    with sftui.open(CHAT, **GIVEN) as data:
        table = data.encode(explain=True)
        assert table.written is None
        whole = table.to_arrow()
        assert whole.schema == table.schema and pa.table(table) == whole == pa.Table.from_batches(table.batches())
        records = list(table.records())
        assert table.written is not None and table.written.rows == len(records) == whole.num_rows
        assert [tuple(ids) if ids is not None else None for ids in whole["input_ids"].to_pylist()] == [
            one.get("input_ids") for one in records
        ]
        rows = {row.index: row for row in data}
        for one in records:
            if "tokens" in one:
                assert tuple(one["tokens"]) == rows[one["row"]].tokens


def test_parquet_is_that_of_the_command(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    with pytest.raises(SystemExit):
        main(["encode", str(CHAT), "-t", "builtin:chatml", "-o", str(theirs)])
    with sftui.open(CHAT, **GIVEN) as data:
        written = data.encode().to_parquet(ours)
        assert written.rows == 43 and ours.read_bytes() == theirs.read_bytes()
        with pytest.raises(sftui.SftuiError, match="already exists"):
            data.encode().to_parquet(ours)
        data.encode(explain=True).to_parquet(ours, overwrite=True)
        assert ours.read_bytes() != theirs.read_bytes()
        with pytest.raises(sftui.SftuiError, match="sftui never writes in place"):
            data.encode().to_parquet(CHAT, overwrite=True)
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == ["ours.parquet", "theirs.parquet"]


def test_what_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    data = sftui.open(CHAT, **GIVEN)
    table = data.encode()
    data.close()
    with pytest.raises(sftui.SftuiError, match="closed"):
        table.to_parquet(tmp_path / "out.parquet")
    assert not [one for one in tmp_path.iterdir() if one.is_file()]


def test_a_dataset_holds_what_reaches_the_trainer() -> None:
    rows = [
        {"messages": [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hi."}]},
        {"messages": [{"role": "user", "content": "Hi " * 40}, {"role": "assistant", "content": "Hi."}]},
    ]
    found = sftui.encode(rows, **GIVEN, trainer="axolotl", max_length=24).to_dataset()
    assert found.column_names == ["input_ids", "labels", "attention_mask"] and len(found) == 1
    packed = sftui.encode(rows, **GIVEN, trainer="trl", set={"pack.strategy": "bfd", "length.max": 64}).to_dataset()
    assert {"input_ids", "labels", "seq_lens"} <= set(packed.column_names) and len(packed) == 2
    with pytest.raises(sftui.SftuiError, match="there is no split dev"):
        sftui.encode(rows, **GIVEN).to_dataset("dev")


def test_where_the_trainer_stops_there_is_no_dataset() -> None:
    rows = [
        {"messages": [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hi."}]},
        {"messages": 7},
    ]
    with pytest.raises(sftui.SftuiError, match=r"sftui does not know what TRL makes of row 1.*, and stopped there"):
        sftui.encode(rows, **GIVEN, trainer="trl").to_dataset()
    turns = [{"from": "human", "value": "Hi?"}, {"from": "gpt", "value": "Hi."}]
    rows = [{"conversations": turns}, {"conversations": [turns[0], {"from": "gpt", "value": 7}]}]
    with pytest.raises(sftui.SftuiError, match="stops the whole run at row 1"):
        sftui.encode(rows, **GIVEN, trainer="llamafactory", set={"render.template": "llamafactory/qwen"}).to_dataset()


def test_half_a_file_is_not_encoded(tmp_path: Path) -> None:
    import gzip

    whole = gzip.compress(CHAT.read_bytes())
    half = tmp_path / "half.jsonl.gz"
    half.write_bytes(whole[: len(whole) // 2])
    with sftui.open(half, **GIVEN) as data, pytest.raises(sftui.SftuiError, match="cannot be read to the end"):
        data.encode()


def test_weights_are_reachable_everywhere() -> None:
    answer = {"role": "assistant", "content": "Hello.", "weight": 0.3}
    rows = [{"messages": [{"role": "user", "content": "hi"}, answer]}]
    knobs = {"mask.rule": "assistant", "loss.weights": "float"}
    with sftui.open(rows, set=knobs, **GIVEN) as data:
        row, table = data[0], data.encode()
        assert row.loss_weights is not None and row.loss_weights == row.parts[0].loss_weights
        assert [weight > 0 for weight in row.loss_weights] == [label != -100 for label in row.labels]
        assert {*row.loss_weights} == {0.0, 0.3}
        assert str(table.schema.field("loss_weights").type) == "list<item: float>"
        assert "loss_weights" in table.to_dataset().column_names
        [batch] = data.batches(1)
        assert batch.weights is not None and tuple(batch.weights[0]) == row.loss_weights
        assert "loss weights are for your own loss" in " ".join(data.notes)
        assert "×0.3" in row._repr_html_()
    with sftui.open(rows, **GIVEN) as data:
        assert data[0].loss_weights is None and "loss_weights" not in data.encode().schema.names
        assert next(data.batches(1)).weights is None and "×" not in data[0]._repr_html_()
