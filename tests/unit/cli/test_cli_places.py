"""Where a finding stands, as an editor, a terminal and a review open it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

Sftui = Callable[..., Any]
ROWS = "".join(
    json.dumps({"messages": [{"role": "user", "content": one}, {"role": "assistant", "content": f"{one} "}]}) + "\n"
    for one in ("a", "b")
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repo"
    for name in ("my data/x/one.jsonl", "my data/x/deep/two.jsonl", "my data/y/one.jsonl"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(ROWS)
    (root / ".git").mkdir()
    monkeypatch.chdir(root)
    return root


def places(sftui: Sftui, *data: object) -> dict[str, set[tuple[str, int]]]:
    """File and line of every finding of a row, by format."""
    words = (*data, "-t", "builtin:chatml", "--select", "CON004", "--format")
    found: dict[str, set[tuple[str, int]]] = {}
    found["json"] = {(one["file"], one["line"]) for one in json.loads(sftui("check", *words, "json").out)["findings"]}
    results = json.loads(sftui("check", *words, "sarif").out)["runs"][0]["results"]
    spots = [one["locations"][0]["physicalLocation"] for one in results]
    found["sarif"] = {(one["artifactLocation"]["uri"], one["region"]["startLine"]) for one in spots}
    told = [
        line.removeprefix("::notice file=").partition(",title=")[0]
        for line in sftui("check", *words, "github").out.splitlines()
    ]
    found["github"] = {(file, int(line)) for file, _, line in (one.partition(",line=") for one in told)}
    text = " ".join(sftui("check", *words, "text").out.split())
    found["text"] = {(file, line) for file, line in found["json"] if f"{file}:{line} row" in text}
    cases = ElementTree.fromstring(sftui("check", *words, "junit").out)
    out = "".join(case.text or "" for case in cases.iter("system-out"))
    found["junit"] = {(file, line) for file, line in found["json"] if f"{file}:{line} row" in out}
    return found


ALL = {(name, line) for name in ("my data/x/deep/two.jsonl", "my data/x/one.jsonl") for line in (1, 2)}


@pytest.mark.parametrize(
    "data",
    [("my data/x",), ("my data/x/**/*.jsonl",), ("my data/x/deep/two.jsonl", "my data/x/one.jsonl"), ("./my data/x/",)],
)
def test_files_of_folders_and_globs_keep_their_folder(sftui: Sftui, repository: Path, data: tuple[str, ...]) -> None:
    found = places(sftui, *data)
    quoted = {(name.replace(" ", "%20"), line) for name, line in ALL}
    assert found["github"] == ALL and found["sarif"] == quoted
    assert {(name.removeprefix("./"), line) for name, line in found["json"]} == ALL
    assert found["junit"] == found["json"] and found["text"] <= found["json"] and len(found["text"]) == 3


def test_files_of_one_name_in_two_folders_are_told_apart(sftui: Sftui, repository: Path) -> None:
    found = places(sftui, "my data/x/one.jsonl", "my data/y/one.jsonl")
    assert {name for name, _ in found["github"]} == {"my data/x/one.jsonl", "my data/y/one.jsonl"}


def test_reviews_count_from_the_root_of_the_repository(
    sftui: Sftui, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "my data" / "x")
    for data in ("deep", ".", "deep/two.jsonl", str(repository / "my data" / "x" / "deep"), "../x/deep"):
        found = places(sftui, data)
        assert ("my data/x/deep/two.jsonl", 1) in found["github"] and ("my%20data/x/deep/two.jsonl", 1) in found[
            "sarif"
        ], data
        assert all(Path(name).is_file() for name, _ in found["json"])


def test_without_a_repository_they_count_from_here(
    sftui: Sftui, repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (repository / ".git").rmdir()
    monkeypatch.chdir(repository / "my data")
    assert {name for name, _ in places(sftui, "x")["github"]} == {"x/one.jsonl", "x/deep/two.jsonl"}
    outside = tmp_path / "elsewhere.jsonl"
    outside.write_text(ROWS)
    found = places(sftui, outside)
    assert {name for name, _ in found["github"]} == {str(outside)} and {name for name, _ in found["sarif"]} == {
        f"file://{outside}"
    }


def test_packed_files_and_arrays_keep_their_folder_too(sftui: Sftui, repository: Path) -> None:
    folder = repository / "packed"
    folder.mkdir()
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(ROWS.encode()))
    assert {name for name, _ in places(sftui, "packed")["sarif"]} == {"packed/a.jsonl.gz"}
    (folder / "a.jsonl.gz").unlink()
    (folder / "a.json").write_text(json.dumps([json.loads(line) for line in ROWS.splitlines()]))
    done = sftui("check", "packed", "-t", "builtin:chatml", "--select", "CON004", "--format", "github")
    assert "::notice file=packed/a.json,title=" in done.out


def test_the_set_up_stands_in_the_first_file_of_the_data(sftui: Sftui, repository: Path) -> None:
    log = json.loads(
        sftui("check", "my data/*/*.jsonl", "-t", "builtin:chatml", "--select", "EOS008,DUP", "--format", "sarif").out
    )
    uris = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in log["runs"][0]["results"]}
    assert uris == {"my%20data/x/one.jsonl"}
