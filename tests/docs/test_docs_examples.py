"""Every example of README and docs runs and prints what the page shows; SFTUI_GOLDEN=write writes the outputs anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import COLUMNS, FILE, PAGES, Folder, blocks, fits, runs_of, shortened


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Caches that nobody else fills: what is at hand decides what the examples print."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def folder(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("COLUMNS", COLUMNS)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    (tmp_path / "page").mkdir()
    made = Folder(tmp_path / "page")
    yield made
    made.close()


@pytest.mark.one_of(2)
@pytest.mark.parametrize("name", PAGES)
def test_every_example_runs_and_prints_what_the_page_shows(name: str, folder: Folder) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    lines, differ = text.splitlines(), []
    for run in reversed([*runs_of(text, folder)]):
        if run.expected is None or fits(run.expected.text, run.printed):
            continue
        shown = shortened(run.expected.text, run.printed)
        begin = run.expected.line
        lines[begin : begin + len(run.expected.text.splitlines())] = shown.splitlines()
        differ.append(f"line {run.block.line}: {run.block.text}\n{shown}")
    if differ and os.environ.get("SFTUI_GOLDEN") == "write":
        PAGES[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    assert not differ, "run with SFTUI_GOLDEN=write and read the diff:\n" + "\n".join(reversed(differ))


@pytest.mark.parametrize("name", PAGES)
def test_what_is_not_run_says_why(name: str) -> None:
    """No fence stands unread: each runs, is an output, a file or a command of `.ci/run`, or says why it is not run."""
    found = [*blocks(PAGES[name].read_text(encoding="utf-8"))]
    before = None
    for block in found:
        output = block.language == "text" and block.follows and before is not None and before.runs
        said = block.mark in (FILE, "command") or (block.mark == "not run" and len(block.value) > 5)
        assert block.runs or output or said, f"{name}.md:{block.line} neither runs nor says why not"
        before = block


@pytest.mark.parametrize("name", [name for name in PAGES if not name.endswith("README")])
def test_commands_fit_a_terminal(name: str) -> None:
    """A line that help has to fold is no longer one that can be copied."""
    for block in blocks(PAGES[name].read_text(encoding="utf-8")):
        if block.language == "sh":
            assert [line for line in block.text.splitlines() if len(line) > int(COLUMNS)] == []


def test_dots_stand_for_lines() -> None:
    assert fits("a\n…\nd", "a\nb\nc\nd") and fits("a\n…\nd", "a\nd") and fits("a\n…", "a\nb\nc") and fits("a", "a")
    assert not fits("a\n…\nd", "a\nb\nc") and not fits("a", "a\nb") and not fits("a\n…\nd", "x\nd")
    assert shortened("a\n…\ny\nz", "1\n2\n3\n4\n5") == "1\n…\n4\n5" and shortened("a", "1\n2") == "1\n2"
    assert shortened("a\nb\n…", "1\n2\n3") == "1\n2\n…" and shortened("a\n… and", "1\n2") == "1\n2"
