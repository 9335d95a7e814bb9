"""`sftui capture`: what it says, and the file that it writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from capture_runs import LOOP

from sftui.capture.recorder.sftui_recorder import started
from sftui.cli import main

Sftui = Callable[..., tuple[int, str]]
STEPS = "for batch in loader:\n    model(**batch)\n    optimizer.step()\n"


@pytest.fixture
def sftui(stub: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Sftui:
    """`sftui("capture", …)` beside a script `train.py` → exit code and stderr."""
    (tmp_path / "train.py").write_text(LOOP + STEPS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_API_KEY", "wandbsecret")

    def run(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([*words])
        return int(str(ended.value.code)), capfd.readouterr().err

    return run


RUN = ("--", sys.executable, "train.py", "marker", "--hub_token", "hf_secretsecret")


def test_a_run_is_written_for_its_owner_alone(sftui: Sftui, tmp_path: Path) -> None:
    (tmp_path / "b.parquet").write_text("old")
    (tmp_path / "b.parquet").chmod(0o644)
    code, told = sftui("capture", "-o", "b.parquet", "--batches", "2", "--force", *RUN)
    assert code == 0
    assert not (tmp_path / "marker").exists()
    file = tmp_path / "b.parquet"
    assert file.stat().st_mode & 0o777 == 0o600
    content = file.read_bytes()
    assert b"wandbsecret" not in content and b"hf_secret" not in content
    table = pq.read_table(file)
    about = json.loads(table.schema.metadata[b"sftui_capture"])
    assert b"secret" not in json.dumps(about).encode()
    assert table.column_names == [
        *("batch", "sequence", "input_ids", "labels"),
        *("captured_from", "labels_from", "loss_takes", "length"),
    ]
    assert table["input_ids"].to_pylist()[0] == [10, 11, 12, 13]
    assert [one["from"] for one in about["batches"]] == ["model", "loader"]
    said = told.splitlines()
    assert said[0].startswith("sftui: running your own code: ") and said[0].endswith(
        "sftui stops it before its first optimizer step"
    )
    assert said[-1] == "sftui: written to b.parquet, which only you can read"
    assert "sftui: the run was stopped before its first optimizer step; no optimizer took a step" in said
    assert "sftui: the run's tokenizer is not known: name it with -t" in said


def test_what_the_run_prints_is_on_stderr(sftui: Sftui, tmp_path: Path) -> None:
    with (tmp_path / "train.py").open("a") as file:
        file.write("")
    (tmp_path / "train.py").write_text("print('hello from the run', flush=True)\n" + LOOP + STEPS)
    code, told = sftui("capture", "-o", "b.parquet", *RUN)
    assert code == 0 and "hello from the run" in told


def test_nothing_captured_is_one_sentence_and_no_file(sftui: Sftui, tmp_path: Path) -> None:
    code, told = sftui("capture", "-o", "b.parquet", "--", sys.executable, "-c", "raise SystemExit(7)")
    assert code == 2 and not (tmp_path / "b.parquet").exists()
    assert told.splitlines()[-1] == (
        "sftui: nothing was captured, because torch was not imported, and the command ended with code 7"
    )


@pytest.mark.parametrize(
    ("out", "why"),
    [
        ("b.jsonl", "b.jsonl does not name a format for batches; name it OUT.parquet"),
        ("-", "- does not name a format for batches; name it OUT.parquet"),
        (
            "nowhere/b.parquet",
            "nowhere/b.parquet could not be written, because there is no folder nowhere; create it, or name another"
            " file",
        ),
        ("there.parquet", "there.parquet already exists; overwrite with --force, or choose another name"),
        (
            "read.parquet",
            "read.parquet is one of the input files, because sftui never writes in place",
        ),
    ],
)
def test_where_nothing_can_be_written_nothing_is_run(sftui: Sftui, tmp_path: Path, out: str, why: str) -> None:
    for name in ("there.parquet", "read.parquet"):
        (tmp_path / name).write_text("mine")
    code, told = sftui("capture", "-o", out, *RUN, "read.parquet")
    assert code == 2 and why in told and "running your own code" not in told
    assert (tmp_path / "there.parquet").read_text() == "mine"


def test_no_command_is_told(sftui: Sftui) -> None:
    code, told = sftui("capture", "-o", "b.parquet")
    assert code == 2 and "missing argument" in told


BEGUN = """
import os, subprocess, time
detached = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open("pids.part", "w") as file:
    print(os.getpid(), detached.pid, file=file)
os.replace("pids.part", "pids")
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_who_ends_sftui_ends_the_run(sftui: Sftui, tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "train.py").write_text(BEGUN)
    (tmp_path / "private").mkdir()
    words = [sys.executable, "-m", "sftui", "capture", "-o", "b.parquet", "--", sys.executable, "train.py"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "private")}
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, env=environment) as process:
        until = time.monotonic() + 30
        while not (tmp_path / "pids").exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(30) == (-number if number == signal.SIGKILL else 128 + number)
    run = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    while any(started(pid) for pid in run) or os.listdir(tmp_path / "private"):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert sorted(os.listdir(tmp_path)) == ["pids", "private", "train.py"]
