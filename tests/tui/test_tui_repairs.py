"""Repairs of the data in the inspector: previewed, put over the rows, taken back, counted and written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rows_worker import RowsWorker, chats, write_chats
from tui_driver import SIZES, Driven, check_golden, running

from sftui.findings import Finding, Severity
from sftui.recipe import changed
from sftui.session.options import file_next_to
from sftui.trainers import preset
from sftui.workspace import OpenOptions
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

DROP = "drop CON008"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_repair_screens(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        screens = (
            ("repair-pick", ("]", "f", "d")),
            ("repair-preview", ("enter",)),
            ("repair-applied", ("a",)),
            ("repair-row", ("escape",)),
            ("repair-raw", ("O", "r")),
            ("repairs", ("escape", "R")),
            ("repair-figures", ("escape", "A")),
            ("repair-export", ("x", "enter", "enter")),
        )
        for name, keys in screens:
            text = await driven.press(*keys)
            assert all(len(line) <= size[0] for line in text.splitlines()), name
            check_golden(f"{size[0]}x{size[1]}-{name}", text)


async def test_a_repair_is_previewed_applied_and_taken_back() -> None:
    async with running((140, 45)) as driven:
        text = await driven.press("]", "f", "d", "enter")
        assert "19 of 41 rows changed, 0 dropped" in text and "* row 1 becomes" in text and '+   "content": ' in text
        assert not driven.workspace.repairs and "*" not in driven.lines[0], "a preview changes nothing"
        await driven.press("escape")
        assert driven.main.state.open.context == "findings" and isinstance(driven.worker.sent[-2], rq.Cancel)
        text = await driven.press("d", "enter", "a")
        assert (
            list(driven.workspace.repairs) == ["strip-tokens"]
            and "19 of 41 rows changed" in driven.said
            and "not saved yet" in driven.said
        )
        assert driven.main.state.open.context == "findings" and driven.finding.code == "CON008"
        assert "*repaired" in driven.lines[0] and "▸ *  1" in text
        driven.worker.hold = True
        await driven.press("u")
        assert not driven.workspace.repairs and driven.said == "undo: strip-tokens is no longer applied"
        driven.worker.release()
        await driven.settle()
        assert "*" not in driven.lines[0] and driven.finding.code == "EOS012"
        await driven.press("U")
        assert list(driven.workspace.repairs) == ["strip-tokens"] and driven.said == "redo: strip-tokens is applied"


async def test_a_finding_with_one_cure_needs_no_choice() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press("]", "]", "f", "a")
        assert list(driven.workspace.repairs) == [DROP] and "0 of 41 rows changed, 2 dropped" in driven.said
        assert "*left out" in text and "✗ left out" in text
        assert "left out of the repaired data" in await driven.press("escape")


async def test_a_recipe_fix_and_a_repair_are_both_offered() -> None:
    class Both(RowsWorker):
        def altered(self, event: Any) -> Any:
            if not isinstance(event, ev.FindingsReady):
                return event
            found = [one for one in event.findings or () if one.code == "LAB002"]
            return replace(event, findings=tuple(replace(one, code="CON008", repairs=("drop",)) for one in found))

    async with running((80, 24), Both(), recipe=changed(preset(), "mask.rule", "all")) as driven:
        text = await driven.press("f", "a")
        assert "recipe" in text and DROP in text and not driven.workspace.repairs
        await driven.press("enter")
        assert driven.workspace.recipe.mask.rule == "assistant"
        await driven.press("u", "a", "j", "enter")
        assert driven.workspace.recipe.mask.rule == "all" and list(driven.workspace.repairs) == [DROP]


async def test_every_repair_can_be_put_in_and_taken_out(tmp_path: Path) -> None:
    rows = [*chats(2), ("Where?", "")]
    async with running((80, 24), options=OpenOptions((write_chats(tmp_path / "train.jsonl", rows),))) as driven:
        assert "[ ] strip-tokens" in await driven.press("R")
        await driven.press(*"jjjj", "enter", "R", "end", "enter")
        assert driven.workspace.repairs == ("strip-tokens", "drop no-answer")
        assert "*2 repairs" in driven.lines[0], "also where this row is as it was"
        assert "[x] strip-tokens" in await driven.press("R")
        await driven.press(*"jjjj", "enter")
        assert list(driven.workspace.repairs) == ["drop no-answer"] and "no longer applied" in driven.said


async def test_the_rows_that_repairs_change_are_listed_without_an_audit() -> None:
    async with running((80, 24)) as driven:
        await driven.press("R", *"jjjj", "enter")
        assert "repaired  19 × rows changed by a repair" in await driven.press("F")
        await driven.press("j", "enter")
        assert (
            driven.main.panes.rows.order is not None
            and list(driven.main.panes.rows.order)[:3] == [1, 4, 6]
            and driven.main.state.status.row == 1
        )
        await driven.press("F", "enter")
        assert driven.main.panes.rows.order is None


async def test_the_repaired_data_is_written_after_it_was_said(own_data: Path) -> None:
    async with running((80, 24)) as driven:
        assert "a new file" not in await driven.press("x")
        await driven.press("escape", "R", *"jjjj", "enter", "r", "d")
        text = await driven.press("x")
        assert (
            "a new file with the repaired rows (strip-tokens, without 1 marked drop)" in text
            or "a new file with the rows" in text
        )
        await driven.press("enter")
        assert driven.main.prompt.text == "train-repaired.jsonl"
        text = await driven.press("enter")
        assert (
            "nothing written yet" in text
            and "train.jsonl stays unchanged" in text
            and "1 row is left out too: 0" in text
        )
        assert not driven.worker.asked(rq.WriteRequest) and len([*own_data.iterdir()]) == 1
        await driven.press("a")
        (asked,) = driven.worker.asked(rq.WriteRequest)
        assert (asked.target, asked.log, asked.marked) == ("train-repaired.jsonl", "train-repaired.log.jsonl", (0,))
        assert len((own_data / "train-repaired.jsonl").read_text().splitlines()) == 40
        assert driven.said == "wrote train-repaired.jsonl and its log: 40 of 41 rows, 19 changed"
        await driven.press("A")
        assert "Repairs, in train-repaired.jsonl" in driven.text


async def named(driven: Driven, name: str) -> str:
    await driven.press("x", "enter", "ctrl+u", "ctrl+k", *name, "enter")
    return driven.said


async def test_the_data_itself_is_never_written_to(tmp_path: Path) -> None:
    options = OpenOptions((write_chats(tmp_path / "train.jsonl", chats(2)),))
    async with running((80, 24), options=options) as driven:
        await driven.press("R", *"jjjj", "enter")
        assert "is the data itself" in await named(driven, str(tmp_path / "train.jsonl")) and driven.main.prompt.open
        await driven.press("escape")
        assert "does not name a format" in await named(driven, "out.csv")
        await driven.press("escape")
        assert not driven.worker.asked(rq.WriteRequest)


async def test_a_write_goes_on_beside_everything_and_can_be_stopped() -> None:
    async with running((80, 24)) as driven:
        driven.worker.lost = (rq.WriteRequest,)
        await driven.press("R", *"jjjj", "enter", "x", "enter", "enter", "a")
        (asked,) = driven.worker.asked(rq.WriteRequest)
        driven.worker.emit(
            ev.RepairsWritten(
                asked.ticket, None, None, ev.RepairCount(20, 7), 0, 41, target=asked.target, log=asked.log
            )
        )
        await driven.settle()
        assert driven.said == "writing 20 of 41 rows … Esc stops"
        await driven.press("]")
        assert driven.main.state.status.row == 1
        await driven.press("x", "enter")
        assert "already" in driven.said
        await driven.press("escape")
        assert asked.ticket in driven.worker.cancelled
        driven.worker.emit(ev.RepairsWritten(asked.ticket, None, None))
        await driven.settle()
        assert driven.said == "stopped; nothing was written" and driven.main.state.kept.writing is None


async def test_a_config_written_before_the_data_says_so() -> None:
    async with running((140, 45)) as driven:
        await driven.press("R", *"jjjj", "enter", "x", "j", "enter", "enter")
        assert "not saved yet" in driven.text


async def test_what_changed_in_hostile_data_is_only_shown() -> None:
    async with running((140, 45)) as driven:
        text = await driven.press("]", "f", "d", "enter")
        assert "\x1b" not in text and "\x07" not in text and "[@click=app.quit]" in text


async def test_what_leaves_the_program_says_that_it_is_repaired() -> None:
    async with running((140, 45)) as driven:
        await driven.press("R", *"jjjj", "enter", ":", *"print the row", "enter")
        assert "repaired" not in driven.said
        await driven.press("]", ":", *"print the row", "enter")
        assert driven.said.endswith("as repaired; the file still has the original")


async def test_rows_with_an_audited_finding_can_be_left_out() -> None:
    async with running((80, 24)) as driven:
        await driven.press("A", "R")
        assert "[ ] drop CON008" in driven.text and "drop 2 × message 1" in driven.text
        await driven.press("end", "enter")
        assert list(driven.workspace.repairs) == [DROP]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("/a/train.jsonl", "train-x.jsonl"),
        ("v1.2.jsonl.gz", "v1.2-x.jsonl"),
        ("org/set", "set-x.jsonl"),
        ("data/*.parquet", "data-x.jsonl"),
        ("-", "data-x.jsonl"),
        ("a\x1b[2mb\x07.json", "a2mb-x.jsonl"),
    ],
)
def test_the_name_of_a_file_made_from_the_data(data: str, name: str) -> None:
    assert file_next_to(data, "x") == name


async def test_a_repair_that_cannot_help_says_so() -> None:
    class Stubborn(RowsWorker):
        def altered(self, event: Any) -> Any:
            if not isinstance(event, ev.FindingsReady):
                return event
            return replace(event, findings=(Finding("CON008", Severity.ERROR, "still there", 0, repairs=("drop",)),))

    async with running((80, 24), Stubborn()) as driven:
        await driven.press("f", "a", "a")
        assert driven.said == "drop CON008 is already applied and cannot fix CON008 here" and list(
            driven.workspace.repairs
        ) == [DROP]


async def test_a_folder_that_is_not_there_is_said_while_its_name_can_be_mended(tmp_path: Path) -> None:
    async with running((80, 24)) as driven:
        await driven.press(
            "R", *"jjjj", "enter", "x", "enter", "ctrl+u", "ctrl+k", *str(tmp_path / "no" / "new.jsonl"), "enter"
        )
        assert driven.said == f"there is no folder {tmp_path / 'no'}" and driven.main.prompt.open


async def test_a_repair_that_changes_no_row_is_not_in_force() -> None:
    class Useless(RowsWorker):
        def altered(self, event: Any) -> Any:
            if isinstance(event, ev.FindingsReady):
                finding = Finding(
                    "CON004", Severity.WARNING, "message 1 begins with white space", 0, repairs=("trim", "drop")
                )
                return replace(event, findings=(finding,))
            named = ((4, "half.jsonl line 5", "the text holds half a character"),)
            if isinstance(event, ev.CountReady):
                return replace(event, repaired=ev.RepairCount(41, 0, 0, (), 1, named))
            if isinstance(event, ev.RepairsCounted):
                return replace(event, counted=ev.RepairCount(41, 0, 0, (), 1, named))
            return event

    async with running((140, 45), Useless()) as driven:
        text = await driven.press("f", "d", "enter")
        assert "0 of 41 rows changed, 0 dropped" in text and "row 4 (half.jsonl line 5) stays" in text
        await driven.press("a")
        assert driven.workspace.repairs == () and "*" not in driven.lines[0]
        assert driven.said.startswith(
            "trim changes nothing in 41 rows, so it is not applied; row 4 (half.jsonl line 5)"
        )
        await driven.press("u")
        assert driven.workspace.repairs == () and not driven.workspace.undo(), "undo does not put it in force again"
