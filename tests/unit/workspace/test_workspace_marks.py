"""Review marks: the pure state, and the file that keeps it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from sftui.errors import ExportError
from sftui.session.marks import Mark, RowMarks, read_marks
from sftui.workspace import OpenOptions
from sftui.workspace.marks import MarksFile

MARKS = RowMarks().toggled(3, "drop").toggled(1, "keep").noted(3, " cut off ").noted(9, "odd")


def test_marks_are_toggled_noted_and_counted() -> None:
    assert (
        MARKS.get(3) == Mark("drop", "cut off")
        and MARKS.get(3).glyph == "D"
        and MARKS.get(9).glyph == "N"
        and MARKS.get(0).glyph == ""
    )
    assert MARKS.rows_with() == (1, 3, 9) and MARKS.rows_with("drop") == (3,) and MARKS.rows_with("noted") == (3, 9)
    assert MARKS.counts == {"keep": 1, "drop": 1, "noted": 2} and MARKS.words() == "1 keep, 1 drop, 2 noted"
    assert MARKS.toggled(3, "drop").get(3) == Mark("", "cut off"), "the note stays"
    assert MARKS.toggled(3, "flag").get(3) == Mark("flag", "cut off")
    assert len(MARKS.toggled(1, "keep")) == 2 and len(MARKS.noted(9, "")) == 2


def test_the_next_and_the_previous_marked_row_wrap_round() -> None:
    assert [MARKS.beyond(row, True) for row in (0, 1, 5, 9)] == [1, 3, 9, 1]
    assert [MARKS.beyond(row, False) for row in (0, 1, 5, 9)] == [9, 9, 3, 3]
    assert RowMarks().beyond(0, True) is None
    assert MARKS.beyond(3, True, 5) == 1 and MARKS.beyond(3, True, 1) is None, "the data has shrunk"


def test_text_and_back() -> None:
    hostile = MARKS.noted(5, "\x1b[2mx\x07 \ud800 \u2028 line")
    text = hostile.to_text()
    assert text.isascii() and len(text.splitlines()) == 4
    assert read_marks(text, "here") == hostile
    assert read_marks('{"sftui_marks": 1}\n\n' + text, "here") == hostile


@pytest.mark.parametrize(
    "line",
    [
        "nothing",
        "[1]",
        '{"row": -1, "mark": "drop"}',
        '{"row": "1", "mark": "drop"}',
        '{"row": true}',
        '{"row": 1, "mark": "dorp"}',
        '{"row": 1, "note": 5}',
    ],
)
def test_a_line_that_is_no_mark_is_named(line: str) -> None:
    with pytest.raises(ExportError, match=r"marks\.jsonl, line 2"):
        read_marks(f'{{"row": 0, "mark": "keep"}}\n{line}\n', "marks.jsonl")


@pytest.fixture
def options(tmp_path: Path) -> OpenOptions:
    data = tmp_path / "train.jsonl"
    data.write_text("{}\n")
    return OpenOptions((str(data),))


def keep(options: OpenOptions, folder: Path, marks: RowMarks) -> MarksFile:
    file = MarksFile(options, folder=folder)
    for row in marks.rows_with():
        file.save(row, marks.get(row))
    assert file.close()
    return file


def test_marks_are_kept_by_where_the_data_is(options: OpenOptions, tmp_path: Path) -> None:
    file = keep(options, tmp_path / "marks", MARKS)
    again = MarksFile(options, folder=tmp_path / "marks")
    assert again.load() == MARKS and not again.stale and again.path == file.path
    assert MarksFile(OpenOptions(options.paths, split="test"), folder=tmp_path / "marks").load() == RowMarks()
    Path(options.paths[0]).write_text("{}\n{}\n")
    assert again.load() == MARKS and not again.stale, "found out once"
    later = MarksFile(options, folder=tmp_path / "marks")
    assert later.load() == MARKS and later.stale
    assert file.path is not None
    assert [path.name for path in (tmp_path / "marks").iterdir()] == [file.path.name], "nothing half-written is left"


def test_two_at_once_lose_nothing(options: OpenOptions, tmp_path: Path) -> None:
    files = [MarksFile(options, folder=tmp_path / "marks") for _ in range(2)]
    threads = [
        threading.Thread(target=lambda file=file, at=at: [file.save(row, Mark("keep")) for row in range(at, 60, 2)])
        for at, file in enumerate(files)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(file.close() for file in files)
    assert MarksFile(options, folder=tmp_path / "marks").load().rows_with("keep") == tuple(range(60))


def test_a_mark_taken_away_stays_away_and_the_last_word_counts(options: OpenOptions, tmp_path: Path) -> None:
    keep(options, tmp_path, MARKS)
    file = MarksFile(options, folder=tmp_path)
    for mark in (Mark("flag"), Mark(), Mark("keep"), Mark()):
        file.save(3, mark)
    assert file.close() and file.load().rows_with() == (1, 9)


def test_a_damaged_file_is_told_and_put_aside(options: OpenOptions, tmp_path: Path) -> None:
    file = MarksFile(options, folder=tmp_path)
    assert file.path is not None
    file.path.write_text("not ours")
    with pytest.raises(ExportError, match="not a review mark"):
        file.load()
    file.save(1, Mark("keep"))
    assert (
        file.close() and file.load().rows_with() == (1,) and file.path.with_suffix(".damaged").read_text() == "not ours"
    )


def test_what_cannot_be_written_is_told_and_kept(options: OpenOptions, tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "blocked").write_text("")
    file = MarksFile(options, told.append, tmp_path / "blocked" / "marks")
    file.save(1, Mark("keep"))
    assert not file.close() and "could not be saved" in told[0]


def test_piped_data_has_no_file() -> None:
    file = MarksFile(OpenOptions(("-",)))
    file.save(1, Mark("keep"))
    assert file.path is None and file.close() and file.load() == RowMarks()


def test_an_edit_is_in_the_file_before_anything_else_happens(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text("{}\n")
    options, name = OpenOptions((str(data),)), "edit 3 abc {}"
    MarksFile(options, folder=tmp_path / "marks").keep(3, Mark("flag", "", name))
    there = MarksFile(options, folder=tmp_path / "marks").load()
    assert there.get(3) == Mark("flag", "", name) and there.edits() == (name,) and there.words() == "1 flag, 1 edited"
    assert read_marks(there.to_text(), "m").get(3).edit == name
    with pytest.raises(ExportError, match="not a review mark"):
        read_marks(there.to_text().replace("edit 3", "edit 4"), "m")
