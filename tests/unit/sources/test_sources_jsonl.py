"""JSON Lines: row numbers, bad lines, growing and changing files, huge lines, the index itself."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui.errors import SourceError
from sftui.model import RAW_LIMIT, Row
from sftui.sources import Source, SourceSpec, jsonl, line_index, open_source
from sftui.sources.byte_file import ByteFile
from sftui.sources.records import oversized, parse_record


def open_bytes(folder: Path, data: bytes, name: str = "t.jsonl", **options: Any) -> Source:
    path = folder / name
    path.write_bytes(data)
    return open_source(SourceSpec((str(path),), **options))


def finish(source: Source) -> int:
    while not source.index_more(1):
        pass
    count = source.count()
    assert count.exact and count.fraction == 1.0
    return count.rows


def test_row_zero_is_there_before_the_index(tmp_path: Path) -> None:
    line = json.dumps({"text": "x" * 1000}).encode() + b"\n"
    source = open_bytes(tmp_path, line * 5000)
    assert source.row(0).data == {"text": "x" * 1000}
    count = source.count()
    assert 0 < count.rows < 5000 and not count.exact and 0 < count.fraction < 1
    assert source.row(4999).where == "t.jsonl line 5000"
    assert finish(source) == 5000
    with pytest.raises(IndexError):
        source.row(5000)
    with pytest.raises(IndexError):
        source.row(-1)


def test_blank_lines_are_no_rows_but_count_as_lines(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'\n{"a": 1}\n \t\r\n\n{"a": 2}\r\n\n{"a": 3}')
    assert [(row.data, row.where) for row in source.rows()] == [
        ({"a": 1}, "t.jsonl line 2"),
        ({"a": 2}, "t.jsonl line 5"),
        ({"a": 3}, "t.jsonl line 7"),
    ]
    assert source.columns() == ("a",)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            b'{"a": "cut',
            'line 2 is not valid JSON: unterminated string starting at column 7, before `"cut`, after `{"a": `',
        ),
        (b'{"a": 1,}', "line 2 is not valid JSON: "),
        (
            b'{"a": ["x" "y\xe2\x80\xae"]}',
            "line 2 is not valid JSON: expected ',' delimiter at column 12, before `\"y\u2039202E\u203a\"]}`, after"
            ' `{"a": ["x" `',
        ),
        (
            b'{"a": ["x"',
            "line 2 is not valid JSON: expected ',' delimiter at column 11, at the end of the record, after",
        ),
        (b'"text"', "line 2 is not a JSON object but a string"),
        (b"[1]", "line 2 is not a JSON object but a list"),
        (b"null", "line 2 is not a JSON object but null"),
        (b"3.5", "line 2 is not a JSON object but a number"),
        (b'{"a": "\xff"}', "line 2 is not valid UTF-8: 0xff at byte offset 7 (offset 15 in the file)"),
        (b'{"a": 1}{"a": 2}', "line 2 contains more than one JSON value, the second at column 9"),
        (b'{"a": ' + b"[" * 1_200 + b"}", "line 2 is not readable JSON"),
        (b'{"a": "\x1b"}', "line 2 is not valid JSON: invalid control character"),
        (b"{\x00}", "line 2 is not valid JSON"),
    ],
)
def test_a_bad_line_says_why_and_the_rows_around_it_work(tmp_path: Path, line: bytes, says: str) -> None:
    source = open_bytes(tmp_path, b'{"a":1}\n' + line + b'\n{"a":3}\n')
    bad = source.row(1)
    assert bad.data is None and bad.problem is not None and says in bad.problem
    assert bad.size == len(line)
    assert source.row(0).data == {"a": 1} and source.row(2).data == {"a": 3}


def test_what_python_takes_for_json_is_taken(tmp_path: Path) -> None:
    big = 2**80
    source = open_bytes(tmp_path, f'{{"a": NaN}}\n{{"a": "\\ud83d"}}\n{{"a": {2**63}, "b": {big}}}\n'.encode())
    assert str(source.row(0).data) == "{'a': nan}"
    assert source.row(1).data == {"a": "\ud83d"}
    assert source.row(2).data == {"a": 2**63, "b": float(big)}


def test_both_json_readers_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [b'{"a": 1.5, "b": [null, true], "c": "\xe2\x9c\x93\\n"}', b'{"a": 36893488147419103232}', b'{"a":-0.0}']
    source = open_bytes(tmp_path, b"\n".join(lines))
    with_fast = [row.data for row in source.rows()]
    monkeypatch.setattr("sftui.sources.records.orjson", None)
    assert [repr(row.data) for row in source.rows()] == [repr(data) for data in with_fast]


def test_a_byte_order_mark_is_left_out_and_said(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n')
    assert [row.data for row in source.rows()] == [{"a": 1}, {"a": 2}]
    assert "byte order mark" in source.notes[0]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_refused_with_the_way_out(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(SourceError, match=r"UTF-16.*iconv"):
        open_bytes(tmp_path, '{"a": 1}\n'.encode(encoding))


@pytest.mark.parametrize("data", [b"", b"\n\n  \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(SourceError, match=r"^t.jsonl: is empty$"):
        open_bytes(tmp_path, data)


def test_a_line_over_the_limit_is_clipped_and_never_read_whole(tmp_path: Path) -> None:
    huge = b'{"a": "' + b"x" * 20_000_000 + b'"}'
    source = open_bytes(tmp_path, b'{"a":1}\n' + huge + b'\n{"a":3}\n', row_limit=5_000_000)
    row = source.row(1)
    assert row.data is None and len(row.raw) == RAW_LIMIT and row.raw.startswith('{"a": "xxx')
    assert row.problem is not None
    assert "20,000,010 bytes" in row.problem and "5,000,000" in row.problem and "--row-limit" in row.problem
    assert source.row(2).data == {"a": 3}
    assert finish(source) == 3


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\u0085d\x7f"
    source = open_bytes(tmp_path, (json.dumps({"t": text}, ensure_ascii=False) + "\n").encode() * 2)
    assert [row.data for row in source.rows()] == [{"t": text}] * 2


def test_appended_lines_are_picked_up(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'{"a":1}\n')
    assert finish(source) == 1 and not source.refresh()
    with (tmp_path / "t.jsonl").open("ab") as file:
        file.write(b'{"a":2}\n{"a":')
        file.flush()
        assert source.refresh()
        assert finish(source) == 2, "a line that is still being written is not a row yet"
        file.write(b"3}\n")
        file.flush()
        assert finish(source) == 3, "index_more looks again by itself"
    assert [row.data for row in source.rows()] == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert not source.refresh()
    source.close()
    assert not source.refresh() and source.index_more(0)


def test_a_file_without_a_last_newline_grows_within_its_last_row(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'{"a":1}')
    assert finish(source) == 1
    with (tmp_path / "t.jsonl").open("ab") as file:
        file.write(b'\n{"a":2}')
    assert source.refresh() and finish(source) == 2
    assert [row.data for row in source.rows()] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("how", ["shrunk", "replaced", "rewritten", "shifted"])
def test_a_changed_file_is_never_shown_as_garbage(tmp_path: Path, how: str) -> None:
    path = tmp_path / "t.jsonl"
    lines = [json.dumps({"n": n, "pad": "x" * 100}).encode() + b"\n" for n in range(200)]
    source = open_bytes(tmp_path, b"".join(lines))
    assert finish(source) == 200
    if how == "shrunk":
        os.truncate(path, 300)
    elif how == "replaced":
        (tmp_path / "new").write_bytes(b'{"other": 1}\n' * 500)
        os.replace(tmp_path / "new", path)
    elif how == "rewritten":
        path.write_bytes(b'{"other": 1}\n' * 5000)
    else:  # same beginning, a line in the middle removed, longer in all
        path.write_bytes(b"".join([*lines[:60], b"{}\n", *lines[61:], *lines]))
    row, change = source.row(100), source.change()
    assert change is not None and change.readable == (how == "replaced")
    if how == "replaced":  # the file that was opened is still there, without a name
        assert row.data == json.loads(lines[100]) and "another file has replaced it" in change.why
    else:
        assert row.data is None and row.problem is not None and "file changed while sftui read it" in row.problem


def test_a_plain_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'{"n": 1}\n{"n": "x')
    source.read_through()
    assert (source.row(1).problem or "").endswith(
        "; it is the last line and has no line ending, so the file may be truncated"
    )
    assert open_bytes(tmp_path, b'{"n": 1}\n{"n": 2}').row(1).problem is None
    assert "no line end" not in (open_bytes(tmp_path, b'{"n": 1}\n{"n": "x\n').row(1).problem or "")


def test_what_is_written_again_or_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    source = open_bytes(tmp_path, b'{"n": 1}\n{"n": 2}\n')
    assert finish(source) == 2 and source.change() is None
    path.write_bytes(b'{"n": 1}\n{"n": 7}\n')
    os.utime(path, ns=(0, 5))
    assert source.change() == ("it was rewritten", False) and "file changed while sftui read it" in (
        source.row(1).problem or ""
    )
    path.write_bytes(b'{"n": 1}\n{"n": 2}\n')
    os.utime(path, ns=(0, 6))
    assert source.change() == ("it was written to again, or touched", False)
    path.unlink()
    assert source.change() == ("it no longer exists", True) and source.row(1).data == {"n": 2}


def test_a_growing_file_is_no_changed_one(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'{"n": 0}\n')
    assert finish(source) == 1
    for n in range(1, 4):
        with open(tmp_path / "t.jsonl", "ab") as file:
            file.write(b'{"n": %d, "pad": "%s"}\n' % (n, b"x" * 5000))
        assert source.change() is None and source.refresh() and finish(source) == n + 1
        assert [source.row(k).data["n"] for k in range(n + 1)] == list(range(n + 1))  # type: ignore[index]


def test_a_deleted_file_still_reads(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b'{"a":1}\n{"a":2}\n')
    source.row(0)
    (tmp_path / "t.jsonl").unlink()
    assert source.row(1).data == {"a": 2}


def test_rows_are_found_from_places_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_index(monkeypatch, block=777, apart=100)
    data = b"".join(b'{"n": %d}\n' % n + b"\n" * (n % 3 == 0) for n in range(1000))
    source = open_bytes(tmp_path, data)
    assert finish(source) == 1000
    assert [row.data for row in source.rows()] == [{"n": n} for n in range(1000)]
    lines = data.split(b"\n")
    for index in (0, 1, 2, 500, 999):
        number = int(source.row(index).where.rsplit(" ", 1)[1])
        assert json.loads(lines[number - 1]) == {"n": index}


@pytest.mark.parametrize("blocks", [1, 100])
def test_an_index_takes_its_24_bytes_for_128_kb(blocks: int) -> None:
    index = line_index.LineIndex(0)
    block = b'{"a": 1}\n' * ((1 << 17) // 9 + 1)
    for _ in range(blocks):
        index.count(block)
    assert index.rows == blocks * (block.count(b"\n"))
    assert sum(len(kept) * kept.itemsize for kept in (index._offsets, index._rows, index._blanks)) == 24 * blocks


@pytest.mark.parametrize("shards", [1, 2])
def test_rows_before_an_endless_line_are_read_without_it(
    shards: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file whose third line never ends `show --row 1` read all, to guess how rows are read."""
    from sftui.session.options import OpenOptions
    from sftui.session.ready import open_data
    from sftui.trainers import preset

    for number in range(shards):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b'{"text": "a"}\n{"text": "b"}\n')
    os.truncate(path, 40_000_000)
    read: list[int] = []
    whole = ByteFile.pread

    def counted(self: ByteFile, at: int, size: int) -> bytes:
        read.append(size)
        return whole(self, at, size)

    monkeypatch.setattr(ByteFile, "pread", counted)
    session = open_data(OpenOptions(paths=(str(tmp_path),), row_limit=4 << 20), preset(), seconds=0.0)
    assert session.row(2 * shards - 1).data == {"text": "b"}
    assert session.source.near(0) and not session.source.near(2 * shards)
    assert sum(read) < 20_000_000
    session.close()


