"""A row edited in the inspector: previewed, kept as a repair of that row, undone, kept over sessions, exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rows_worker import chats, usual, write_chats
from tui_driver import SIZES, check_golden, running

from sftui.recipe import changed
from sftui.trainers import preset
from sftui.tui.commands import edits
from sftui.views.words import message_of
from sftui.workspace import OpenOptions

Editor = Callable[[str], str | None]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Editor]:
    """What the editor makes of a text, call by call."""
    made: list[Editor] = []
    monkeypatch.setattr(edits, "in_editor", lambda here, text, name: made.pop(0)(text))
    return made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    write_chats(path, chats(6))
    return path


def france(text: str) -> str:
    return text.replace("Paris is", "Lyon is not")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_edited_row_is_previewed(size: tuple[int, int], written: list[Editor]) -> None:
    written.append(france)
    async with running(size) as driven:
        text = await driven.press("e", "e")
        assert driven.workspace.repairs == () and driven.main.state.compared.name == "edit 0"
        check_golden(f"{size[0]}x{size[1]}-edit", text)


async def test_an_edit_is_kept_undone_and_there_again(data: Path, written: list[Editor]) -> None:
    before = data.read_bytes()
    options = OpenOptions((str(data),))
    written.append(france)
    async with running((120, 36), options=options) as driven:
        await driven.press("e", "e", "a")
        assert "Lyon is not" in driven.text and "*repaired" in driven.lines[0]
        assert driven.main.state.kept.marks.words() == "1 edited" and "1 edited" in driven.lines[1]
        await driven.press("u")
        assert driven.said == "undo: edit 0 is no longer applied"
        assert "Paris is" in driven.text and not driven.main.state.kept.marks
        await driven.press("U")
        assert "Lyon is not" in driven.text
        await driven.press("q")
        assert driven.app._exit, "nothing would be lost"
    async with running((120, 36), options=options) as driven:
        assert "1 row edited in an earlier session" in driven.said and "Lyon is not" in driven.text
        written.append(lambda text: text.replace("Lyon is not", "Paris is"))
        await driven.press("e", "e")
        assert "restored from the file" in driven.said and driven.workspace.repairs == ()
    async with running((120, 36), options=options) as driven:
        assert driven.workspace.repairs == () and driven.said == ""
    assert data.read_bytes() == before


async def test_what_is_no_json_is_not_lost(written: list[Editor]) -> None:
    def resumed(text: str) -> str:
        assert text.endswith("oops")
        return france(text.removesuffix("oops"))

    written += [lambda text: text + "oops", resumed]
    async with running((120, 36)) as driven:
        await driven.press("e", "e")
        assert "the edited row is not JSON" in driven.said and "ee to keep editing" in driven.said
        await driven.press("e", "e", "a")
        assert driven.workspace.repairs[0].startswith("edit 0 ")


async def test_the_text_of_the_message_under_the_cursor_is_edited(written: list[Editor]) -> None:
    seen: list[str] = []

    def more(text: str) -> str:
        seen.append(text)
        return text + " Indeed.\n"

    written += [more, more]
    async with running((120, 36)) as driven:
        await driven.press("end", "e", "m", "a", "home", "e", "m")
        assert seen[0] == "Paris is the capital of France." and seen[1:] in ([], ["What is the capital of France?"])
        record = json.loads(driven.workspace.repairs[0].split(" ", 3)[3])
        assert record["messages"][1]["content"] == "Paris is the capital of France. Indeed."


async def test_the_text_of_an_earlier_pair_is_edited(tmp_path: Path, written: list[Editor]) -> None:
    path = tmp_path / "pairs.jsonl"
    row = {"instruction": "And now?", "input": "", "output": "Now this.", "history": [["Before?", "Before that."]]}
    path.write_text(json.dumps(row) + "\n")
    recipe = changed(preset("llamafactory@0.9"), "render.template", "llamafactory/qwen")
    written.append(str.upper)
    async with running((120, 36), options=OpenOptions((str(path),), recipe=usual(recipe))) as driven:
        inspection = driven.main.panes.tokens.inspection
        assert inspection is not None and inspection.tokens is not None
        said = [message_of(inspection, at) for at in range(len(inspection.tokens))]
        at = next(at for at, one in enumerate(said) if one is not None and one.content == "Before that.")
        await driven.press("home", *str(at), "right", "e", "m", "a")
        record = json.loads(driven.workspace.repairs[0].split(" ", 3)[3])
        assert record == {**row, "history": [["Before?", "BEFORE THAT."]]}


async def test_nothing_is_edited_where_nothing_changed_or_nothing_came_back(written: list[Editor]) -> None:
    written += [lambda text: text, lambda text: json.dumps(json.loads(text)), lambda text: None]
    async with running((80, 24)) as driven:
        for _ in range(3):
            await driven.press("e", "e")
            assert driven.workspace.repairs == () and driven.main.state.compared.other is None
        assert not written


async def test_edits_and_marks_are_exported(data: Path, tmp_path: Path, written: list[Editor]) -> None:
    written.append(france)
    async with running((120, 36), options=OpenOptions((str(data),))) as driven:
        await driven.press("e", "e", "a", "+", "+", "_", "!")
        assert driven.main.state.kept.marks.words() == "2 keep, 1 drop, 1 flag, 1 edited"
        assert driven.main.state.row == 4
        target = tmp_path / "kept.jsonl"
        listed = await driven.press("x")
        assert all(f"{kind} rows" in listed for kind in ("keep", "drop", "flag")) and "noted rows" not in listed
        await driven.press("j", "j", "enter")
        assert driven.main.prompt.text == "train-keep.jsonl"
        await driven.press("ctrl+u", "ctrl+k", *str(target), "enter", "a")
        rows = [json.loads(line) for line in target.read_text().splitlines()]
        assert len(rows) == 2 and rows[0]["messages"][1]["content"] == "Lyon is not the capital of France."


async def test_one_key_marks_and_goes_on() -> None:
    async with running((80, 24)) as driven:
        await driven.press("+", "+", "_")
        assert driven.main.state.row == 3 and driven.said == "row 2: drop"
        assert "2 keep, 1 drop" in driven.lines[1]
        await driven.press("g", "g", "+")
        assert driven.main.state.kept.marks.words() == "2 keep, 1 drop", "kept again is no toggle"
        await driven.press("G", "!")
        assert "last row" in driven.said and driven.main.state.kept.marks.counts["flag"] == 1


def test_the_names_of_other_repairs_are_no_edits() -> None:
    from sftui.repairs.edits import edits_of
    from sftui.repairs.run import REPAIRS

    assert edits_of([*REPAIRS, "drop EOS001", "deduplicate"]) == {}
