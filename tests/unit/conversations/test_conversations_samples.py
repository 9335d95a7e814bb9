"""The sample data is read as its README says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sftui.conversations import convert, detect
from sftui.errors import ConversationError
from sftui.model import Row
from sftui.recipe import Data

SAMPLES = Path(__file__).resolve().parents[3] / "sample_data"
README = (SAMPLES / "README.md").read_text(encoding="utf-8")


def rows_of(name: str) -> list[Row]:
    text = (SAMPLES / name).read_bytes().decode("utf-8")
    records: list[Any] = (
        json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.split("\n") if line]
    )
    return [Row(i, record, "", f"row {i}") for i, record in enumerate(records)]


def table() -> list[tuple[str, int, str]]:
    found = []
    for line in README.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and cells[1].startswith("`"):
            found.append((cells[1].strip("`"), int(cells[2]), cells[3]))
    return found


def test_the_readme_lists_every_file() -> None:
    assert sorted(name for name, _, _ in table()) == sorted(
        path.name for path in SAMPLES.iterdir() if path.suffix != ".md"
    )


@pytest.mark.parametrize(("name", "count", "format_name"), table())
def test_read_as_the_readme_says(name: str, count: int, format_name: str) -> None:
    rows = rows_of(name)
    detected = detect(rows, Data())
    assert (len(rows), detected.format) == (count, format_name)
    for row in rows:
        if name != "defects.jsonl":
            convert(row, detected, Data())


def test_nine_defects_cannot_be_read_and_each_says_why() -> None:
    rows = rows_of("defects.jsonl")
    detected = detect(rows, Data())
    failed = {}
    for row in rows:
        try:
            convert(row, detected, Data())
        except ConversationError as error:
            failed[row.index] = str(error)
    assert sorted(failed) == [12, 13, 14, 24, 25, 27, 43, 65, 66]
    assert all(text.startswith(f"row {index}") and len(text) < 200 for index, text in failed.items())


def test_every_defect_is_named() -> None:
    named = [row.data["_defect"] if isinstance(row.data, dict) else row.data for row in rows_of("defects.jsonl")]
    assert all(isinstance(name, str) and name for name in named)
    assert len(set(named)) == len(named)
