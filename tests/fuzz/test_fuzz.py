"""A short run of the fuzzer, always the same inputs, and every input that once broke something."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import fuzz_engine
import fuzz_inputs
import fuzz_targets
import pytest

from sftui.errors import SftuiError

INPUTS, AT_ONCE = 1_500, 250
"""Inputs in all, and in one test: the first in the test command, the others in the lane `long` of `.ci/run`."""
SEED = 20_261_122


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # put back afterwards
    monkeypatch.chdir(tmp_path)
    fuzz_targets.in_folder(tmp_path)
    yield tmp_path


@pytest.mark.parametrize(("target", "given"), [pytest.param(t, g, id=name) for name, t, g in fuzz_engine.corpus()])
def test_what_once_broke_something_does_no_more(target: str, given: Any, folder: Path) -> None:
    failure = fuzz_engine.tried(target, given, folder)
    assert failure is None, failure.trace


@pytest.mark.parametrize(
    "first",
    [pytest.param(first, marks=[pytest.mark.long] * (first > 0)) for first in range(0, INPUTS, AT_ONCE)],
)
def test_a_short_run_finds_nothing(first: int, folder: Path) -> None:
    failures = []
    for number in range(first, first + AT_ONCE):
        target, given = fuzz_targets.made(SEED, number)
        if (failure := fuzz_engine.tried(target, given, folder)) is not None:
            failures.append(f"{SEED}:{number} {failure.signature}\n{failure.trace}")
    assert failures == []


def test_a_seed_stands_for_the_same_inputs_always() -> None:
    once = [fuzz_targets.made(7, number) for number in range(300)]
    again = [fuzz_targets.made(7, number) for number in reversed(range(300))][::-1]
    assert repr(once) == repr(again)
    assert {name for name, _ in once} == set(fuzz_targets.TARGETS)


class TestTheFuzzerItself:
    """It would see what it is there for."""

    def tried(self, monkeypatch: pytest.MonkeyPatch, folder: Path, run: Any) -> fuzz_engine.Failure | None:
        target = fuzz_targets.Target(fuzz_inputs.shown_text, run, 0)
        monkeypatch.setattr(fuzz_targets, "TARGETS", {"one": target})
        return fuzz_engine.tried("one", fuzz_inputs.shown_text(Random(1)), folder)

    def test_an_error_is_a_signature_with_its_place(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        def run(given: Any, where: Path) -> None:
            from sftui.text import visible

            visible(5)  # type: ignore[arg-type]

        failure = self.tried(monkeypatch, folder, run)
        assert failure is not None and failure.signature.endswith("at text.py:visible")

    def test_what_is_no_exception_is_seen_too(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        class Panic(BaseException):
            pass

        def run(given: Any, where: Path) -> None:
            raise Panic

        failure = self.tried(monkeypatch, folder, run)
        assert failure is not None and failure.signature.startswith("Panic at")

    def test_an_input_that_takes_all_its_time_is_one(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        def run(given: Any, where: Path) -> None:
            while True:
                pass

        monkeypatch.setattr(fuzz_engine, "PATIENCE", 0.2)
        failure = self.tried(monkeypatch, folder, run)
        assert failure is not None and failure.signature.startswith("Hang at")

    def test_an_error_that_is_told_is_none(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        def run(given: Any, where: Path) -> None:
            raise SftuiError("there is no such thing")

        assert self.tried(monkeypatch, folder, run) is None
