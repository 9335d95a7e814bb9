"""What a name means: folders, splits, globs, shards, several files, suggestions, refusals."""

from __future__ import annotations

import gc
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sftui.errors import SourceError
from sftui.sources import Source, SourceSpec, open_source


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def values(source: Source) -> list[object]:
    return [row.data["n"] if row.data else None for row in source.rows()]


def lines(*numbers: int) -> str:
    return "".join(f'{{"n": {number}}}\n' for number in numbers)


def test_a_folder_of_shards_is_read_in_order_of_names(tmp_path: Path) -> None:
    write(tmp_path, {"s-10.jsonl": lines(3), "s-2.jsonl": lines(4, 5), "s-1.jsonl": lines(0, 1), ".hidden.jsonl": "x",
                     "README.md": "# hello", "__pycache__/x.jsonl": "x", "notes.txt": "x"})  # fmt: skip
    source = open_source(SourceSpec((str(tmp_path),)))
    assert values(source) == [0, 1, 3, 4, 5]
    assert [row.index for row in source.rows()] == [0, 1, 2, 3, 4]
    assert source.row(4).where == "s-2.jsonl line 2"
    assert source.row(3).where == "s-2.jsonl line 1"
    assert source.count().rows == 5 and source.index_more(1) and source.count().exact


def test_a_row_far_ahead_opens_only_what_lies_before_it(tmp_path: Path) -> None:
    write(tmp_path, {f"{n:03}.jsonl": lines(n) for n in range(50)})
    source = open_source(SourceSpec((str(tmp_path / "*.jsonl"),)))
    assert not source.count().exact
    assert source.row(30).data == {"n": 30}
    assert source.count().rows == 31
    with pytest.raises(IndexError):
        source.row(50)
    assert source.count().exact and source.count().rows == 50


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not list the open files of a process")
def test_a_source_that_nobody_closed_keeps_no_file_open(tmp_path: Path) -> None:
    write(tmp_path, {f"{n}.jsonl": lines(n) for n in range(3)})
    (tmp_path / "3.jsonl.gz").write_bytes(gzip.compress(lines(3).encode()))
    source = open_source(SourceSpec((str(tmp_path),)))
    assert [source.row(at).data for at in range(4)] == [{"n": at} for at in range(4)]
    before = len(os.listdir("/proc/self/fd"))
    del source
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before - 4


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        (["train.jsonl", "test.jsonl"], {"train": ["train.jsonl"], "test": ["test.jsonl"]}),
        (["my-dev.jsonl", "my_train_1.jsonl"], {"train": ["my_train_1.jsonl"], "validation": ["my-dev.jsonl"]}),
        (["train/a.jsonl", "eval/b.jsonl"], {"train": ["train/a.jsonl"], "test": ["eval/b.jsonl"]}),
        (["a.jsonl", "sub/b.jsonl"], {"train": ["a.jsonl", "sub/b.jsonl"]}),
        (["latest.jsonl", "contrast.jsonl"], {"train": ["contrast.jsonl", "latest.jsonl"]}),
        (
            ["data/extra-00000-of-00001.jsonl", "data/train-00000-of-00001.jsonl"],
            {"train": ["data/train-00000-of-00001.jsonl"], "extra": ["data/extra-00000-of-00001.jsonl"]},
        ),
    ],
)
def test_the_splits_of_a_folder_are_those_of_datasets(
    tmp_path: Path, files: list[str], splits: dict[str, list[str]]
) -> None:
    from datasets.data_files import DataFilesDict, get_data_patterns

    folder = tmp_path / "set"
    write(folder, {name: lines(number) for number, name in enumerate(files)})
    theirs = DataFilesDict.from_patterns(get_data_patterns(str(folder)), base_path=str(folder))
    assert {
        str(split): [str(Path(name).relative_to(folder)) for name in names] for split, names in theirs.items()
    } == splits
    for split, names in splits.items():
        source = open_source(SourceSpec((str(folder),), split=split))
        assert values(source) == [files.index(name) for name in names]
        assert source.title == "set"
        assert bool(source.notes) == (len(splits) > 1)
    assert values(open_source(SourceSpec((str(folder),)))) == [files.index(name) for name in splits["train"]]
    with pytest.raises(SourceError, match=r"has no split trian, because its splits are .*train"):
        open_source(SourceSpec((str(folder),), split="trian"))


def test_several_files_in_the_order_given(tmp_path: Path) -> None:
    write(tmp_path, {"b.jsonl": lines(0), "a.json": "[" + lines(1).strip() + "]", "c/d.jsonl": lines(2)})
    paths = tuple(str(tmp_path / name) for name in ("b.jsonl", "a.json", "c"))
    source = open_source(SourceSpec(paths))
    assert values(source) == [0, 1, 2]
    assert source.title == "3 files"


