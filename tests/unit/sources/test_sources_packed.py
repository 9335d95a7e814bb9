"""Compressed files and pipes: unpacked into a bounded temporary file while they are read."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from sftui.errors import SourceError
from sftui.sources import Source, SourceSpec, byte_file, open_source
from sftui.sources.formats import csv_file


def zstd(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


LINES = b"".join(b'{"n": %d}\n' % n for n in range(2000))
PACKERS = {"gz": gzip.compress, "zst": zstd}


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [("t.jsonl", LINES, "jsonl"), ("t.json", b"[" + LINES.strip().replace(b"\n", b",") + b"]", "json"),
     ("t.csv", b"n\n" + b"".join(b"%d\n" % n for n in range(2000)), "csv")],
)  # fmt: skip
def test_packed_files_read_like_plain_ones(tmp_path: Path, ending: str, name: str, data: bytes, kind: str) -> None:
    path = tmp_path / f"{name}.{ending}"
    path.write_bytes(PACKERS[ending](data))
    source = open_source(SourceSpec((str(path),)))
    assert source.kind == kind
    assert [row.data for row in source.rows()] == [{"n": n} for n in range(2000)]
    assert source.count().exact and source.count().rows == 2000
    source.close()


def test_streams_one_after_another_are_one_file(tmp_path: Path) -> None:
    for ending, pack in PACKERS.items():
        path = tmp_path / f"t.jsonl.{ending}"
        path.write_bytes(pack(b'{"n": 0}\n') + pack(b'{"n": 1}\n'))
        assert [row.data for row in open_source(SourceSpec((str(path),))).rows()] == [{"n": 0}, {"n": 1}]


def test_row_zero_does_not_wait_for_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_file, "STEP", 1000)
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(LINES))
    source = open_source(SourceSpec((str(path),)))
    assert source.row(0).data == {"n": 0}
    assert source.count().rows < 1000 and not source.count().exact
    assert source.row(1999).data == {"n": 1999}


@pytest.mark.long
def test_packed_csv_begins_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_file, "STEP", 1000)
    monkeypatch.setattr(csv_file, "CHUNK", 10)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"n,t\n" + b"".join(b"%d,%s\n" % (n, b"x" * 500) for n in range(10_000))))
    source = open_source(SourceSpec((str(path),)))
    assert source.row(0).data == {"n": 0, "t": "x" * 500}
    assert source.count().rows == 10 and 0 < source.count().fraction < 1
    assert source.row(9_999).data is not None
    with pytest.raises(IndexError):
        source.row(10_000)


def read_through(path: Path) -> Source:
    source = open_source(SourceSpec((str(path),)))
    source.read_through()
    return source


@pytest.mark.one_of(2)
@pytest.mark.parametrize("ending", PACKERS)
def test_a_damaged_file_keeps_what_could_be_read(tmp_path: Path, ending: str) -> None:
    lines = b"".join(b'{"n": "%s"}\n' % os.urandom(40).hex().encode() for _ in range(100_000))
    packed = PACKERS[ending](lines)
    path = tmp_path / f"t.jsonl.{ending}"
    path.write_bytes(packed[: len(packed) - 1000])
    source = open_source(SourceSpec((str(path),)))
    while not source.index_more(1):
        pass
    assert source.row(0).data is not None
    assert source.count().exact
    (damage,) = source.damage
    assert (
        "damaged: it ends too early" in damage.why and "zstd -t" in damage.fix
        if ending == "zst"
        else "gzip -t" in damage.fix
    )
    assert damage.sentence().startswith(f"t.jsonl.{ending} cannot be read completely, because ")
    with pytest.raises(IndexError):
        source.row(100_000)
    rows = list(source.rows())
    assert len(rows) == source.count().rows == damage.rows > 1_000
    assert rows[-1].problem is None  # half a row is none


def flushed(first: bytes, rest: bytes) -> bytes:
    """A gzip stream cut where the packer flushed after `first`."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(first) + packer.flush(zlib.Z_FULL_FLUSH) + packer.compress(rest)[:0]


@pytest.mark.parametrize(
    ("first", "rows"), [(LINES, 2000), (LINES[:-1], 2000), (LINES[:-2], 1999), (LINES + b"  ", 2000)]
)
def test_a_stream_cut_between_or_inside_rows_is_damage(tmp_path: Path, first: bytes, rows: int) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(flushed(first, b'{"n": 1}\n'))
    source = read_through(path)
    assert [row.problem for row in source.rows()] == [None] * rows
    assert source.count() == source.count().__class__(rows, True, 1.0) and source.damage[0].rows == rows


def test_a_wrong_checksum_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    packed = bytearray(gzip.compress(LINES))
    packed[-6] ^= 1
    path.write_bytes(packed)
    source = read_through(path)
    assert source.count().rows == 2000 and "the checksum does not match, so any row may be" in source.damage[0].why


def test_packed_lists_and_tables_cut_inside_a_row(tmp_path: Path) -> None:
    listed, table = tmp_path / "t.json.gz", tmp_path / "t.csv.gz"
    listed.write_bytes(flushed(b'[{"n": 0}, {"n": 1}, {"n', b""))
    table.write_bytes(flushed(b"n,m\n0,1\n2,3\n4", b""))
    for path in (listed, table):
        source = read_through(path)
        assert len(list(source.rows())) == source.count().rows == source.damage[0].rows == 2
        assert "ends too early" in source.damage[0].why and not source.notes


