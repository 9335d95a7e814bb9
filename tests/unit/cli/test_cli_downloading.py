"""Bytes that come from the Hub are told while they come: redrawn on a terminal, in one line in a pipe."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sftui import waiting
from sftui.cli import loading
from sftui.cli.loading import download_progress, hub_tokenizer
from sftui.cli.terminal import LINE_WIDTH, guarded


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[float, int]]:
    """A cache of our own, looked at often; what was told of it, as if it had taken two seconds more."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(loading, "EVERY", 0.001)
    calls: list[tuple[float, int]] = []
    watched = waiting.watched

    def later(repo: str, kind: str, tell: Callable[[float, int], None], every: float) -> AbstractContextManager[None]:
        def say(seconds: float, came: int) -> None:
            tell(seconds + 2, came)
            calls.append((seconds, came))

        return watched(repo, kind, say, every)

    monkeypatch.setattr(waiting, "watched", later)
    return calls


def run(terminal: bool, kind: str, grow: bool, told: list[tuple[float, int]], folder: Path) -> str:
    """What is on stderr after three looks, the cache having grown before each."""
    blobs = folder / f"{kind}--org--big" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / "old").write_bytes(b"x" * 999)
    stream = Stream(terminal)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stderr", stream)
        with guarded(), download_progress("org/big", kind):
            for step in (1, 2, 3):
                if grow:
                    (blobs / f"new-{step}.incomplete").write_bytes(b"x" * 1_500_000)
                end = time.monotonic() + 20
                while len(told) < step or told[-1][1] != 1_500_000 * step * grow:
                    assert time.monotonic() < end, told
                    time.sleep(0.005)
    return stream.getvalue()


def test_a_terminal_shows_the_bytes_and_is_clean_afterwards(told: list[tuple[float, int]], tmp_path: Path) -> None:
    text = run(True, "datasets", True, told, tmp_path)
    drawn = text.split("\r")
    assert any(part.startswith("loading dataset org/big … 2 s, 4.5 MB downloaded") for part in drawn)
    assert "\n" not in text and drawn[-2].isspace() and drawn[-1] == "" and max(map(len, drawn)) == LINE_WIDTH
    assert told[-1][1] == 4_500_000, "what was there before did not come"


@pytest.mark.parametrize(
    ("kind", "line"), [("models", "sftui: downloading tokenizer org/big from the Hub …\n"), ("datasets", "")]
)
def test_a_pipe_gets_one_line(told: list[tuple[float, int]], tmp_path: Path, kind: str, line: str) -> None:
    """Of a dataset it was said before that it is looked up."""
    assert run(False, kind, True, told, tmp_path) == line


def test_where_nothing_comes_a_pipe_hears_nothing(told: list[tuple[float, int]], tmp_path: Path) -> None:
    assert run(False, "models", False, told, tmp_path) == ""


def test_only_what_comes_from_the_hub_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "org" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert hub_tokenizer("org/model") == "org/model"
    assert [hub_tokenizer(name) for name in ("builtin:chatml", "org/here", "./nothing/here", "")] == [None] * 4
    monkeypatch.setattr(waiting, "watched", lambda *arguments: pytest.fail("nothing is to be watched"))
    with download_progress(None, "models"):
        pass


def test_a_reader_that_is_gone_does_not_end_the_work(told: list[tuple[float, int]], tmp_path: Path) -> None:
    def broken(seconds: float, came: int) -> None:
        raise BrokenPipeError

    with waiting.watched("org/big", "models", broken, 0.001):
        threading.Event().wait(0.02)