def test_a_bad_shard_is_left_out_and_said(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": lines(0), "b.jsonl": "", "c.jsonl": lines(1)})
    source = open_source(SourceSpec((str(tmp_path),)))
    assert values(source) == [0, 1]
    assert source.notes == ("left out: b.jsonl: is empty",) and source.damage == ()


def test_a_shard_that_grows_before_others_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": lines(0), "b.jsonl": lines(1)})
    source = open_source(SourceSpec((str(tmp_path),)))
    assert values(source) == [0, 1] and source.change() is None
    with open(tmp_path / "b.jsonl", "a") as file:
        file.write(lines(2))
    assert source.change() is None and source.refresh() and values(source) == [0, 1, 2]
    with open(tmp_path / "a.jsonl", "a") as file:
        file.write(lines(3))
    assert source.change() == ("of a.jsonl: it has grown", True) and values(source) == [0, 1, 2]


def test_a_shard_that_cannot_be_opened_is_damage(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": lines(0), "b.jsonl": "", "c.jsonl": lines(1)})
    (tmp_path / "b.jsonl").write_text(lines(5), encoding="utf-16")
    source = open_source(SourceSpec((str(tmp_path),)))
    assert values(source) == [0, 1] and source.notes == ()
    (damage,) = source.damage
    assert (
        damage.sentence()
        == "b.jsonl cannot be read completely, because it is UTF-16 text (JSON and CSV data must be UTF-8); none of"
        " its rows were read; convert it with iconv -f UTF-16 -t UTF-8"
    )


def test_more_shards_than_files_may_be_open(tmp_path: Path) -> None:
    write(tmp_path, {f"{n:03}.jsonl": lines(n) for n in range(150)})
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))\n"
        "from sftui.sources import SourceSpec, open_source\n"
        f"source = open_source(SourceSpec(({str(tmp_path)!r},)))\n"
        "print(len(list(source.rows())), source.notes)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "150 ()\n"


def test_mixed_formats_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": lines(0), "b.csv": "n\n1\n"})
    with pytest.raises(SourceError, match=r"have different formats.*a\.jsonl, b\.csv"):
        open_source(SourceSpec((str(tmp_path),)))


def test_a_declared_folder_goes_through_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    card = "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: odd.jsonl\n---\n"
    write(tmp_path / "repo", {"README.md": card, "odd.jsonl": lines(7), "train.jsonl": lines(8)})
    source = open_source(SourceSpec((str(tmp_path / "repo"),)))
    assert source.kind == "hub" and values(source) == [7]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("gsm8k_tst.jsonl", r"does not exist; did you mean `gsm8k_test\.jsonl`\?"),
        ("nowhere/x.jsonl", "does not exist, because there is no folder"),
        ("*.parquet", "matches nothing, because no file matches it"),
        ("*.txt", "matches nothing, because none of the 1 files it matches is json"),
        ("empty", "contains no data, because no file in it is json, .* and it is not a save_to_disk folder"),
    ],
)
def test_what_is_not_there_is_said_with_the_nearest_name(tmp_path: Path, path: str, says: str) -> None:
    write(tmp_path, {"gsm8k_test.jsonl": lines(0), "a.txt": "x"})
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=says):
        open_source(SourceSpec((str(tmp_path / path),)))


def test_files_have_no_splits(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": lines(0)})
    with pytest.raises(SourceError, match="has no split test, because files have no splits"):
        open_source(SourceSpec((str(tmp_path / "a.jsonl"),), split="test"))
    assert values(open_source(SourceSpec((str(tmp_path / "a.jsonl"),), split="train"))) == [0]


def test_no_data_and_unreadable_data(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no data was given"):
        open_source(SourceSpec(()))
    (tmp_path / "x.bin").write_bytes(b"\x89PNG\r\n")
    with pytest.raises(SourceError, match="is not data that sftui knows"):
        open_source(SourceSpec((str(tmp_path / "x.bin"),)))


def test_a_name_with_glob_signs_that_exists_is_a_file(tmp_path: Path) -> None:
    write(tmp_path, {"a[1].jsonl": lines(9)})
    assert values(open_source(SourceSpec((str(tmp_path / "a[1].jsonl"),)))) == [9]


def test_jsonl_opens_without_the_heavy_libraries(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": lines(0)})
    code = (
        "import sys; from sftui.sources import SourceSpec, open_source; "
        f"open_source(SourceSpec(({str(tmp_path / 'a.jsonl')!r},))).row(0); "
        "print([m for m in ('pyarrow', 'datasets', 'pandas', 'numpy', 'huggingface_hub') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".jsonl.gz", ".parquet"])
def test_shards_beyond_the_limit_of_open_files_rest_and_are_read_again(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that cannot be raised: in any order every row is the right one, and few files are open."""
    import gzip
    import resource

    import pyarrow as pa
    import pyarrow.parquet as pq

    from sftui.sources import shards

    for number in range(40):
        path = tmp_path / f"train-{number:05}{ending}"
        rows = [{"text": f"{number}/{row}"} for row in range(3)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        if ending == ".csv":
            path.write_text("text\n" + "".join(f"{row['text']}\n" for row in rows))
        elif ending == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            path.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    monkeypatch.setattr(resource, "getrlimit", lambda which: (64, 64))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: None)
    before = len(os.listdir("/dev/fd"))
    source = open_source(SourceSpec((str(tmp_path),)))
    wanted = [f"{number}/{row}" for number in range(40) for row in range(3)]
    most = 0
    for index in [*range(120), *range(119, -1, -7), *range(0, 120, 11), 119, 0, 60]:
        data = source.row(index).data
        assert data is not None and data["text"] == wanted[index] and source.row(index).index == index
        most = max(most, len(os.listdir("/dev/fd")) - before)
    source.read_through()
    assert most <= shards.FEWEST * shards.FILES_OF_ONE + 2
    assert source.count().rows == 120 and source.count().exact and source.damage == () and source.change() is None
    assert [row.data["text"] for row in source.rows() if row.data] == wanted
    if ending == ".jsonl":
        assert [json.loads(line or b"")["text"] for line in source.lines()] == wanted
    changed = tmp_path / f"train-00000{ending}"
    changed.write_bytes(changed.read_bytes() + b" ")
    assert source.change() is not None and source.row(0).data is None and "grown" not in (source.row(119).problem or "")
    changed.unlink()
    assert source.row(1).data is None and source.row(1).problem
    source.close()
    assert len(os.listdir("/dev/fd")) - before <= 1
