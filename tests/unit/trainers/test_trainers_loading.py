"""Files and folders that a trainer's own `datasets` loads or refuses, and what sftui says of them."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import sftui
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data
from sftui.sources import SourceSpec, open_source
from sftui.trainers import preset
from sftui.trainers.loading import LoadResult, load
from sftui.trainers.reading import Reader

TESTS = Path(__file__).resolve().parents[2]
sys.path.append(str(TESTS / "parity"))
import sets_to_read  # noqa: E402

REFUSED = json.loads((TESTS / "golden/trainers/refused_sets.json").read_text(encoding="utf-8"))
"""The sets that each datasets refused in the environment of a trainer (tests/parity/readings.py --sets): 4.0.0 is
LLaMA-Factory's, 4.8.4 Axolotl's, 4.8.5 Unsloth's, 5.2.0 TRL's."""
PANDAS = {"4.0.0": (2, 3, 3), "4.8.4": (2, 3, 3), "4.8.5": (3, 1, 1), "5.2.0": (3, 1, 1)}
CHATML = "builtin:chatml"


def reader_of(version: str) -> Reader:
    return Reader("datasets", version, version != "4.0.0", PANDAS[version])


def loaded(folder: Path, version: str = "5.2.0") -> LoadResult:
    with closing(open_source(SourceSpec((str(folder),)))) as source:
        return load(source.files, reader_of(version), "TRL")


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """By the name of each set, the versions that refuse it."""
    found: dict[str, set[str]] = {}
    for path in sets_to_read.write(tmp_path_factory.mktemp("sets"), every=False):
        with closing(open_source(SourceSpec((str(path),)))) as source:
            results = {version: load(source.files, reader_of(version), "TRL") for version in REFUSED}
        found[path.name] = {version for version, result in results.items() if result.problem is not None}
    return found


@pytest.mark.parametrize("version", REFUSED)
def test_a_set_is_refused_where_the_real_datasets_refuses_it(version: str, sets: dict[str, set[str]]) -> None:
    refused = {name for name, versions in sets.items() if version in versions}
    assert refused == set(REFUSED[version]) & sets.keys()
    assert len(refused) >= 60 and len(sets) - len(refused) >= 60


def made(folder: Path, *files: list[Any] | bytes) -> Path:
    for number, rows in enumerate(files):
        held = rows if isinstance(rows, bytes) else sets_to_read.lines(rows)
        (folder / f"{number}.{'parquet' if held.startswith(b'PAR1') else 'jsonl'}").write_bytes(held)
    return folder


PLAIN, MORE = sets_to_read.PLAIN, sets_to_read.MORE
SAID: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {
    "a column": ((PLAIN, [*PLAIN, *MORE["column"]]), ("1.jsonl line 3 has the column `tools`", "first file, 0.jsonl")),
    "a key": ((PLAIN, MORE["key"]), ("1.jsonl line 1 has the key `name` in `messages/[]`",)),
    "another kind": (
        (MORE["id_whole"], MORE["id_text"]),
        ("`id` is text in 1.jsonl line 1, but an integer in",),
    ),
    "a value after none": (
        (MORE["id_empty"], MORE["id_list"]),
        ("`id/[]` is text", "but nothing (null or an empty"),
    ),
    "a key twice": ((PLAIN * 4 + [], PLAIN, sets_to_read.TWICE[0] * 2), ("key `role` is duplicated", "2.jsonl line 1")),
    "a map": ((dict(sets_to_read._odd())["maps-map"]["0.parquet"],), ("`x` in 0.parquet is a map",)),
}


@pytest.mark.parametrize("name", SAID)
def test_it_is_said_where_and_what(name: str, tmp_path: Path) -> None:
    files, words = SAID[name]
    problem = loaded(made(tmp_path, *files)).problem
    assert problem is not None and problem.fix
    assert all(word in problem.what for word in words), problem.what


def test_a_late_row_is_named_behind_the_first_ten_megabytes(tmp_path: Path) -> None:
    filler = sets_to_read.chat("q", "a" * 1_000_000)
    found = loaded(made(tmp_path, [*[filler] * 12, {**filler, "tools": "[]"}]))
    assert found.problem is not None and "0.jsonl line 13 has the column `tools`" in found.problem.what
    assert loaded(made(tmp_path, [{**filler, "tools": "[]"}, *[filler] * 12])).problem is None


def test_rows_that_are_bare_values_are_left_to_themselves(tmp_path: Path) -> None:
    assert all(loaded(made(tmp_path, row)) == LoadResult(None) for row in (b"7\n", b'"a"\n', b"true\n"))


def test_a_row_that_is_no_json_says_so_itself(tmp_path: Path) -> None:
    assert loaded(made(tmp_path, sets_to_read.lines(PLAIN) + b'{"messages": [\n')).problem is None


# — in the commands —


def opened(folder: Path, trainer: str = "trl@1.16") -> Any:
    return open_data(OpenOptions(paths=(str(folder),), recipe=preset(trainer)))


@pytest.mark.parametrize(
    ("trainer", "stops"), [("trl@1.16", True), ("llamafactory", True), ("mlx-lm", False), ("verl", False)]
)
def test_who_reads_by_datasets_stops(trainer: str, stops: bool, tmp_path: Path) -> None:
    with closing(opened(made(tmp_path, PLAIN, MORE["column"]), trainer)) as session:
        assert (session.load_stop() is not None) is stops
        assert session.load_stop(1) == session.load_stop()  # what is known is said
    with closing(opened(tmp_path, trainer)) as session:
        assert session.load_stop(1) is None


def test_the_file_that_has_more_is_put_first_where_that_helps(tmp_path: Path) -> None:
    both = {**MORE["column"][0], "id": 1}
    for number, (files, helps) in enumerate((((PLAIN, MORE["column"]), True), (([both], MORE["key"]), False))):
        (tmp_path / str(number)).mkdir()
        with closing(opened(made(tmp_path / str(number), *files))) as session:
            stop = session.load_stop()
            assert stop is not None and ("have that file read first" in stop.fix) is helps


def test_python_calls_say_it(tmp_path: Path) -> None:
    with sftui.open(made(tmp_path, PLAIN, MORE["column"]), tokenizer=CHATML, trainer="trl@1.16") as held:
        assert any("has the column `tools`" in note for note in held.notes)
        assert "ROW010" in {one.code for one in held.check().findings}
