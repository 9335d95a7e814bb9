"""Data that ends before its time is never taken for a smaller dataset; and what is to be known of the data is told
once."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOK = ("-t", "builtin:chatml")
ROW = (
    json.dumps(
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello there."}]}
    ).encode()
    + b"\n"
)
BROKEN = "cannot be read completely, because its compressed data is damaged: it ends too early"


def cut(whole: bytes, torn: bytes = b"") -> bytes:
    """A gzip stream that stops behind `whole` (and a piece of a row)."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(whole + torn) + packer.flush(zlib.Z_FULL_FLUSH)


@pytest.fixture(params=[b"", ROW[:40]], ids=["between rows", "inside a row"])
def damaged(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(cut(ROW * 5, request.param))
    return path


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github"])
def test_check_fails_in_every_form(sftui: Callable[..., Any], damaged: Path, form: str) -> None:
    done = sftui("check", damaged, *TOK, "--format", form)
    assert done.code == 1 and "ROW006" in done.out and "ROW001" not in done.out
    assert "5 of its rows were" in " ".join(done.out.split()) and (form == "junit" or "gzip -t" in done.out)
    assert sftui("check", damaged, *TOK, "--ignore", "ROW006").code == 0


def test_check_says_that_it_is_not_complete(sftui: Callable[..., Any], damaged: Path) -> None:
    told = json.loads(sftui("check", damaged, *TOK, "--format", "json").out)
    assert told["complete"] is False and told["rows"] == 5
    assert [one["code"] for one in told["findings"] if one["severity"] == "error"] == ["ROW006"]


@pytest.mark.parametrize(
    "words",
    [
        ("encode", "-o", "OUT"),
        ("encode", "-o", "-"),
        ("repair", "--apply", "trim", "-o", "OUT"),
        ("repair", "--apply", "trim", "-o", "-"),
    ],
)
def test_no_part_of_the_data_is_written(
    sftui: Callable[..., Any], damaged: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    target = tmp_path / "out.jsonl"
    command, *rest = (word.replace("OUT", str(target)) for word in words)
    done = sftui(command, damaged, *TOK, *rest)
    assert done.code == 2 and done.out == "" and not target.exists()
    assert done.err.startswith(
        "sftui: t.jsonl.gz: nothing was written: the data cannot be read to the end, because its"
        " compressed data is damaged"
    )
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("compare", "--with", "length.max=8"),
        ("export", "--to", "preprocess", "-o", "OUT", "--force"),
        ("repair", "--apply", "trim", "--dry-run"),
        ("template",),
    ],
)
def test_others_say_it_once(sftui: Callable[..., Any], damaged: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    command, *rest = (word.replace("OUT", str(tmp_path / "out")) for word in words)
    done = sftui(command, damaged, *TOK, *rest)
    assert done.code in (0, 1) and done.err.count(BROKEN) == 1


def test_a_shard_that_breaks_off(sftui: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.jsonl.gz").write_bytes(cut(ROW * 2))
    (tmp_path / "d" / "b.jsonl.gz").write_bytes(gzip.compress(ROW * 3))
    (tmp_path / "d" / "c.jsonl.gz").write_bytes(b"\x1f\x8b\x08" + b"x" * 100)
    done = sftui("check", tmp_path / "d", *TOK)
    assert done.code == 1 and "2 times" in done.out and "5 rows" in done.out
    assert "a.jsonl.gz cannot be read completely" in done.out and "c.jsonl.gz cannot be read" in done.out
    assert (
        sftui("encode", tmp_path / "d", *TOK, "-o", tmp_path / "o.jsonl").code == 2
        and not (tmp_path / "o.jsonl").exists()
    )


def test_a_list_that_is_cut(sftui: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b"[" + ROW.strip() + b"," + ROW.strip())
    done = sftui("check", path, *TOK)
    assert done.code == 1 and "it ends before the closing ] of its list" in " ".join(done.out.split())


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("encode", "-o", "-"),
        ("check",),
        ("check", "--format", "json"),
        ("check", "--format", "sarif"),
        ("check", "--format", "junit"),
        ("check", "--format", "github"),
        ("compare", "--with", "length.max=8"),
        ("report", "-o", "OUT.html"),
        ("export", "--to", "recipe", "-o", "OUT", "--force"),
    ],
)
def test_how_rows_are_read_is_told_once(sftui: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "t.jsonl"
    row = {
        "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "Hello there."}],
        "images": ["a.png"],
    }
    path.write_text(json.dumps(row) + "\n")
    command, *rest = (word.replace("OUT", str(tmp_path / "out")) for word in words)
    done = sftui(command, path, *TOK, *rest)
    assert done.err.count("roles are mapped: human → user") == 1
    assert done.err.count("`images`: sftui does not know how many tokens a model uses for it") == 1
