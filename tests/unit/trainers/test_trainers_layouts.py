"""Which trainers read a file as sftui does: by its ending, and by how it holds its rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import Problem, Row
from sftui.recipe import Recipe
from sftui.sources import SourceSpec, open_source
from sftui.trainers import preset
from sftui.trainers.nemo_automodel import NemoOptions

TURNS = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]
ROW = {"messages": TURNS}
LINES = "\n".join([json.dumps(ROW)] * 3) + "\n"
LIST, PRETTY = json.dumps([ROW] * 3), "\n".join([json.dumps(ROW, indent=1)] * 3)
LISTS, LISTED = "\n".join([json.dumps(TURNS)] * 3), json.dumps([TURNS] * 3)
TABLE = json.dumps({"messages": {str(n): TURNS for n in range(3)}})
MARKED = "\ufeff" + LINES
BY_DATASETS = ("trl", "axolotl", "llamafactory", "llamafactory-v1", "unsloth", "torchtune", "ms-swift")


def refused(name: str, text: str, recipe: Recipe | str, folder: Path) -> Problem | None:
    file = folder / name
    file.write_text(text)
    source = open_source(SourceSpec((str(file),)))
    rows = [row for row, _ in zip(source.rows(), range(32))]
    recipe = preset(recipe) if isinstance(recipe, str) else recipe
    return pipeline.detect(rows, recipe).refused


@pytest.mark.parametrize("name", BY_DATASETS)
@pytest.mark.parametrize(
    ("text", "does"),
    [(LISTS, "stops at it"), (LISTED, "columns named 0, 1, 2"), (TABLE, "reads it as one row")],
)
def test_what_datasets_makes_of_other_layouts(name: str, text: str, does: str, tmp_path: Path) -> None:
    found = refused("t.json", text, name, tmp_path)
    assert found is not None and does in found.why and "sftui convert" in found.fix


@pytest.mark.parametrize("name", BY_DATASETS)
@pytest.mark.parametrize("text", [LINES, LIST, PRETTY, MARKED])
def test_what_datasets_reads(name: str, text: str, tmp_path: Path) -> None:
    found = refused("t.json", text, name, tmp_path)
    assert found is None or "does not read the rows" not in found.what


@pytest.mark.parametrize("name", ["hf-trainer", "manual-shift"])
@pytest.mark.parametrize("text", [LISTS, LISTED, TABLE])
def test_code_of_the_user_may_read_all(name: str, text: str, tmp_path: Path) -> None:
    assert refused("t.json", text, name, tmp_path) is None


@pytest.mark.parametrize(
    ("file", "text", "reads"),
    [
        ("train.jsonl", LINES, True),
        ("train.jsonl", PRETTY, False),
        ("train.jsonl", LIST, False),
        ("train.jsonl", MARKED, False),
        ("train.jsonl", LISTS, False),
        ("t.json", LIST, True),  # as an hf_dataset
        ("t.json", PRETTY, True),
        ("t.json", MARKED, True),
        ("t.json", "\ufeff" + LIST, True),
        ("t.json", TABLE, False),
    ],
)
def test_mlx_lm_reads_line_by_line(file: str, text: str, reads: bool, tmp_path: Path) -> None:
    found = refused(file, text, "mlx-lm", tmp_path)
    assert (found is None) is reads
    assert found is None or "each line" in found.why


@pytest.mark.parametrize(
    ("file", "text", "chat", "others"),
    [
        ("t.jsonl", LINES, True, True),
        ("t.jsonl", PRETTY, False, True),
        ("t.jsonl", LIST, False, True),
        ("t.jsonl", MARKED, False, True),
        ("t.json", LIST, True, True),
        ("t.json", json.dumps(ROW), True, True),
        ("t.json", LINES, False, True),
        ("t.json", PRETTY, False, True),
        ("t.json", json.dumps(ROW, indent=1), True, True),  # one value, whatever lines it goes over
        ("t.jsonl", json.dumps(ROW, indent=1), False, True),
        ("t.json", "\ufeff" + json.dumps(ROW, indent=1), False, True),  # json.loads stops at the mark
        ("t.json", "\ufeff" + LIST, False, True),
        ("t.json", LISTS, False, False),
    ],
)
def test_nemo_reads_by_the_ending(file: str, text: str, chat: bool, others: bool, tmp_path: Path) -> None:
    recipe = preset("nemo-automodel")
    agent = replace(recipe, own=replace(NemoOptions.of(recipe), dataset="agent"))
    assert (refused(file, text, recipe, tmp_path) is None) is chat
    assert (refused(file, text, agent, tmp_path) is None) is others


def place(name: str, unit: str = "line") -> list[Row]:
    return [Row(0, {"messages": TURNS, "text": "a"}, "", f"{name} {unit} 0")]


@pytest.mark.parametrize(
    ("trainer", "name", "unit", "said"),
    [
        ("llamafactory", "mine.txt", "record", "reads mine.txt as lines of text"),
        ("llamafactory", "mine.ndjson", "line", "not read files whose name ends in .ndjson"),
        ("llamafactory", "mine.jsonl.gz", "line", "not read files whose name ends in .gz"),
        ("llamafactory", "mine.JSON", "record", "not read files whose name ends in .JSON"),
        ("llamafactory", "mine.tsv", "row", "not read files whose name ends in .tsv"),
        ("llamafactory", "mine.csv", "line", "reads mine.csv as CSV"),
        ("llamafactory-v1", "mine.txt", "line", "as lines of text"),
        ("llamafactory-v1", "mine.ndjson", "line", "not read files whose name ends in .ndjson"),
        ("ms-swift", "mine.txt", "line", "as lines of text"),
        ("ms-swift", "mine.tsv", "row", "not read files whose name ends in .tsv"),
        ("axolotl", "mine.txt", "line", "as lines of text"),
        ("axolotl", "mine.tsv", "row", "reads mine.tsv as JSON"),
        ("nemo-automodel", "mine.csv", "row", "reads mine.csv as JSON"),
    ],
)
def test_files_are_read_by_their_ending(trainer: str, name: str, unit: str, said: str) -> None:
    found = pipeline.detect(place(name, unit), preset(trainer)).refused
    assert found is not None and said in found.what


@pytest.mark.parametrize(
    ("trainer", "name", "unit"),
    [
        ("llamafactory", "mine.json", "line"),
        ("llamafactory", "mine.csv", "row"),
        ("llamafactory", "some/llama-3.1", "row"),
        ("llamafactory", "list", "row"),
        ("axolotl", "mine.jsonl.gz", "line"),
        ("axolotl", "mine.ndjson", "line"),
        ("axolotl", "mine.parquet", "row"),
        ("trl", "mine.txt", "line"),
        ("torchtune", "mine.ndjson", "line"),
        ("hf-trainer", "mine.txt", "line"),
    ],
)
def test_other_endings_are_none_of_its_business(trainer: str, name: str, unit: str) -> None:
    found = pipeline.detect(place(name, unit), preset(trainer)).refused
    assert found is None or not any(word in found.what for word in ("ends in", "lines of text", "as JSON", "as CSV"))


def test_axolotl_goes_by_ds_type_where_there_is_one() -> None:
    recipe: Any = preset("axolotl")
    told = replace(recipe, own=replace(recipe.own, ds_type="json"))
    assert pipeline.detect(place("mine.txt"), told).refused is None
    csv = replace(recipe, own=replace(recipe.own, ds_type="csv"))
    found = pipeline.detect(place("mine.jsonl"), csv).refused
    assert found is not None and "reads mine.jsonl as CSV" in found.what
