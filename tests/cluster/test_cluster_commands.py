"""The commands with --engine ray, as a user starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cluster_data as data
import psutil
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.cluster
SFTUI = str(Path(sys.executable).parent / "sftui")


def started(*words: object, **more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "RAY_ADDRESS": "", **more}
    return subprocess.Popen(
        [SFTUI, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


def test_check_says_the_same_in_a_ray_of_its_own(tmp_path: Path) -> None:
    rows = data.write(tmp_path / "t.jsonl", 300)
    words = ("check", rows, "-t", "builtin:chatml", "--trainer", "trl", "--eval", rows, "--format", "sarif")
    assert ended(started(*words, "--engine", "ray", "--jobs", 2)) == ended(started(*words, "--jobs", 1))


@pytest.mark.parametrize("out", ["-", "out.parquet"])
def test_encode_writes_the_same(tmp_path: Path, out: str) -> None:
    rows = data.write(tmp_path / "t.jsonl", 300)
    made = []
    for name, more in (("here", ()), ("ray", ("--engine", "ray", "--jobs", 2))):
        target = out if out == "-" else tmp_path / f"{name}.parquet"
        told = ended(started("encode", rows, "-t", "builtin:chatml", "--trainer", "trl", "-o", target, *more))
        assert told[0] == 2 and "could not be prepared" in told[2]  # some rows are broken
        made.append(told[1] if out == "-" else pq.read_table(target).to_pylist())
    assert made[0] == made[1] and len(made[0]) >= 300
    assert not list(tmp_path.glob(".*.part"))


def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    rows = data.write(tmp_path / "t.jsonl", 20_000)
    process = started("check", rows, "-t", "builtin:chatml", "--engine", "ray", "--jobs", 1)
    until = time.monotonic() + 200
    family: list[psutil.Process] = []
    while not any(one.name().startswith("ray::ActorWork") for one in family):
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.3)
        family = alive(psutil.Process(process.pid))
    os.killpg(process.pid, signal.SIGINT)
    code, out, err = ended(process)
    assert (code, out) == (130, "") and "Traceback" not in err
    assert not psutil.wait_procs(family, timeout=20)[1]


def alive(process: psutil.Process) -> list[psutil.Process]:
    found = []
    for one in process.children(recursive=True):
        try:
            one.name()
        except psutil.NoSuchProcess:
            continue
        found.append(one)
    return found


def test_no_cluster_at_the_address(tmp_path: Path) -> None:
    rows = data.write(tmp_path / "t.jsonl", 20)
    words = ("check", rows, "-t", "builtin:chatml", "--engine", "ray", "--address", "127.0.0.1:1")
    code, out, err = ended(started(*words))
    assert (code, out) == (2, "")
    assert err == (
        "sftui: there is no Ray cluster at 127.0.0.1:1, because connection refused; start one with `ray"
        " start --head`, or omit --address\n"
    )
