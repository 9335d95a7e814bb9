"""Review marks in the inspector: set, cleared, noted, gone through, listed, kept and exported."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from rows_worker import chats, write_chats
from tui_driver import SIZES, check_golden, running

from sftui.workspace import OpenOptions
from sftui.workspace.marks import MarksFile


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_marks_screens(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        for name, keys in (
            ("marks", ("r", "k", "]", "r", "d", "]", "]", "r", "n", *"look: cut?", "enter")),
            ("marks-list", ("F",)),
        ):
            text = await driven.press(*keys)
            assert all(len(line) <= size[0] for line in text.splitlines())
            check_golden(f"{size[0]}x{size[1]}-{name}", text)


async def test_a_mark_is_set_replaced_and_cleared_by_the_same_key() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press("r", "d")
        assert driven.main.state.kept.marks.get(0).kind == "drop" and "D drop" in driven.lines[0] and "▸D   0" in text
        assert "▸F   0" in await driven.press("r", "f") and driven.main.state.kept.marks.get(0).kind == "flag"
        text = await driven.press("r", "f")
        assert not driven.main.state.kept.marks and "▸  0" in text and "no longer flag" in driven.said


async def test_a_note_is_typed_shown_and_emptied() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press("r", "n", *"too short", "enter")
        assert "N note" in driven.lines[0] and "1 note (i)" in driven.lines[1] and "row 0: note saved" in text
        assert "too short" not in await driven.press("]")
        assert "N too short" in await driven.press("["), "told once the row is there again"
        await driven.press("r", "n")
        assert driven.main.prompt.text == "too short"
        await driven.press("ctrl+u", "ctrl+k", "enter")
        assert not driven.main.state.kept.marks and "note removed" in driven.said
        await driven.press("r", "n", "x", "escape")
        assert not driven.main.state.kept.marks, "Esc leaves it as it was"


async def test_marked_rows_are_gone_through_and_listed() -> None:
    async with running((80, 24)) as driven:
        await driven.press("r", "]")
        assert "no rows are marked" in driven.said
        await driven.press("7", "g", "r", "k", "9", "g", "r", "d", "1", "2", "g", "r", "d", "g", "g", "r", "]")
        assert driven.main.state.status.row == 7
        await driven.press("r", "]", "r", "]", "r", "]")
        assert driven.main.state.status.row == 7, "it begins again at the other end"
        await driven.press("r", "[")
        assert driven.main.state.status.row == 12
        text = await driven.press("F")
        assert "marked drop  2 × rows marked drop" in text and "noted" not in text
        await driven.press("j", "j", "j", "enter")
        assert list(driven.main.panes.rows.order or ()) == [9, 12] and "marked drop: 2 rows" in driven.said
        text = await driven.press("A")
        assert "Review marks  1 keep, 2 drop" in text


async def test_marks_survive_and_tell_when_the_data_was_changed(tmp_path: Path) -> None:
    data = tmp_path / "train.jsonl"
    write_chats(data, chats(2))

    options = OpenOptions((str(data),))
    async with running((80, 24), options=options) as driven:
        await driven.press("r", "d", "]", "r", "n", *"hm", "enter")
        assert driven.main.marks_file.close()
    async with running((80, 24), options=options) as driven:
        assert driven.main.state.kept.marks.words() == "1 drop, 1 noted" and driven.said == ""
        assert "D drop" in driven.lines[0]
    os.utime(data, ns=(1, 1))
    async with running((80, 24), options=options) as driven:
        assert "the data changed after its rows were marked" in driven.said and "D drop" in driven.lines[0]
    other = OpenOptions((str(tmp_path / "other.jsonl"),))
    async with running((80, 24), options=other) as driven:
        assert not driven.main.state.kept.marks


async def test_what_cannot_be_saved_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    async with running((80, 24)) as driven:
        driven.main.marks_file = MarksFile(driven.workspace.options, driven.main.marks_failed, tmp_path / "state")
        await driven.press("r", "d")
        assert not driven.main.marks_file.close()
        await driven.settle()
        assert "could not be saved" in driven.said


async def test_marks_are_exported_as_lines(tmp_path: Path) -> None:
    async with running((80, 24)) as driven:
        await driven.press("r", "f", "]", "r", "n", *"odd", "enter")
        target = tmp_path / "marks.jsonl"
        assert "the review marks as JSON lines" in await driven.press("x")
        await driven.press("enter")
        assert driven.main.prompt.text == "train-marks.jsonl"
        await driven.press("ctrl+u", "ctrl+k", *str(target), "enter")
        assert [json.loads(line) for line in target.read_text().splitlines()] == [
            {"row": 0, "mark": "flag", "note": ""},
            {"row": 1, "mark": None, "note": "odd"},
        ]
        await driven.press("x", "enter", "ctrl+u", "ctrl+k", *str(target), "enter")
        assert "already exists" in driven.said and driven.main.prompt.open


async def test_a_hostile_note_is_only_shown() -> None:
    path = MarksFile(OpenOptions(("train.jsonl",))).path
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_text(
        json.dumps({"row": 0, "mark": None, "note": "\x1b[2mowned\x07 [/INST] [@click=app.quit]x[/]\u202e"})
    )
    async with running((80, 24)) as driven:
        assert "[@click=app.quit]" in await driven.press("i") and not set(driven.text) & {"\x1b", "\x07", "\u202e"}
        await driven.press("escape", "r", "n")
        assert not set(driven.text) & {"\x1b", "\x07", "\u202e"}


async def test_what_may_follow_the_prefix_is_told() -> None:
    async with running((140, 45)) as driven:
        await driven.press("r")
        assert driven.said.startswith("k mark keep  d mark drop  f mark flag  n note on the row  ] next marked row")
        await driven.press("escape")
        assert driven.said == "" and not driven.main.state.kept.marks
        await driven.press("1", "2")
        assert driven.said == ""
