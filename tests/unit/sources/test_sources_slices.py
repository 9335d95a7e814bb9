"""`split: train[…]` on local files gives the rows that `datasets` gives the trainer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from datasets import load_dataset

from sftui.errors import SourceError
from sftui.session.inputs import data_files
from sftui.sources import SourceSpec, open_source

SPLITS = [
    "train[:5]",
    "train[5:]",
    "train[3:7]",
    "train[-4:]",
    "train[:-4]",
    "train[2:1_0]",
    "train[:1000]",
    "train[40:50]",
    "train[7:3]",
    "train[:]",
    "train[:10%]",
    "train[90%:]",
    "train[-15%:]",
    "train[33%:66%]",
    "train[5:50%]",
    "train[:50%](closest)",
    "train[:7%](pct1_dropremainder)",
    "train[:2]+train[5:7]",
    "train[:10%]+train[-10%:]",
    "train[:10%] + train[-10%:]",
    "train[:3]+train",
    "train[:101%]",
    "train[:5](closest)",
    "train[:5%](nearest)",
    "train[5]",
    "train[:5",
    "train[:1__0]",
    "train[:5%](closest)+train[:5%](pct1_dropremainder)",
    "test[:5]",
]


def numbers(path: Path, split: str) -> list[int] | None:
    """The rows as sftui reads them; None where it refuses, or none are left."""
    try:
        source = open_source(SourceSpec((str(path),), split=split))
    except SourceError:
        return None
    try:
        rows = list(source.rows())
        assert [row.index for row in rows] == list(range(len(rows)))
        assert [source.row(i).data for i in range(len(rows))] == [row.data for row in rows]
        with pytest.raises(IndexError):
            source.row(len(rows))
        assert (source.count().rows, source.count().exact) == (len(rows), True)
        assert [row.data for row in source.rows(2)] == [row.data for row in rows[2:]]
        for row, line in zip(source.rows(), source.lines()):
            assert line is None or json.loads(line) == row.data
        return [row.data["n"] for row in rows if row.data is not None]
    finally:
        source.close()


@pytest.mark.one_of(3)
@pytest.mark.parametrize("rows", [1, 12, 33, 115, 250])
def test_the_same_rows_as_datasets(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"n": n}) + "\n" for n in range(rows)))
    refused = 0
    for split in SPLITS:
        try:
            real = load_dataset("json", data_files=str(path), split=split, cache_dir=str(tmp_path / "cache"))["n"]
        except Exception:  # ValueError, KeyError and others of datasets
            real = []
            refused += 1
        assert (numbers(path, split) or []) == list(real), split
    assert refused >= 5


def test_parts_of_a_folder_are_those_of_its_splits(tmp_path: Path) -> None:
    for name, rows in (("train", range(30)), ("test", range(100, 110))):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"n": n}) + "\n" for n in rows))
    for split in ("train[:3]", "test[-2:]", "train[:2]+test[:2]", "test[50%:]+train[10%:20%]"):
        real = load_dataset(str(tmp_path), split=split, cache_dir=str(tmp_path / ".cache"))["n"]
        assert numbers(tmp_path, split) == list(real), split
        named = {Path(file).stem for file in data_files((str(tmp_path),), split)}
        assert named == {name for name in ("train", "test") if name in split}


def test_what_is_no_split_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"n": 1}\n')
    for split, why in (
        ("train[5]", "not a split that datasets can read"),
        ("train[:101%]", "percentages go from -100 to 100"),
    ):
        with pytest.raises(SourceError) as told:
            open_source(SourceSpec((str(path),), split=split))
        assert why in str(told.value) and "write it as train[:500]" in str(told.value)
    with pytest.raises(SourceError, match="has no split test"):
        open_source(SourceSpec((str(path),), split="test[:5]"))
