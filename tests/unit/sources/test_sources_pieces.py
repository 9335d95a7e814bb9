"""Pieces of a source hold its rows, each once, as they are read without the pieces."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sftui.errors import SourceError
from sftui.model import Row
from sftui.sources import SourceSpec, line_index, open_source
from sftui.sources.shards import PieceReader
from sftui.sources.source import SourcePiece


def apart(*paths: Path, size: int, split: str | None = None) -> tuple[list[Row], list[Row], list[object]]:
    """All rows of some data read at once, read piece by piece from last to first, and the pieces."""
    source = open_source(SourceSpec(tuple(map(str, paths)), split=split))
    whole = list(source.rows())
    source.close()
    source = open_source(SourceSpec(tuple(map(str, paths)), split=split))
    pieces = pickle.loads(pickle.dumps(list(source.pieces(size))))
    source.close()
    reader = PieceReader()
    parts = [list(reader.rows(piece)) for piece in reversed(pieces)]
    reader.close()
    return whole, [row for part in reversed(parts) for row in part], pieces


def lines(random: Random, count: int) -> bytes:
    """JSON Lines with blank lines, broken ones, other line ends, and perhaps none at the end."""

    def line() -> bytes:
        row = {"text": "é" * random.randrange(60), "n": random.random()}
        usual = json.dumps(row, ensure_ascii=False).encode()
        return random.choices([usual, b'{"a": 1}\r', b"", b" \t", b'{"a": ', b"[1, 2]"], (20, 3, 2, 1, 1, 1))[0]

    made = b"\n".join(line() for _ in range(count))
    return b'{"text": "first"}\n' + made + b"\n" * random.randrange(2)


@pytest.mark.parametrize("seed", range(12))
def test_json_lines_by_place(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(line_index, "APART", random.choice([1, 40, 300]))
    (tmp_path / "t.jsonl").write_bytes(random.choice([b"", b"\xef\xbb\xbf"]) + lines(random, 200))
    whole, parts, pieces = apart(tmp_path / "t.jsonl", size=random.choice([1, 500, 4000]))
    assert parts == whole
    assert len(pieces) > 1 and all(isinstance(piece, SourcePiece) for piece in pieces)


def test_several_files_run_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_index, "APART", 100)
    random = Random(5)
    for name in "abc":
        (tmp_path / f"{name}.jsonl").write_bytes(lines(random, 80))
    (tmp_path / "b0.jsonl").write_bytes(b"")
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(lines(random, 80)))
    whole, parts, pieces = apart(tmp_path, size=700)
    assert parts == whole and [row.index for row in parts] == list(range(len(whole)))
    assert {type(piece) for piece in pieces} == {SourcePiece, tuple}  # what is packed cannot be read from its middle


def test_parquet_by_rows_of_a_group(tmp_path: Path) -> None:
    for name, rows in (("a", 2000), ("b", 700)):
        table = pa.table({"text": [f"{name} {i}" for i in range(rows)], "i": list(range(rows))})
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=900)
    whole, parts, pieces = apart(tmp_path, size=1)
    assert parts == whole and len(whole) == 2700
    places = [(one.first, one.before, one.rows) for one in pieces if isinstance(one, SourcePiece)]
    assert len(places) == len(pieces) == 12 and all(rows <= 256 for _, _, rows in places)
    assert places[-3:] == [(2000, 0, 233), (2233, 233, 233), (2466, 466, 234)]


def test_what_cannot_be_divided_is_handed_on_as_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "x,1\n" * 50)
    (tmp_path / "t.json").write_text(json.dumps([{"a": i} for i in range(50)]))
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n' * 50)
    for name, split in (("t.csv", None), ("t.json", None), ("t.jsonl", "train[:40]")):
        whole, parts, pieces = apart(tmp_path / name, size=100, split=split)
        assert parts == whole and len(pieces) > 1 and not any(isinstance(piece, SourcePiece) for piece in pieces)


def test_another_file_than_the_one_that_was_divided(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n' * 50)
    (piece,) = open_source(SourceSpec((str(path),))).pieces(1 << 20)
    path.write_text('{"a": 1}\n' * 40)
    with pytest.raises(SourceError, match="changed while it was being read"):
        list(PieceReader().rows(piece))
    path.unlink()
    with pytest.raises(SourceError, match=r"does not exist, because the worker on .* cannot see it; put the data"):
        list(PieceReader().rows(piece))
