"""A worker that is started before the command line is read: taken once, as what would be started now, or ended."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from sftui.starting import COMMAND, IdleWorker, begin
from sftui.workspace.link import Link

WAITS = (sys.executable, "-c", "import sys; sys.stdin.read()")


def linked(command: tuple[str, ...], started: IdleWorker) -> int:
    """The process that a link talks to, which is ended."""
    ended = threading.Event()
    link = Link(lambda event: None, lambda _: ended.set(), command, started)
    link.kill()
    assert ended.wait(10)
    return link.pid


def test_the_link_takes_the_worker_that_is_there_and_no_one_takes_it_twice() -> None:
    started = IdleWorker(WAITS)
    assert linked(WAITS, started) == started.process.pid
    assert linked(WAITS, started) != started.process.pid
    started.end()


@pytest.mark.parametrize("why", ["command", "environment", "ended"])
def test_a_worker_is_ended_that_is_not_what_would_be_started_now(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started = IdleWorker(WAITS)
    if why == "environment":  # as `--trainers-from` sets it for every process that is started from then on
        monkeypatch.setenv("SFTUI_TRAINERS_FROM", "one")
    if why == "ended":
        started.process.kill()
        started.process.wait()
    assert linked((*WAITS, "other") if why == "command" else WAITS, started) != started.process.pid
    assert started.process.poll() is not None


def test_who_does_not_need_a_worker_ends_it() -> None:
    started = IdleWorker(WAITS)
    started.end()
    assert started.process.poll() is not None
    started.end()


def test_a_worker_is_begun_for_the_inspector_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.jsonl").write_bytes(b"{}\n")
    begun: list[tuple[str, ...]] = []
    monkeypatch.setattr("sftui.starting.IdleWorker", begun.append)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for words in ([], ["--help"], ["show", "data.jsonl"], ["-t", "builtin:chatml", "data.jsonl"], ["org/set"]):
        begin(words)
    assert begun == []
    begin(["data.jsonl", "-t", "builtin:chatml"])
    begin(["demo"])
    assert begun == [COMMAND, COMMAND]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    begin(["data.jsonl"])
    assert len(begun) == 2


def test_no_worker_can_be_started_is_told_by_who_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(command: tuple[str, ...]) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sftui.starting.IdleWorker", full)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert begin([str(tmp_path)]) is None
