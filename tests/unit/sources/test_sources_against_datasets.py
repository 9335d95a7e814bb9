"""Row numbers and counts are those of `datasets.load_dataset` on the same files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import datasets
import pytest

from sftui.sources import Source, SourceSpec, open_source


def theirs(tmp_path: Path, kind: str, files: list[str]) -> list[dict[str, Any]]:
    return list(datasets.load_dataset(kind, data_files=files, split="train", cache_dir=str(tmp_path / "cache")))


def read(source: Source) -> list[Any]:
    while not source.index_more(1):
        pass
    rows = [row.data for row in source.rows()]
    assert source.count().exact and source.count().rows == len(rows)
    return rows


def filled(row: Any, like: Any) -> Any:
    """`row` with the keys that Arrow adds, so that only the values are compared."""
    if isinstance(like, dict) and isinstance(row, dict):
        return {key: filled(row.get(key), value) for key, value in like.items()}
    if isinstance(like, list) and isinstance(row, list) and len(row) == len(like):
        return [filled(inner, value) for inner, value in zip(row, like)]
    return row


CASES: dict[str, dict[str, bytes]] = {
    "lines": {"a.jsonl": b'{"n":0}\n{"n":1}\n'},
    "no last newline": {"a.jsonl": b'{"n":0}\n{"n":1}'},
    "blank lines": {"a.jsonl": b'\n{"n":0}\n\n  \t\n{"n":1}\n\r\n\n'},
    "crlf": {"a.jsonl": b'{"n":0}\r\n{"n":1}\r\n'},
    "byte order mark": {"a.jsonl": b'\xef\xbb\xbf{"n":0}\n{"n":1}\n'},
    "indented lines": {"a.jsonl": b'  {"n":0}\n\t{"n":1}\n'},
    "lines in .json": {"a.json": b'{"n":0}\n{"n":1}\n'},
    "list": {"a.json": b'[{"n":0},\n {"n":1}]'},
    "list in .jsonl": {"a.jsonl": b'[{"n":0},{"n":1}]\n'},
    "list after spaces": {"a.json": b' \n[{"n":0},{"n":1}]'},
    "list of strings": {"a.json": b'["x","y"]'},
    "list of numbers": {"a.json": b"[1,2]"},
    "one object": {"a.json": b'{"n":0}'},
    "one object over lines": {"a.json": b'{\n "n": 0,\n "m": [\n1]\n}\n'},
    "objects over lines": {"a.json": b'{\n "n": 0\n}\n{\n "n": 1\n}\n'},
    "rows in a field": {"a.json": b'{"data": [{"n":0},{"n":1}]}'},
    "missing keys": {"a.jsonl": b'{"n":0}\n{"m":"x"}\n'},
    "shards": {"s-2.jsonl": b'{"n":0}\n', "s-10.jsonl": b'{"n":1}\n', "s-1.jsonl": b'{"n":2}\n{"n":3}\n'},
    "packed": {"a.jsonl.gz": gzip.compress(b'{"n":0}\n\n{"n":1}\n')},
    "packed list": {"a.json.gz": gzip.compress(b'[{"n":0},{"n":1}]')},
    "an empty shard": {"a.jsonl": b'{"n":0}\n', "b.jsonl": b"", "c.jsonl": b'{"n":1}\n'},
}


@pytest.mark.parametrize("case", CASES)
def test_json_rows_are_those_of_datasets(tmp_path: Path, case: str) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for name, data in CASES[case].items():
        (folder / name).write_bytes(data)
    pattern = str(folder / "*")
    expected = theirs(tmp_path, "json", [pattern])
    for source in (open_source(SourceSpec((pattern,))), open_source(SourceSpec((str(folder),)))):
        found = read(source)
        assert [filled(row, like) for row, like in zip(found, expected)] == expected
        assert len(found) == len(expected)


def test_a_glob_across_folders_is_in_the_order_of_datasets(tmp_path: Path) -> None:
    for number, name in enumerate(
        ["b/x.jsonl", "a/z.jsonl", "a.jsonl", "a-1.jsonl", "B.jsonl", "a/10.jsonl", "a/9.jsonl"]
    ):
        (tmp_path / "set" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "set" / name).write_text(f'{{"n": {number}}}\n')
    pattern = str(tmp_path / "set" / "**" / "*.jsonl")
    assert read(open_source(SourceSpec((pattern,)))) == theirs(tmp_path, "json", [pattern])
    assert read(open_source(SourceSpec((str(tmp_path / "set"),)))) == list(
        datasets.load_dataset(str(tmp_path / "set"), split="train", cache_dir=str(tmp_path / "cache"))
    )


@pytest.mark.shared
def test_every_shared_dataset_opens_with_all_its_rows(shared: Path) -> None:
    counts = {}
    for path in sorted((shared / "testdata" / "datasets").iterdir()):
        found = read(open_source(SourceSpec((str(path),))))
        counts[path.name] = len(found)
        if path.suffix == ".json":
            whole = json.loads(path.read_text(encoding="utf-8"))
            assert found == (whole if isinstance(whole, list) else [whole])
        elif path.suffix == ".jsonl" and "dirty" not in path.name:
            lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
            assert found == [json.loads(line) for line in lines]
        elif path.suffix == ".parquet":
            assert found == datasets.Dataset.from_parquet(str(path), keep_in_memory=True).to_list()
    assert sum(counts.values()) > 13_000
    print(f"{sum(counts.values()):,} rows of {len(counts)} files compared")


@pytest.mark.shared
def test_every_clean_shared_json_set_has_the_count_of_datasets(shared: Path, tmp_path: Path) -> None:
    for path in sorted((shared / "testdata" / "datasets").glob("*.json*")):
        if "dirty" in path.name:
            continue
        expected = theirs(tmp_path, "json", [str(path)])
        found = read(open_source(SourceSpec((str(path),))))
        assert len(found) == len(expected), path.name


@pytest.mark.shared
def test_the_dirty_set_names_its_broken_lines(shared: Path) -> None:
    source = open_source(SourceSpec((str(shared / "testdata" / "datasets" / "derived_dirty_messages.jsonl"),)))
    rows = list(source.rows())
    broken = {int(row.where.rsplit(" ", 1)[1]) for row in rows if row.problem}
    assert broken == {5, 6, 7, 8, 9, 34}
    assert len(rows) == 50, "line 4 is blank"
    assert rows[3].where.endswith("line 5")
