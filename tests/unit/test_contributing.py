"""What CONTRIBUTING.md and the README of the tests name is there: files, names of the code, markers and lanes."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
TEXTS = {name: REPO / name for name in ("CONTRIBUTING.md", "tests/README.md")}
ENDINGS = ("py", "md", "json", "jsonl", "toml", "tsv", "yml", "yaml", "sh")
ROOTS = ("", "sftui", "sftui/trainers", "sftui/trainers/trl", "tests", "tests/parity")
"""What a path is written from: the repository, the package, a trainer's folder, the tests."""
PLACEHOLDER = re.compile(r"NAME|PACKAGE|\*|acme|<|/tmp|…|~|\$|^https?:")
"""Parts of a path that stand for another."""


def named(file: Path) -> set[str]:
    """Everything in backticks, and the words of what is indented as code."""
    text = file.read_text(encoding="utf-8")
    lines = [word for line in text.splitlines() if line.startswith("    ") for word in line.split()]
    spans = [word for span in re.findall(r"`([^`\n]+)`", text) for word in span.split()]
    return {word.strip("`,;:()'\"") for word in (*lines, *spans)}


@cache
def files() -> frozenset[str]:
    """The names of all files of the package and the tests."""
    return frozenset(path.name for root in ("sftui", "tests") for path in (REPO / root).rglob("*"))


@cache
def classes() -> frozenset[str]:
    """The names of all classes of the package."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (REPO / "sftui").rglob("*.py"))
    return frozenset(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def is_there(path: str) -> bool:
    if "/" not in path:
        return path in files() or (REPO / path).exists()
    return any((REPO / root / path).exists() for root in ROOTS)


@pytest.mark.parametrize("name", TEXTS)
def test_files_and_folders_that_are_named_exist(name: str) -> None:
    looks = re.compile(rf"[\w.-]+(?:/[\w.-]+)*/|[\w./-]+\.(?:{'|'.join(ENDINGS)})")
    paths = {word for word in named(TEXTS[name]) if looks.fullmatch(word) and not PLACEHOLDER.search(word)}
    assert len(paths) > 5
    assert sorted(path for path in paths if not is_there(path)) == []


def test_names_of_the_code_that_are_named_exist() -> None:
    """`pipeline.detect`, `Trainer.render`: from a module of sftui, or from a class whose home is known."""
    from sftui.trainers.base import Trainer

    homes: dict[str, Any] = {"Trainer": Trainer}
    modules = {path.stem for path in (REPO / "sftui").glob("*.py")}
    found = set()
    for word in named(TEXTS["CONTRIBUTING.md"]):
        first, _, rest = word.partition(".")
        if not re.fullmatch(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+", word) or word.endswith(ENDINGS):
            continue
        if first in modules | {*homes}:
            home = homes.get(first) or importlib.import_module(f"sftui.{first}")
            for part in rest.split("."):
                assert hasattr(home, part), word
                home = getattr(home, part)
            found.add(word)
    assert {"pipeline.detect", "pipeline.inspect", "bound.Work", "Trainer.label"} <= found


def test_a_row_travels_in_ten_lines_at_the_top() -> None:
    text = TEXTS["CONTRIBUTING.md"].read_text(encoding="utf-8")
    first = text.split("\n## ")[1]
    assert first.startswith("How a row travels\n")
    lines = re.findall(r"^(\d+)\. .*$", first, re.MULTILINE)
    assert lines == [str(number) for number in range(1, 11)]
    types = set(re.findall(r"`([A-Z][A-Za-z]+)`", first))
    assert {"Row", "Conversation", "RenderedText", "Tokens", "Labels", "Inspection"} <= types <= classes()


def test_markers_and_lanes_that_are_named_exist() -> None:
    text = TEXTS["CONTRIBUTING.md"].read_text(encoding="utf-8")
    pyproject = (REPO / "pyproject.toml").read_text(encoding="utf-8")
    markers = set(re.findall(r'^    "(\w+): ', pyproject.partition("\nmarkers = [")[2].partition("]")[0], re.MULTILINE))
    assert set(re.findall(r"pytest -m (\w+)", text)) <= markers
    lanes = set(
        re.findall(r'^known="(.*)"$', (REPO / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)[0].split()
    )
    for said in re.findall(r"\.ci/run((?: [a-z]+)+)", text):
        assert set(said.split()) <= lanes, said