@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.json", "t.csv"])
def test_rows_that_are_kept_elsewhere_outlive_a_change(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = {"t.jsonl.gz": gzip.compress(LINES), "t.json": b'[{"n": 0}, {"n": 1}]', "t.csv": b"n\n0\n1\n"}[name]
    path.write_bytes(content)
    source = read_through(path)
    assert source.change() is None
    with open(path, "ab") as file:
        file.write(b"\n")
    change = source.change()
    assert change is not None and change.readable and source.row(1).data == {"n": 1}
    (tmp_path / "new").write_bytes(b"x")
    os.replace(tmp_path / "new", path)
    assert source.change() == ("another file has replaced it", True) and source.row(1).data == {"n": 1}


def test_what_is_whole_has_no_damage(tmp_path: Path) -> None:
    for ending, pack in PACKERS.items():
        path = tmp_path / f"t.jsonl.{ending}"
        path.write_bytes(pack(LINES))
        assert read_through(path).damage == ()


def test_a_small_damaged_file_keeps_its_beginning(tmp_path: Path) -> None:
    lines = b"".join(b'{"n": "%s"}\n' % os.urandom(400).hex().encode() for _ in range(1_000))
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(lines)[:-1000])
    source = read_through(path)
    assert 900 < len(list(source.rows())) < 1_000 and source.damage


def test_a_damaged_shard_does_not_hide_the_next(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b'{"n": "%s"}\n' % os.urandom(40).hex().encode() for _ in range(200_000)))
    (tmp_path / "a.jsonl.gz").write_bytes(packed[:-1000])
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"n": "last"}\n'))
    source = open_source(SourceSpec((str(tmp_path),)))
    while not source.index_more(1):
        pass
    assert source.row(source.count().rows - 1).data == {"n": "last"} and source.count().exact
    (damage,) = source.damage
    assert damage.title == "a.jsonl.gz" and damage.rows == source.count().rows - 1


@pytest.mark.parametrize(
    ("since", "ratio", "stopped"), [(1 << 16, 125, True), (1 << 14, 125, False), (1 << 16, 25, False)]
)
def test_a_file_that_unpacks_to_far_more_than_it_is_is_stopped_and_said(
    since: int, ratio: int, stopped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of numbers: 22 kB that pack to a quarter, beyond 16 kB and twice their size; neither bound goes alone."""
    monkeypatch.setattr(byte_file, "RATIO_FROM", byte_file.RATIO_FROM // since)
    monkeypatch.setattr(byte_file, "RATIO_LIMIT", byte_file.RATIO_LIMIT // ratio)
    monkeypatch.setattr(byte_file, "STEP", 1 << 12)
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(LINES))
    assert len(LINES) > 20_000 and 3 < len(LINES) / path.stat().st_size < 9
    source = open_source(SourceSpec((str(path),)))
    while not source.index_more(1):
        pass
    assert source.row(0).data == {"n": 0} and bool(source.damage) is stopped
    if stopped:
        assert "compression bomb" in source.damage[0].why and "unpack it yourself" in source.damage[0].fix


def test_unpacking_stops_before_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which has half a gigabyte left; with two it goes on."""
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(LINES))
    left = shutil.disk_usage(tmp_path)._replace(free=2 << 30)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: left)
    assert open_source(SourceSpec((str(path),))).row(0).data == {"n": 0}
    left = left._replace(free=1 << 29)
    with pytest.raises(SourceError, match=r"none of its rows can be read, because the temporary folder .* set TMPDIR"):
        open_source(SourceSpec((str(path),)))


def test_garbage_with_a_gzip_head_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(b"\x1f\x8b\x08" + b"x" * 100)
    with pytest.raises(SourceError, match="damaged"):
        open_source(SourceSpec((str(path),)))


def test_a_name_may_lie_about_packing(tmp_path: Path) -> None:
    plain = tmp_path / "t.jsonl.gz"
    plain.write_bytes(b'{"n": 0}\n')
    assert open_source(SourceSpec((str(plain),))).row(0).data == {"n": 0}
    packed = tmp_path / "t.jsonl"
    packed.write_bytes(gzip.compress(b'{"n": 1}\n'))
    assert open_source(SourceSpec((str(packed),))).row(0).data == {"n": 1}


def test_a_pipe_gives_its_first_row_before_its_last(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b'{"n": 0}\n')
    source = open_source(SourceSpec((f"/dev/fd/{reader}",)))
    assert source.row(0).data == {"n": 0}
    assert not source.index_more(0.01) and not source.count().exact

    def finish() -> None:
        os.write(writer, b'{"n": 1}\n{"n": 2}')
        os.close(writer)

    thread = threading.Thread(target=finish)
    thread.start()
    assert source.row(2).data == {"n": 2}
    thread.join()
    assert source.index_more(5) and source.count().rows == 3
    source.close()
    os.close(reader)


def test_closing_does_not_wait_for_a_silent_pipe() -> None:
    reader, writer = os.pipe()
    os.write(writer, b'{"n": 0}\n')
    source = open_source(SourceSpec((f"/dev/fd/{reader}",)))
    outcome: list[object] = []

    def read() -> None:
        try:
            source.row(5)
        except IndexError:
            outcome.append("past the end")

    thread = threading.Thread(target=read)
    thread.start()
    source.close()
    thread.join(timeout=5)
    assert outcome == ["past the end"]
    os.close(writer)
    os.close(reader)


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, zlib.compress])
def test_stdin(pack: object) -> None:
    code = (
        "from sftui.sources import SourceSpec, open_source\n"
        "try:\n    s = open_source(SourceSpec(('-',)))\n    print(len(list(s.rows())), s.title, s.row(1999).where)\n"
        "except Exception as error: print(error)"
    )
    data = pack(LINES)  # type: ignore[operator]
    result = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    if pack is zlib.compress:
        assert b"stdin: is not data that sftui knows" in result.stdout
    else:
        assert result.stdout == b"2000 stdin stdin line 2000\n"
