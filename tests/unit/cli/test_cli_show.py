"""`sftui show`: one row, safe to print."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOK = ("-t", "builtin:chatml")
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("view", ["text", "columns", "rows"])
@pytest.mark.parametrize("shift", [(), ("--shift",)])
def test_no_byte_of_the_data_acts_on_the_terminal(
    sftui: Callable[..., Any], data: Path, view: str, shift: tuple[str, ...]
) -> None:
    done = sftui("show", data, *TOK, "--row", 3, "--view", view, *shift, "--explain")
    assert done.code == 0 and "red" in done.out
    assert not CONTROL.search(done.out) and not CONTROL.search(done.err)


@pytest.mark.parametrize("row", [1, 2])
def test_rows_that_are_not_trained_show_why(sftui: Callable[..., Any], data: Path, row: int) -> None:
    done = sftui("show", data, *TOK, "--row", row)
    assert done.code == (2 if row == 2 else 0)
    assert ("dropped: the last message is from `user`" if row == 1 else "not valid JSON") in " ".join(done.out.split())


def test_the_head_counts_what_is_trained(sftui: Callable[..., Any], data: Path) -> None:
    head = sftui("show", data, *TOK).out.splitlines()[0]
    assert re.fullmatch(r"row 0 · hf-trainer · \d+ of \d+ trained \(\d+ %\)", head)


def test_width_bounds_every_line(sftui: Callable[..., Any], data: Path) -> None:
    from sftui.text import cell_width

    for view in ("text", "columns", "rows"):
        out = sftui("show", data, *TOK, "--row", 0, "--view", view, "--width", 40).out
        assert max(cell_width(line) for line in out.splitlines()) <= 40


def test_json_is_the_record_of_encode(sftui: Callable[..., Any], data: Path) -> None:
    shown = sftui("show", data, *TOK, "--format", "json", "--explain").records()
    assert shown == sftui("encode", data, *TOK, "-o", "-", "--explain").records()[:1]
    plain = sftui("show", data, *TOK, "--format", "json").records()[0]
    shifted = sftui("show", data, *TOK, "--format", "json", "--shift").records()[0]
    assert shifted["input_ids"] == plain["input_ids"][:-1] and shifted["labels"] == plain["labels"][1:]
    stored = sftui("show", data, *TOK, "--format", "json", "--shift", "--trainer", "manual-shift").records()[0]
    assert stored == shifted, "what is stored shifted is not shifted twice"


def test_a_row_that_is_not_there_is_told(sftui: Callable[..., Any], data: Path) -> None:
    done = sftui("show", data, *TOK, "--row", 4)
    assert (done.code, done.out) == (2, "") and "the last one is 3" in done.err


def test_the_data_format_is_not_the_output_format(sftui: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"question": "q", "answer": "a", "text": "plain"}\n')
    done = sftui("show", path, *TOK, "--data-format", "text", "--format", "json", "--explain")
    assert done.records()[0]["reasons"] == ["whole sequence"] * len(done.records()[0]["input_ids"])
