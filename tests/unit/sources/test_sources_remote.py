"""Data behind URLs: read by ranges, with the rows that the same files have here."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem

from sftui.errors import SourceError
from sftui.sources import Source, SourceSpec, line_index, open_source, remote
from sftui.sources.shards import PieceReader


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BLOCK", 1000)
    monkeypatch.setattr(line_index, "APART", 500)


class Store(LocalFileSystem):  # type: ignore[misc]
    """Local files as a store has them: by ranges alone; `read` are the bytes of each answer."""

    protocol = "store"
    cachable = False
    read: ClassVar[list[int]] = []

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **more: Any) -> bytes:
        with open(self._strip_protocol(path), "rb") as file:
            file.seek(start or 0)
            data = file.read(-1 if end is None else end - (start or 0))
        self.read.append(len(data))
        return data


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    fsspec.register_implementation("store", Store, clobber=True)


@pytest.fixture
def memory() -> str:
    """The URL of an empty folder that fsspec keeps in this process."""
    return f"memory://{uuid.uuid4().hex}"


def opened(*paths: str, split: str | None = None) -> Source:
    return open_source(SourceSpec(paths, split=split))


def lines(count: int) -> bytes:
    """JSON Lines, every other one with a blank line below."""
    made = (json.dumps({"text": f"row {n} " + "x" * (n % 90)}) for n in range(count))
    return b"".join(one.encode() + b"\n" * (1 + n % 2) for n, one in enumerate(made))


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.parquet", "t.csv", "t.json"])
def test_the_rows_are_those_of_the_file(name: str, tmp_path: Path, small_blocks: None) -> None:
    rows = [{"text": f"row {n}"} for n in range(300)]
    path = tmp_path / name
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=70)
    elif name.endswith(".csv"):
        path.write_text("text\n" + "".join(f"{row['text']}\n" for row in rows))
    elif name.endswith(".json"):
        path.write_text(json.dumps(rows))
    else:
        path.write_bytes(gzip.compress(lines(300)) if name.endswith(".gz") else lines(300))
    here, there = opened(str(path)), opened(f"store://{tmp_path}/{name}")
    assert list(there.rows()) == list(here.rows()) and there.row(150) == here.row(150)
    assert (there.title, there.kind, there.count().rows) == (name, here.kind, 300)
    pieces = list(there.pieces(2000))
    assert [row for piece in pieces for row in PieceReader().rows(piece)] == list(here.rows())


def test_only_what_is_shown_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BLOCK", 1 << 16)
    (tmp_path / "t.jsonl").write_bytes(lines(40_000))
    table = pa.table({"text": [f"{n} " + "é" * (n % 500) for n in range(20_000)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=500, compression="none", use_dictionary=False)
    for name, row in (("t.jsonl", 20), ("t.parquet", 15_000)):
        Store.read.clear()
        there, here = opened(f"store://{tmp_path}/{name}"), opened(str(tmp_path / name))
        assert there.row(row) == here.row(row)
        assert 0 < sum(Store.read) < (tmp_path / name).stat().st_size / 5
        there.close()


def test_folders_globs_and_splits(memory: str, tmp_path: Path) -> None:
    names = ("data/train-0.jsonl", "data/train-1.jsonl", "data/test-0.jsonl", ".hidden/x.jsonl", "README.md")
    for number, name in enumerate(names):
        with fsspec.open(f"{memory}/{name}", "wb") as file:
            file.write(json.dumps({"text": f"{name} {number}"}).encode() + b"\n")
    assert [row.data for row in opened(memory).rows()] == [
        {"text": "data/train-0.jsonl 0"},
        {"text": "data/train-1.jsonl 1"},
    ]
    assert [row.where for row in opened(memory, split="test").rows()] == ["test-0.jsonl line 1"]
    found = opened(f"{memory}/data/*-0.jsonl")
    assert [(row.index, row.where) for row in found.rows()] == [(0, "test-0.jsonl line 1"), (1, "train-0.jsonl line 1")]
    both = opened(f"{memory}/data/train-0.jsonl", f"{memory}/data/test-0.jsonl")
    assert [row.where for row in both.rows()] == ["train-0.jsonl line 1", "test-0.jsonl line 1"]
    with pytest.raises(SourceError, match="matches nothing, because no file matches it"):
        opened(f"{memory}/none/*.jsonl")


def test_what_cannot_be_read_says_why(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match=r"^memory://\w+/t.jsonl: does not exist$"):
        opened(f"{memory}/t.jsonl")
    with pytest.raises(SourceError, match="cannot be read, because Protocol not known: nosuch"):
        opened("nosuch://bucket/t.jsonl")

    def missing(url: str) -> None:
        raise ImportError("Install s3fs to access S3")

    def refused(url: str) -> None:
        raise PermissionError("Forbidden")

    monkeypatch.setattr(remote, "_filesystem", missing)
    with pytest.raises(SourceError, match="s3:// cannot be read, because s3fs is not installed; pip install s3fs"):
        opened("s3://bucket/t.jsonl")
    monkeypatch.setattr(remote, "_filesystem", refused)
    with pytest.raises(SourceError, match="because Forbidden; set the credentials that gcsfs reads"):
        opened("gs://bucket/t.jsonl")


def test_another_file_under_the_same_url(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{memory}/t.jsonl"
    with fsspec.open(url, "wb") as file:
        file.write(lines(100))
    monkeypatch.setattr(remote, "LOOK", -1.0)
    there = opened(url)
    assert there.row(3).data is not None and there.change() is None
    with fsspec.open(url, "wb") as file:
        file.write(lines(50))
    assert there.row(4).data is None and "it was written to again" in (there.row(4).problem or "")


def test_blocks_of_a_file_that_nobody_closed_are_no_other_files(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_CACHE", remote._BlockCache(100))
    for number in range(30):  # Python gives the place in memory of one to the next
        url = f"{memory}/{number}.jsonl"
        with fsspec.open(url, "wb") as file:
            file.write(b"%d\n" % number)
        there = remote.RemoteFile(url)
        assert there.pread(0, 10) == b"%d\n" % number
        del there


def test_blocks_are_kept_for_all_files_together(memory: str, small_blocks: None) -> None:
    for name in "abc":
        with fsspec.open(f"{memory}/{name}.jsonl", "wb") as file:
            file.write(lines(2000))
    there = opened(memory)
    assert sum(1 for _ in there.rows()) == 6000
    assert 0 < len(remote._CACHE._blocks) <= remote.BLOCKS
    there.close()
    assert not remote._CACHE._blocks


def test_a_file_that_is_closed_takes_no_block_of_another(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    fetch = remote.RemoteFile.fetch

    def noted(file: remote.RemoteFile, number: int) -> bytes:
        fetched.append(file.label)
        return fetch(file, number)

    monkeypatch.setattr(remote.RemoteFile, "fetch", noted)
    for name in "ab":
        with fsspec.open(f"{memory}/{name}.jsonl", "wb") as file:
            file.write(lines(3))
    first, second = (remote.RemoteFile(f"{memory}/{name}.jsonl") for name in "ab")
    for there in (first, second):
        there.pread(0, 10)
    first.close()
    second.pread(0, 10)
    assert len(fetched) == 2


class Answers(http.server.BaseHTTPRequestHandler):
    """A web server that says and sends what a test gave it."""

    data: ClassVar[bytes] = b""
    says: ClassVar[int | None] = None
    more: ClassVar[int] = 0
    parts: ClassVar[bool] = True
    sent: ClassVar[list[int]] = []

    def do_HEAD(self) -> None:
        self.send_response(200)
        if self.says is not None:
            self.send_header("Content-Length", str(self.says))
        self.end_headers()

    def do_GET(self) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        begin, end = (int(asked[1]), int(asked[2]) + 1) if asked and self.parts else (0, len(self.data))
        data = self.data[begin : end + self.more]
        self.send_response(416 if asked and self.parts and not data else 206 if asked and self.parts else 200)
        self.end_headers()
        self.sent.append(len(data))
        with contextlib.suppress(OSError):
            self.wfile.write(data)

    def log_message(self, *given: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def serving(data: bytes, **more: Any) -> str:
            for name, value in {"data": data, "says": len(data), "sent": [], **more}.items():
                monkeypatch.setattr(Answers, name, value)
            return f"http://127.0.0.1:{server.server_address[1]}/{uuid.uuid4().hex}/t.jsonl"

        yield serving
        server.shutdown()


ROWS = b'{"text": "x"}\n' * 100
"""1,400 bytes."""


def test_a_web_server_that_does_what_it_says_is_read(web: Callable[..., str], small_blocks: None) -> None:
    there = opened(web(ROWS))
    assert [row.data for row in there.rows()] == [{"text": "x"}] * 100
    assert Answers.sent and max(Answers.sent) <= remote.BLOCK


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"more": 5}, "the server sends more than the 1,000 bytes requested"),
        ({"parts": False}, "the server sends more than the 1,000 bytes requested"),
        ({"says": None}, "the server does not report the length of the file"),
        ({"says": 0}, "the server reports 0 bytes but sends more"),
        ({"says": 900}, "the server reports 900 bytes but sends more"),
        ({"says": 1900}, "the server reports 1,900 bytes but sends 1,400"),
    ],
)
def test_an_answer_that_is_not_what_was_requested_is_told(
    web: Callable[..., str], small_blocks: None, how: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(SourceError, match=re.escape(said)) as told:
        list(opened(web(ROWS, **how)).rows())
    assert told.value.where.startswith("http://127.0.0.1") and "download the file" in told.value.fix


def test_an_empty_file_of_a_web_server_is_empty(web: Callable[..., str]) -> None:
    with pytest.raises(SourceError, match="is empty"):
        opened(web(b""))


def test_labels_of_several_urls_say_no_secret() -> None:
    urls = ("https://ann:one@h/a/t.jsonl?sign=x/y", "https://bob:two@h/b/t.jsonl?sign=z")
    assert remote.labels_of(urls) == ("a/t.jsonl", "b/t.jsonl")
