"""`sftui encode`: records, exit codes, and files that are whole or not there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOK = ("-t", "builtin:chatml")


def test_one_record_a_row_whatever_the_row_is(sftui: Callable[..., Any], data: Path) -> None:
    done = sftui("encode", data, *TOK, "-o", "-")
    good, dropped, failed, last = done.records()
    assert set(good) == {"row", "input_ids", "labels", "attention_mask"}
    assert len(good["input_ids"]) == len(good["labels"]) == len(good["attention_mask"])
    assert set(dropped) == {"row", "dropped"} and "not from the assistant" in dropped["dropped"]
    assert set(failed) == {"row", "error"} and failed["row"] == 2
    assert last["row"] == 3 and last["input_ids"]
    assert done.code == 2, "a row that could not be prepared ends the command with 2, after all others"
    assert "4 rows, 1 dropped by the trainer, 1 could not be prepared" in done.err


def test_explain_goes_along_the_ids_and_the_labels(sftui: Callable[..., Any], data: Path) -> None:
    plain = sftui("encode", data, *TOK, "-o", "-", "--explain").records()[0]
    n = len(plain["input_ids"])
    assert [len(plain[key]) for key in ("tokens", "reasons", "spans", "labels")] == [n] * 4
    assert plain["spans"][-2][3] == "terminator"
    shifted = sftui("encode", data, *TOK, "-o", "-", "--explain", "--trainer", "manual-shift").records()[0]
    assert shifted["input_ids"] == plain["input_ids"][:-1] and shifted["labels"] == plain["labels"][1:]
    assert shifted["tokens"] == plain["tokens"][:-1] and shifted["reasons"] == plain["reasons"][1:]


def test_stdout_is_plain_ascii_data(sftui: Callable[..., Any], data: Path) -> None:
    out = sftui("encode", data, *TOK, "-o", "-", "--explain").out
    assert out.isascii() and "\x1b" not in out


def test_jsonl_and_parquet_hold_the_same(sftui: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    for explain in ((), ("--explain",)):
        lines, table = tmp_path / "out.jsonl", tmp_path / "out.parquet"
        assert sftui("encode", data, *TOK, "-o", lines, "--force", *explain).out == ""
        sftui("encode", data, *TOK, "-o", table, "--force", *explain)
        rows = pq.read_table(table).to_pylist()
        for row in rows:
            row["spans"] = [s and list(s.values()) for s in row["spans"]] if row.get("spans") else None
        kept = [{key: value for key, value in row.items() if value is not None} for row in rows]
        assert kept == [json.loads(line) for line in lines.read_text().splitlines()]


def test_overwriting_needs_force_where_nobody_can_be_asked(
    sftui: Callable[..., Any], data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious")
    done = sftui("encode", data, *TOK, "-o", out)
    assert done.code == 2 and "--force" in done.err and out.read_text() == "precious"
    sftui("encode", data, *TOK, "-o", out, "--force")
    assert out.read_text() != "precious"


@pytest.mark.parametrize(
    ("name", "told"), [("out.txt", "OUT.jsonl or OUT.parquet"), ("no/such/out.jsonl", "there is no folder ")]
)
def test_what_cannot_be_written_is_told_in_one_sentence(
    sftui: Callable[..., Any], data: Path, tmp_path: Path, name: str, told: str
) -> None:
    done = sftui("encode", data, *TOK, "-o", tmp_path / name)
    assert done.code == 2 and told in done.err and len(done.err.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rows.jsonl"] or "cache" in str(list(tmp_path.iterdir()))


def test_a_full_disk_leaves_nothing(
    sftui: Callable[..., Any], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    out = tmp_path / "o" / "out.jsonl"
    out.parent.mkdir()
    done = sftui("encode", data, *TOK, "-o", out)
    assert done.code == 2 and "no space left" in done.err and list(out.parent.iterdir()) == []


def many_rows(path: Path) -> Path:
    row = json.dumps(
        {"messages": [{"role": "user", "content": "Hello? " * 50}, {"role": "assistant", "content": "Hi. " * 50}]}
    )
    path.write_text((row + "\n") * 20_000)
    return path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_encode_that_is_ended_leaves_what_was_there(tmp_path: Path, number: int) -> None:
    """SIGTERM takes the unfinished file away; after kill -9 the target is still the old one."""
    data = many_rows(tmp_path / "many.jsonl")
    folder = tmp_path / "out"
    folder.mkdir()
    out = folder / "out.jsonl"
    out.write_text("precious")
    command = [sys.executable, "-m", "sftui", "encode", str(data), *TOK, "-o", str(out), "--force"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not any(p.suffix == ".part" and p.stat().st_size for p in folder.iterdir()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate(timeout=10)
    assert process.returncode in (128 + number, -number)
    assert out.read_text() == "precious"
    if number == signal.SIGTERM:
        assert list(folder.iterdir()) == [out]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    data = many_rows(tmp_path / "many.jsonl")
    command = [sys.executable, "-m", "sftui", "encode", str(data), *TOK, "-o", "-"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(20) == 0 and err == b""


def test_stdin_is_read_where_data_is_a_dash(data: Path) -> None:
    command = [sys.executable, "-m", "sftui", "encode", "-", *TOK, "-o", "-"]
    done = subprocess.run(command, input=data.read_bytes(), capture_output=True)
    assert [json.loads(line)["row"] for line in done.stdout.splitlines()] == [0, 1, 2, 3]


def test_a_run_that_trains_nothing_is_told_and_exits_2(sftui: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"input_ids": [300, 301], "labels": [-100, -100]}\n' * 3)
    words = ("encode", path, "-t", "builtin:chatml", "-o", "-")
    for trainer, said in (
        ("hf-trainer", "every label in all 3 rows that are left is masked"),
        ("trl@1.16", "TRL stops: all 3 rows are dropped, and it raises ValueError: num_samples"),
    ):
        done = sftui(*words, "--trainer", trainer)
        assert done.code == 2 and said in done.err and len(done.records()) == 3, done.err
    asked = tmp_path / "asked.jsonl"
    asked.write_text('{"messages": [{"role": "user", "content": "hi"}]}\n' * 3)
    for trainer, said in (
        ("axolotl@0.19", "every label in all 3 rows that are left is masked, but Axolotl does not stop"),
        (
            "llamafactory@0.9",
            "LLaMA-Factory stops: all 3 rows are dropped, and it raises RuntimeError: Cannot find valid",
        ),
    ):
        done = sftui("encode", asked, *words[2:], "--trainer", trainer)
        assert done.code == 2 and said in done.err, done.err
        assert "RUN001" in sftui("check", asked, *words[2:4], "--trainer", trainer).out
    path.write_text('{"input_ids": [300, 301], "labels": [-100, 301]}\n')
    done = sftui(*words)
    assert done.code == 0 and "nothing" not in done.err


@pytest.mark.parametrize(("strategy", "stops"), [("bfd", True), ("none", False)])
def test_rows_of_no_ids_alone_stop_a_trainer_that_packs(strategy: str, stops: bool, sftui: Any, tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"input_ids": [], "labels": []}\n' * 3)
    words = (path, "-t", "builtin:chatml", "--trainer", "unsloth", "--set", f"pack.strategy={strategy}")
    said = "Unsloth stops: all 3 rows are dropped" if stops else "masked, but Unsloth does not stop"
    for done in (sftui("encode", *words, "-o", "-"), sftui("check", *words)):
        assert done.code and said in " ".join((done.out + done.err).split()), done


def test_a_row_that_stops_the_trainer_is_told_as_the_end_of_the_run(sftui: Any, data: Path) -> None:
    done = sftui("encode", data, "-t", "builtin:chatml", "-o", "-")
    assert done.code == 2 and "hf-trainer stops the whole run at row 2" in done.err


def test_a_row_put_together_wrongly_is_told_by_encode_and_check(
    sftui: Callable[..., Any], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sftui.templates.shortcuts.skeletons import Skeletons

    for command in (("encode", data, "-o", "-"), ("check", data)):
        assert "put together" not in sftui(*command, *TOK).err

    def see(self: Skeletons, asked: object) -> None:
        self.mismatch = "a row was put together otherwise than it is rendered"

    monkeypatch.setattr(Skeletons, "see", see)
    for command in (("encode", data, "-o", "-"), ("check", data)):
        assert sftui(*command, *TOK).err.count("sftui: a row was put together otherwise than it is rendered") == 1
