"""A runner for all of a file that runs `sftui verify`: importing a trainer takes most of what a few rows take."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import pytest


@pytest.fixture(autouse=True, scope="module")
def runner_stays() -> Iterator[None]:
    """The runner that `sftui verify` started last answers the next test that asks the same trainer, since it keeps
    nothing from one request to the next; another trainer's ends it."""
    from sftui.trainers.verify import session

    running: dict[tuple[Path, str], tuple[list[Mapping[str, Any]], Iterator[dict[str, Any]], IO[str]]] = {}

    def end() -> None:
        for _, answers, errors in running.values():
            answers.close()  # type: ignore[attr-defined]
            errors.close()
        running.clear()

    def waiting(asked: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        while True:
            yield asked.pop()

    def ask(
        python: Path, trainer: str, requests: Iterable[Mapping[str, Any]], errors: IO[str]
    ) -> Iterator[dict[str, Any]]:
        for request in requests:
            if (python, trainer) not in running:
                end()
                asked: list[Mapping[str, Any]] = []
                kept = tempfile.TemporaryFile("a+", encoding="utf-8", errors="replace")  # noqa: SIM115 — closed in `end`
                running[python, trainer] = asked, session.ask(python, trainer, waiting(asked), kept), kept
            asked, answers, own = running[python, trainer]
            before = own.seek(0, 2)
            asked.append(request)
            try:
                answer = next(answers)
            except BaseException:
                end()
                raise
            own.seek(before)
            errors.write(own.read())
            yield answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sftui.cli.verify.ask", ask)
        yield
    end()
