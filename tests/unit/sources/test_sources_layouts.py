"""Files that hold rows otherwise than one object a line: named as what they are, and read as the rows they mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pytest

from sftui.errors import SourceError
from sftui.sources import SourceSpec, open_source
from sftui.sources.source import Source


def turns(number: int) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": f"What is {number} + 1?"},
        {"role": "assistant", "content": f"It is {number + 1}."},
    ]


ROWS = [{"messages": turns(n), "source": f"made {n}"} for n in range(5)]
FRAME = pd.DataFrame(ROWS)
SERIES = FRAME["messages"]


def opened(path: Path) -> Source:
    return open_source(SourceSpec((str(path),)))


def rows_of(path: Path) -> list[Any]:
    source = opened(path)
    while not source.index_more(1):
        pass
    rows = list(source.rows())
    assert source.count().rows == len(rows)
    source.close()
    return rows


@pytest.mark.parametrize(
    ("text", "layout", "rows"),
    [
        ("\n".join(json.dumps(turns(n)) for n in range(3)) + "\n", "lists of turns", [turns(n) for n in range(3)]),
        ("\n".join(json.dumps(turns(n)) for n in range(3)), "lists of turns", [turns(n) for n in range(3)]),
        (json.dumps([turns(0), turns(1) * 2, turns(2)]), "a list of lists", [turns(0), turns(1) * 2, turns(2)]),
        (json.dumps([turns(0), turns(1)], indent=2), "a list of lists", [turns(0), turns(1)]),
        (FRAME.to_json(), "by columns, as pandas writes it", None),
        (FRAME[3:].to_json(indent=1), "by columns, as pandas writes it", None),
        (FRAME.to_json(orient="index"), "by row numbers, as with pandas' orient `index`", None),
        (FRAME.to_json(orient="split"), "by pandas' orient `split`", None),
        (FRAME.to_json(orient="split", index=False), "by pandas' orient `split`", None),
        (FRAME.to_json(orient="table", index=False), "by pandas' orient `table`", None),
        (SERIES.to_json(), "by row numbers, as pandas writes a series", None),
        (json.dumps({"q": ["a", "b"], "a": ["c", "d"]}), "by columns, each a list", None),
        (json.dumps(datasets.Dataset.from_list(ROWS).to_dict()), "by columns, each a list", None),
        (json.dumps({f"conv-{n}": ROWS[n] for n in range(4)}), "by keys", None),
    ],
)
@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.json.gz"])
def test_rows_in_another_layout(text: str, layout: str, rows: Any, name: str, tmp_path: Path) -> None:
    import gzip

    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    source = opened(tmp_path / name)
    found = list(source.rows())
    assert {row.layout for row in found} == {layout}
    if rows is not None:
        assert [row.data for row in found] == [{"messages": one} for one in rows]
        # the lines that a repair begins from are rows as well
        assert [json.loads(line or b"") for line in source.lines()] == [row.data for row in found]
    elif "source" in text and "split" not in layout and "series" not in layout:
        assert all(row.data in ROWS for row in found) and len(found) in (2, 4, 5)
    assert source.notes


def test_every_row_of_a_table_is_what_it_was() -> None:
    from sftui.sources.json_layout import table_of

    for text in (FRAME.to_json(), *(FRAME.to_json(orient=one) for one in ("index", "split"))):
        made = table_of(json.loads(text or ""))
        assert made is not None and list(made[1]) == ROWS
    assert table_of(json.loads(SERIES.to_json()))[1] == [{"messages": row["messages"]} for row in ROWS]  # type: ignore[index]


@pytest.mark.parametrize(
    "value",
    [
        ROWS[0],
        {"messages": turns(0), "tools": [{"type": "function"}, {"type": "function"}]},
        {"input_ids": [1, 2, 3], "labels": [1, 2, 3]},
        {"prompt": turns(0)[:1], "completion": turns(0)[1:]},
        {"user": {"text": "hi"}, "assistant": {"text": "Hello."}},
        {"data": ROWS},
        {"train": ROWS, "test": ROWS},
        {"messages": turns(0), "meta": {"0": 1}},
    ],
)
def test_an_object_that_is_one_row_stays_one(value: Any, tmp_path: Path) -> None:
    for name, indent in (("t.json", None), ("t.json", 2), ("t.jsonl", None)):
        (tmp_path / name).write_text(json.dumps(value, indent=indent))
        [row] = rows_of(tmp_path / name)
        assert row.data == value and not row.layout.startswith("by ")


def test_objects_over_lines_are_not_looked_into(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({"meta": {"0": 1}, **row}, indent=1) for row in ROWS))
    rows = rows_of(tmp_path / "t.jsonl")
    assert len(rows) == 5 and {row.layout for row in rows} == {"objects over several lines"}
    assert not any("is one object" in note for note in opened(tmp_path / "t.jsonl").notes)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 3\n", "a Git LFS pointer.*`git lfs pull`"),
        (b"/annex/objects/MD5E-s3--0f.jsonl\n", "a git-annex pointer.*`git annex get`"),
        (b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "a web page, not data.*/resolve/"),
    ],
)
@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.csv", "t.parquet", "t.txt"])
def test_what_stands_where_the_data_should(head: bytes, said: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(head)
    with pytest.raises(SourceError, match=said):
        opened(tmp_path / name)


def test_a_pointer_among_files_is_a_file_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    (tmp_path / "b.jsonl").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 3\n")
    source = opened(tmp_path)
    source.read_through()
    [damage] = source.damage
    assert "Git LFS pointer" in damage.why and damage.fix == "run `git lfs pull` in that folder"


def test_saved_datasets_side_by_side(tmp_path: Path) -> None:
    for split, rows in (("train", ROWS), ("eval", ROWS[:2])):
        datasets.Dataset.from_list(rows).save_to_disk(str(tmp_path / "ds" / split))
    assert [row.data for row in rows_of(tmp_path / "ds")] == ROWS
    source = open_source(SourceSpec((str(tmp_path / "ds"),), split="eval"))
    assert source.count().rows == 2 and source.row(0).layout == "saved splits"
    assert source.notes == ("ds contains several saved datasets but no dataset_dict.json; sftui reads ds/eval",)
    assert not rows_of(tmp_path / "ds" / "train")[0].layout


def test_lines_of_text_are_those_of_datasets(tmp_path: Path) -> None:
    file = tmp_path / "corpus.txt"
    file.write_bytes("\ufeffOne.\r\n\n Three \u2028 four\x0bfive\n[1] A note\nlast".encode())
    theirs = datasets.load_dataset("text", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache"))
    assert [row.data for row in rows_of(file)] == list(theirs)
    assert opened(file).kind == "text"


@pytest.mark.parametrize("stream", [True, False])
def test_an_arrow_file(stream: bool, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    writer = (pa.ipc.new_stream if stream else pa.ipc.new_file)(str(tmp_path / "t.arrow"), table.schema)
    with writer:
        writer.write_table(table)
    assert [row.data for row in rows_of(tmp_path / "t.arrow")] == ROWS
