"""CSV, Parquet and save_to_disk folders: the values that `datasets` gives, and what can go wrong."""

from __future__ import annotations

import datetime
import json
import os
import threading
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets.exceptions import DatasetGenerationError

from sftui.errors import SourceError
from sftui.sources import Source, SourceSpec, open_source
from sftui.sources.formats import csv_file, parquet
from sftui.sources.source import Damage

ROWS = [
    {"id": n, "messages": [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": "a" * n}]}
    for n in range(500)
]


def read(source: Source) -> list[Any]:
    while not source.index_more(1):
        pass
    rows = [row.data for row in source.rows()]
    assert source.count().rows == len(rows) and source.count().exact
    return rows


def theirs(path: Path, kind: str) -> list[Any]:
    return list(datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=str(path.parent / "cache")))


@pytest.mark.parametrize(
    "text",
    [
        "q,a\n1,x\n2,\n",
        'q,a\r\n"multi\nline ""quoted""",1.5\r\n,2\r\n',
        "q,a\n\n1,2\n\n3,4\n",
        "q,a\n007,true\n8,false\n",
        "q,a\nNA,null\nx,nan\n",
        "\ufeffq,a\n1,é\n",
        "q,q,\n1,2,3\n",
        "id,t\n" + "".join(f"{n},text {n}\n" for n in range(57)),
        "id,t\n" + "".join(f"{n},{n if n < 20 else n + 0.0}\n" for n in range(57)),
    ],
)
def test_csv_equals_datasets(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8", newline="")
    monkeypatch.setattr(csv_file, "CHUNK", 10)
    expected = list(
        datasets.load_dataset("csv", data_files=str(path), split="train", cache_dir=str(tmp_path / "c"), chunksize=10)
    )
    source = open_source(SourceSpec((str(path),)))
    assert read(source) == expected
    assert source.columns() == tuple(expected[0])


def test_tsv(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tb\n1,5\tx\n")
    assert read(open_source(SourceSpec((str(tmp_path / "t.tsv"),)))) == [{"a": "1,5", "b": "x"}]


def test_csv_rows_come_before_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "CHUNK", 100)
    (tmp_path / "t.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(1050)))
    source = open_source(SourceSpec((str(tmp_path / "t.csv"),)))
    assert source.count().rows == 100 and not source.count().exact
    assert source.row(1049).data == {"n": 1049}
    assert source.row(3).data == {"n": 3}
    with pytest.raises(IndexError):
        source.row(1050)


def test_csv_of_long_rows_comes_in_smaller_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "CHUNK_BYTES", 10_000)
    (tmp_path / "t.csv").write_text("n,t\n" + "".join(f"{n},{'x' * 998}\n" for n in range(50)))
    source = open_source(SourceSpec((str(tmp_path / "t.csv"),)))
    assert source.count().rows == 10
    assert [row["n"] for row in read(source)] == list(range(50))
    assert "column types are inferred from 10 rows at a time" in source.notes[0]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_tables_are_read_from_several_threads(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "CHUNK", 20)
    monkeypatch.setattr(parquet, "BATCH_BYTES", 500)
    monkeypatch.setattr(parquet, "LARGE_GROUP", 0)
    dataset = datasets.Dataset.from_list([{"n": n} for n in range(1000)])
    path = str(tmp_path / f"t.{kind}")
    {"csv": dataset.to_csv, "parquet": dataset.to_parquet, "arrow": dataset.save_to_disk}[kind](path)
    source = open_source(SourceSpec((path,)))
    wrong: list[int] = []

    def look(step: int) -> None:
        wrong.extend(n for n in range(0, 1000, step) if source.row(n).data != {"n": n})

    threads = [threading.Thread(target=look, args=(step,)) for step in (7, 3)]
    threads.append(threading.Thread(target=read, args=(source,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and source.count().rows == 1000


def test_csv_that_datasets_refuses_is_read_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4,5\n6,7\n")
    source = open_source(SourceSpec((str(path),)))
    assert read(source) == [{"a": 1, "b": 2}, {"a": 6, "b": 7}]
    assert "line 3: expected 2 fields, saw 3" in source.notes[0] and "rejects" in source.notes[0]
    monkeypatch.setattr(csv_file, "CHUNK", 2)
    path.write_text("a\n1\n2\nx\ny\n5\n")
    source = open_source(SourceSpec((str(path),)))
    assert read(source) == [{"a": 1}, {"a": 2}, {"a": "x"}, {"a": "y"}, {"a": 5}]
    assert "rows 2 to 3 have different column types" in source.notes[0]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"a,b\n", "has a header and no rows"),
        (b"a,b\n1,\xff\n", "is not readable CSV, because .*utf-8"),
    ],
)
def test_csv_that_cannot_be_read(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(SourceError, match=says):
        open_source(SourceSpec((str(tmp_path / "t.csv"),)))


@pytest.mark.parametrize("group", [1, 7, 100, 1000])
@pytest.mark.parametrize("unpacked", [False, True])
def test_parquet_rows_in_any_order(tmp_path: Path, group: int, unpacked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH_BYTES", 500)
    monkeypatch.setattr(parquet, "LARGE_GROUP", 0 if unpacked else 1 << 40)
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "t.parquet", row_group_size=group)
    source = open_source(SourceSpec((str(tmp_path / "t.parquet"),)))
    assert source.count().rows == 500 and source.count().exact
    assert source.columns() == ("id", "messages")
    for index in (499, 0, 250, 251, 249, 3, 499):
        assert source.row(index).data == ROWS[index]
    assert read(source) == ROWS
    for index in (499, 0, 250, 251, 249, 3, 499):
        assert source.row(index).data == ROWS[index]
    for index in (500, -1):
        with pytest.raises(IndexError):
            source.row(index)
    source.close()


def test_parquet_values_equal_datasets(tmp_path: Path) -> None:
    table = pa.table(
        {
            "struct": pa.array(
                [{"a": 1, "b": None}, {"b": [1]}, None],
                pa.struct([("a", pa.int8()), ("b", pa.list_(pa.int64()))]),
            ),
            "when": pa.array([datetime.datetime(2026, 1, 2), None, None], pa.timestamp("us")),
            "bytes": [b"\xff", b"", None],
            "label": pa.array(["x", "y", "x"]).dictionary_encode(),
        }
    )  # fmt: skip
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    found = read(open_source(SourceSpec((str(path),))))
    assert found == theirs(path, "parquet")
    assert found[1]["struct"] == {"a": None, "b": [1]}, "keys that Arrow fills stay"


def test_json_columns_are_decoded_as_datasets_does(tmp_path: Path) -> None:
    features = datasets.Features({"n": datasets.Value("int64"), "any": datasets.Json()})
    dataset = datasets.Dataset.from_list([{"n": 1, "any": {"a": [1]}}, {"n": 2, "any": "x"}], features=features)
    dataset.to_parquet(str(tmp_path / "t.parquet"))
    dataset.save_to_disk(str(tmp_path / "saved"))
    assert read(open_source(SourceSpec((str(tmp_path / "t.parquet"),)))) == list(dataset)
    assert read(open_source(SourceSpec((str(tmp_path / "saved"),)))) == list(dataset)


def test_a_table_row_over_the_limit(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": ["x", "y" * 3_000_000, "z"]}), tmp_path / "t.parquet")
    source = open_source(SourceSpec((str(tmp_path / "t.parquet"),), row_limit=1_000_000))
    assert [row.data for row in source.rows()] == [{"t": "x"}, None, {"t": "z"}]
    assert "over the limit of 1,000,000" in (source.row(1).problem or "")


def test_tables_without_rows(tmp_path: Path) -> None:
    empty = datasets.Dataset.from_dict({"a": []})
    empty.to_parquet(str(tmp_path / "t.parquet"))
    empty.save_to_disk(str(tmp_path / "saved"))
    for name in ("t.parquet", "saved"):
        with pytest.raises(SourceError, match=rf"^{name}: has no rows$"):
            open_source(SourceSpec((str(tmp_path / name),)))


def test_another_separator_is_suspected(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1;2\n")
    source = open_source(SourceSpec((str(tmp_path / "t.csv"),)))
    assert read(source) == [{"a;b": "1;2"}]
    assert source.notes == (
        "t.csv has one column, named 'a;b'; its fields appear to be separated by ;, which datasets reads with sep=';'",
    )


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"a,b\n")
    with pytest.raises(SourceError, match="does not begin with PAR1"):
        open_source(SourceSpec((str(path),)))
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(SourceError, match="is not a Parquet file"):
        open_source(SourceSpec((str(path),)))
    path.write_bytes(whole)
    source = open_source(SourceSpec((str(path),)))
    os.truncate(path, 100)
    assert "file changed while sftui read it" in (source.row(499).problem or "")


@pytest.mark.parametrize("unpacked", [False, True])
def test_a_damaged_row_group_leaves_the_others(tmp_path: Path, unpacked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "LARGE_GROUP", 0 if unpacked else 1 << 40)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=100, compression="gzip")
    column = pq.ParquetFile(path).metadata.row_group(2).column(2)
    data = bytearray(path.read_bytes())
    end = (column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size
    data[column.data_page_offset + 20 : end] = b"\xff" * (end - column.data_page_offset - 20)
    path.write_bytes(data)
    source = open_source(SourceSpec((str(path),)))
    while not source.index_more(1):
        pass
    assert source.damage == ()  # nobody has looked there yet
    assert source.row(250).data is None and "cannot be decoded: the file is damaged at that point" in (
        source.row(250).problem or ""
    )
    damages: tuple[Damage, ...] = tuple(source.damage)
    (damage,) = damages
    assert damage.rows == 400 and "100 of its 500 rows are damaged, from row 200 on" in damage.why
    again = open_source(SourceSpec((str(path),)))
    again.read_through()
    assert [one.rows for one in again.damage] == [400]
    assert source.row(199).data == ROWS[199] and source.row(300).data == ROWS[300]
    assert len(list(source.rows())) == 500


def test_csv_columns_of_mixed_types(tmp_path: Path) -> None:
    # pandas infers types in pieces of 256 KiB, so a column may come out half numbers, half text
    rows = [str(n) for n in range(9_000)]
    rows[8_999] = "x"
    rows[5] = ""
    (tmp_path / "t.csv").write_text("n,t\n" + "".join(f"{value},{'y' * 60}\n" for value in rows))
    found = read(open_source(SourceSpec((str(tmp_path / "t.csv"),))))
    assert len(found) == 9_000 and found[8_999]["n"] == "x" and found[5]["n"] is None


@pytest.mark.parametrize("number", [str(2**64), str(-(2**63) - 1), "9" * 30, "9" * 400])
def test_csv_numbers_that_no_column_holds_are_text_and_said(tmp_path: Path, number: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"n,t\n1,a\n{number},b\n")
    with pytest.raises(DatasetGenerationError):
        datasets.load_dataset("csv", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    source = open_source(SourceSpec((str(path),)))
    assert read(source) == [{"n": "1", "t": "a"}, {"n": number, "t": "b"}]
    assert any("beyond 64 bits" in note and "datasets.load_dataset rejects" in note for note in source.notes)


def test_csv_numbers_up_to_64_bits_are_numbers_as_in_datasets(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"n,t\n{2**64 - 1},a\n1,b\n")
    theirs = datasets.load_dataset("csv", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    source = open_source(SourceSpec((str(path),)))
    assert read(source) == list(theirs) == [{"n": 2**64 - 1, "t": "a"}, {"n": 1, "t": "b"}]
    assert source.notes == ()


def test_csv_numbers_that_grow_beyond_their_column_later_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "CHUNK", 2)
    (tmp_path / "t.csv").write_text(f"n\n1\n2\n{2**64}\n4\n5\n")
    source = open_source(SourceSpec((str(tmp_path / "t.csv"),)))
    assert [row["n"] for row in read(source)][:2] == [1, 2] and source.count().rows == 5
    assert any("rejects such a file" in note for note in source.notes)


def test_parquet_whose_names_are_no_text_is_one_sentence(tmp_path: Path) -> None:
    pq.write_table(pa.table({"abcdef": [1]}), tmp_path / "t.parquet", store_schema=False)
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(whole.replace(b"abcdef", b"ab\xff\xfeef"))
    with pytest.raises(SourceError, match="not a Parquet file"):
        open_source(SourceSpec((str(tmp_path / "t.parquet"),)))


def test_saved_datasets(tmp_path: Path) -> None:
    dataset = datasets.Dataset.from_list(ROWS)
    dataset.save_to_disk(str(tmp_path / "one"), num_shards=3)
    source = open_source(SourceSpec((str(tmp_path / "one"),)))
    assert source.kind == "arrow" and source.columns() == ("id", "messages")
    assert read(source) == ROWS
    assert source.row(499).where == "one row 499"
    source.close()


def test_a_saved_selection_keeps_its_order(tmp_path: Path) -> None:
    chosen = datasets.Dataset.from_list(ROWS).select([5, 3, 400])
    chosen.save_to_disk(str(tmp_path / "some"))
    assert read(open_source(SourceSpec((str(tmp_path / "some"),)))) == [ROWS[5], ROWS[3], ROWS[400]]


def test_saved_splits(tmp_path: Path) -> None:
    both = datasets.DatasetDict(
        {"test": datasets.Dataset.from_list(ROWS[:3]), "train": datasets.Dataset.from_list(ROWS[3:9])}
    )
    both.save_to_disk(str(tmp_path / "both"))
    folder = str(tmp_path / "both")
    assert read(open_source(SourceSpec((folder,)))) == ROWS[3:9]
    assert read(open_source(SourceSpec((folder,), split="test"))) == ROWS[:3]
    with pytest.raises(
        SourceError, match=r"has no split tset, because its splits are test, train; did you mean `test`\?"
    ):
        open_source(SourceSpec((folder,), split="tset"))


@pytest.mark.parametrize("name", ["gone", "a" * 300, "../elsewhere", "a\0b"])
def test_a_split_that_no_folder_can_hold_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": [name]}))
    with pytest.raises(SourceError, match="is not a readable save_to_disk folder"):
        open_source(SourceSpec((str(tmp_path),)))


def test_a_damaged_saved_folder(tmp_path: Path) -> None:
    datasets.Dataset.from_list(ROWS).save_to_disk(str(tmp_path / "one"))
    (data,) = (tmp_path / "one").glob("*.arrow")
    source = open_source(SourceSpec((str(tmp_path / "one"),)))
    os.truncate(data, 100)
    assert "file changed while sftui read it" in (source.row(0).problem or "")
    data.unlink()
    with pytest.raises(SourceError, match="is not a readable save_to_disk folder"):
        open_source(SourceSpec((str(tmp_path / "one"),)))


def test_a_saved_folder_cut_between_two_batches(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    datasets.Dataset.from_list(ROWS).save_to_disk(str(folder))
    assert open_source(SourceSpec((str(folder),))).damage == ()
    (data,) = folder.glob("*.arrow")
    whole = data.read_bytes()
    data.write_bytes(whole[:-8])
    (damage,) = open_source(SourceSpec((str(folder),))).damage
    assert damage.title == f"one/{data.name}" and damage.rows == 500 and "end-of-stream marker" in damage.why
    data.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=f"because {data.name}.*copy or write it again"):
        open_source(SourceSpec((str(folder),)))


def test_untyped_columns_become_text_with_their_gaps() -> None:
    # pandas 2 gives such a column for numbers followed by text; pandas 3 gives text by itself
    frame = pd.DataFrame({"a": pd.Series([1, "x", None], dtype=object), "b": [1, 2, 3]})
    assert pa.Table.from_pandas(csv_file._mixed_as_text(frame)).to_pydict() == {"a": ["1", "x", None], "b": [1, 2, 3]}
