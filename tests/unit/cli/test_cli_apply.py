"""`--apply` and `--edits`: who reads rows reads them as the repairs make them, and the file stays as it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from row_files import chat

import sftui as api
from sftui.repairs.edits import edit_name
from sftui.session.marks import Mark, RowMarks
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data

Run = Callable[..., Any]
ROWS = [("Hello? ", "Hi."), ("And?", " Yes. "), ("Hello?", "Hi."), ("And?", "Yes.")]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """Two rows with blanks around them, and two that are the same without."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(chat(("user", asked), ("assistant", said))) + "\n" for asked, said in ROWS))
    return str(path)


@pytest.fixture
def edits(rows: str, tmp_path: Path) -> str:
    """Marks with an edit of row 1, and one of them a drop, which counts for `sftui repair` alone."""
    row = open_data(OpenOptions((rows,))).stored.source.row(1)
    name = edit_name(row, chat(("user", "And?"), ("assistant", "No.")))
    path = tmp_path / "marks.jsonl"
    path.write_text(RowMarks({0: Mark("drop"), 1: Mark(edit=name)}).to_text())
    return str(path)


def encoded(sftui: Run, *words: str) -> list[tuple[int, str]]:
    done = sftui("encode", *words, "-t", "builtin:chatml", "-o", "-", "--explain")
    assert done.code == 0, done.err
    return [(one["row"], "".join(one["tokens"])) for one in done.records()]


def test_rows_are_encoded_as_repaired_under_their_numbers(sftui: Run, rows: str) -> None:
    plain, repaired = encoded(sftui, rows), encoded(sftui, rows, "--apply", "trim,deduplicate")
    assert [row for row, _ in repaired] == [0, 1]
    assert [text for _, text in repaired] == [text for _, text in plain[2:]]


def test_edits_of_the_inspector_are_read_and_no_mark_drops_a_row(sftui: Run, rows: str, edits: str) -> None:
    found = encoded(sftui, rows, "--edits", edits, "--where", "row < 2")
    assert [row for row, _ in found] == [0, 1]
    assert "No." in found[1][1] and "Yes" not in found[1][1]


def test_a_row_is_shown_as_repaired_also_where_earlier_rows_decide(sftui: Run, rows: str) -> None:
    done = sftui("show", rows, "-t", "builtin:chatml", "--row", 2, "--apply", "deduplicate,trim")
    assert "the same conversation as row 0" in done.out
    assert "the rows are read with deduplicate,trim; the file stays unchanged" in done.err


def test_check_counts_what_the_repaired_rows_have(sftui: Run, rows: str) -> None:
    def codes(*words: str) -> set[str]:
        done = sftui("check", rows, "-t", "builtin:chatml", "--format", "json", "--fail-on", "never", *words)
        return {one["code"] for one in json.loads(done.out)["findings"]}

    assert codes() - codes("--apply", "trim,deduplicate") >= {"DUP001"}


def test_python_reads_them_so(rows: str, edits: str) -> None:
    with api.open(rows, tokenizer="builtin:chatml", apply=["deduplicate", "trim"], edits=edits) as found:
        assert len(found) == 3 and "No." in (found[1].text or "")
        assert [row.index for row in found] == [0, 1, 3]
        assert found[2].index == 3


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--apply", "trimm"), "there is no repair `trimm`"),
        (("--apply", ","), "--apply names no repair"),
        (("--edits", "none.jsonl"), "none.jsonl"),
    ],
)
def test_what_is_no_repair_is_refused(sftui: Run, rows: str, words: tuple[str, ...], why: str) -> None:
    done = sftui("show", rows, "-t", "builtin:chatml", *words)
    assert done.code == 2 and why in done.err and len(done.err.splitlines()) == 1


def test_what_works_on_the_whole_file_does_not_take_repaired_rows(sftui: Run, rows: str, tmp_path: Path) -> None:
    done = sftui("check", rows, "-t", "builtin:chatml", "--fix", tmp_path / "fixed", "--apply", "trim")
    assert done.code == 2 and "rows cannot be repaired here, because --fix changes the whole dataset" in done.err