def test_reading_and_indexing_at_once(tmp_path: Path) -> None:
    source = open_bytes(tmp_path, b"".join(b'{"n": %d, "pad": "%s"}\n' % (n, b"x" * (n % 97)) for n in range(20_000)))
    failures: list[int] = []

    def read(step: int) -> None:
        for index in range(0, 20_000, step):
            row = source.row(index)
            if row.data is None or row.data["n"] != index:
                failures.append(index)

    threads = [threading.Thread(target=read, args=(step,)) for step in (7, 13)]
    threads.append(threading.Thread(target=finish, args=(source,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and source.count().rows == 20_000


CHUNK = st.sampled_from(
    [
        *(
            b"\n",
            b"\r\n",
            b"\r",
            b" ",
            b"\t",
            b"{}",
            b'{"a":1}',
            b"\x00",
            b"\xe2\x80\xa8",
            b"\x0b",
            b"\x85",
            b"x",
            b"[]",
        ),
        *(b"\xe9 ", b"\xef\xbb\xbf", b"*  ", b"\n{}\n{}\n", b'{"a": "' + b"long " * 20 + b'"}'),
    ]
)
BYTES = st.lists(CHUNK, max_size=60).map(b"".join)
SOME = 100
"""The row limit of these tests."""


def set_index(monkeypatch: pytest.MonkeyPatch, *, block: int, apart: int) -> None:
    """Index in small steps."""
    monkeypatch.setattr(jsonl, "BLOCK", block)
    monkeypatch.setattr(line_index, "APART", apart)


def plain_rows(data: bytes) -> list[Row]:
    """What a reader that takes the whole file apart at once makes of it."""
    found: list[tuple[int, int, bytes]] = []
    position = 0
    for number, line in enumerate(data.split(b"\n")):
        if line.strip(b" \t\r"):
            found.append((position, number, line))
        position += len(line) + 1
    rows = []
    for index, (start, number, line) in enumerate(found):
        where = f"t.jsonl line {number + 1}"
        size = (found[index + 1][0] if index + 1 < len(found) else len(data)) - start
        if len(line) > SOME:
            rows.append(oversized(data[start : start + SOME + 1], size, SOME, index, where))
            continue
        row = parse_record(line.rstrip(b"\r"), index, where, offset=start)
        if row.problem is not None and row.data is None and start + len(line) == len(data):
            cut = "it is the last line and has no line ending, so the file may be truncated"
            row = replace(row, problem=f"{row.problem}; {cut}")
        rows.append(row)
    return rows


@settings(max_examples=300, deadline=None)
@given(BYTES, st.integers(1, 9))
def test_the_scanner_finds_what_a_plain_reader_finds(data: bytes, size: int) -> None:
    scanner = line_index.LineScanner(0)
    starts: list[int] = []
    blanks: list[int] = []
    for at in range(0, len(data), size):
        new, empty = scanner.feed(data[at : at + size])
        blanks += [len(starts) + before for before in empty]
        starts += new
    expected: list[int] = []
    expected_blanks: list[int] = []
    position = 0
    for line in data.split(b"\n")[:-1]:
        (expected if line.strip(b" \t\r") else expected_blanks).append(
            position if line.strip(b" \t\r") else len(expected)
        )
        position += len(line) + 1
    if data[position:].strip(b" \t\r"):
        expected.append(position)
    assert starts == expected
    assert blanks == expected_blanks
    assert scanner.position == len(data)


@settings(max_examples=400, deadline=None)
@given(BYTES, st.integers(2, 400), st.integers(1, 200), st.randoms(use_true_random=False))
def test_rows_are_those_of_a_plain_reader(data: bytes, block: int, apart: int, random: Random) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        set_index(patch, block=block, apart=apart)
        (Path(name) / "t.jsonl").write_bytes(data)
        source = jsonl.JsonlSource(ByteFile(f"{name}/t.jsonl"), row_limit=SOME)
        expected = plain_rows(data)
        asked = random.sample(range(len(expected)), len(expected))
        for index in asked[: random.randint(0, 3)]:  # before the index is complete
            if source.near(index):
                assert source.row(index).data == expected[index].data
        assert finish(source) == len(expected)
        assert [source.row(index) for index in asked] == [expected[index] for index in asked]
        assert list(source.rows()) == expected
        source.close()


@settings(max_examples=200, deadline=None)
@given(st.lists(BYTES, min_size=1, max_size=4), st.integers(2, 400), st.integers(1, 200))
def test_a_file_that_grows_ends_as_one_that_was_whole(parts: list[bytes], block: int, apart: int) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        set_index(patch, block=block, apart=apart)
        path = Path(name) / "t.jsonl"
        path.write_bytes(b"")
        source = jsonl.JsonlSource(ByteFile(str(path)), row_limit=SOME)
        for part in [*parts, b"\n"]:
            with path.open("ab") as file:
                file.write(part)
            finish(source)
        assert list(source.rows()) == plain_rows(path.read_bytes())
        source.close()


@pytest.mark.parametrize("line", [b'{"n":\n15000}\n', b'{"n": 15000} ', b" " * 12 + b"\n"])
def test_lines_that_moved_unseen_are_not_shown_as_others(tmp_path: Path, line: bytes) -> None:
    """The size and the time of the file say nothing: a line was cut in two, joined with the next one or made blank."""
    path = tmp_path / "t.jsonl"
    data = b"".join(b'{"n": %d}\n' % n for n in range(30_000))
    source = open_bytes(tmp_path, data)
    assert finish(source) == 30_000
    seen = path.stat()
    data = data.replace(b'{"n": 15000}\n', line)
    path.write_bytes(data)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    moved = source.row(15_001)
    assert moved.data is None and "its lines have moved" in (moved.problem or "")
    assert source.row(0).data == {"n": 0} and source.row(29_999).data == {"n": 29_999}


def test_rows_in_order_ask_the_file_once_for_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(30_000)))
    file = ByteFile(str(path))
    reads: list[int] = []
    plain = file.pread

    def counted(offset: int, size: int) -> bytes:
        reads.append(size)
        return plain(offset, size)

    monkeypatch.setattr(file, "pread", counted)
    source = jsonl.JsonlSource(file, row_limit=1 << 20)
    assert [row.data for row in source.rows()] == [{"n": n} for n in range(30_000)]
    assert len(reads) < 50
    source.close()


def test_rows_after_a_change_under_the_reader_say_so(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(60_000)))
    source = jsonl.JsonlSource(ByteFile(str(path)), row_limit=1 << 20)
    rows = source.rows()
    assert next(rows).data == {"n": 0}
    path.write_text("".join(f'{{"m": {n}}}\n' for n in range(60_000)))
    rest = list(rows)
    read = [row for row in rest if row.data is not None]
    assert read == [] or {tuple(row.data) for row in read if row.data} == {("n",)}  # those read before, as they were
    assert len(rest) == 59_999
    assert "the file changed while sftui read it" in (rest[-1].problem or "")
    source.close()
