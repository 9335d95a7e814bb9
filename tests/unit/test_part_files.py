"""What a killed writer leaves is taken away by the next one, and nobody's work in progress is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sftui.exports.files import write_atomically
from sftui.part_files import begin_part, sweep_parts

HALF = """
import sys
from pathlib import Path
from sftui.exports.files import atomic_file

with atomic_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    sys.stdin.read()
"""


def writer(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HALF, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    return process


def parts(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".part"))


def test_six_killed_writers_leave_nothing_after_the_next(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    for _ in range(6):
        process = writer(target)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(parts(tmp_path)) >= 1
    write_atomically(target, b"whole")
    assert parts(tmp_path) == [] and target.read_bytes() == b"whole"


def test_a_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    process = writer(target)
    write_atomically(target, b"mine")
    assert len(parts(tmp_path)) == 1
    process.communicate("", timeout=60)
    assert process.returncode == 0 and target.read_bytes() == b"half" and parts(tmp_path) == []


def test_only_parts_of_the_same_file_are_swept(tmp_path: Path) -> None:
    others = [
        ".out.jsonl.abcdefgh.part.bak",
        ".out.jsonl.more.abcdefgh.part",
        ".other.jsonl.abcdefgh.part",
        "out.jsonl.abcdefgh.part",
    ]
    for name in (*others, ".out.jsonl.abcdefgh.part"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / ".out.jsonl.12345678.part").symlink_to(tmp_path / others[0])
    write_atomically(tmp_path / "out.jsonl", b"whole")
    left = {entry.name for entry in tmp_path.iterdir()}
    assert left == {*others, "out.jsonl", ".out.jsonl.12345678.part"}


def test_a_part_that_is_held_cannot_be_swept(tmp_path: Path) -> None:
    handle, name = begin_part(tmp_path, "audit.")
    other = os.open(name, os.O_RDWR)  # a lock of another opening, as of another process
    os.close(other)
    sweep_parts(tmp_path, "audit.")
    assert os.path.exists(name)
    os.close(handle)
    sweep_parts(tmp_path, "audit.")
    assert not os.path.exists(name)


@pytest.mark.parametrize("name", ["a" * 200 + ".jsonl", "[x]*.jsonl", "é" * 60 + ".jsonl"])
def test_names_of_any_kind(name: str, tmp_path: Path) -> None:
    process = writer(tmp_path / name)
    process.kill()
    process.wait()
    write_atomically(tmp_path / name, b"whole")
    assert parts(tmp_path) == [] and (tmp_path / name).read_bytes() == b"whole"
