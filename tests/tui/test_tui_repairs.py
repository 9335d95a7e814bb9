"""Repairs of the data in the inspector: previewed, put over the rows, taken back, counted and written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tui_driver import SIZES, Driven, check_golden
from words_worker import WordsWorker, running

from sftui.findings import Finding, Severity
from sftui.recipe import Recipe, changed
from sftui.trainers import preset
from sftui.tui.commands.copying import file_next_to
from sftui.workspace import OpenOptions
from sftui.workspace import events as ev

DROP = "drop CON008"


class Blank(WordsWorker):
    """Row 1 begins with white space: a repair trims it, another leaves it out."""

    def findings(self, index: int) -> tuple[Finding, ...]:
        if index % 3 == 1 and "trim" not in self.repairs:
            return (Finding("CON004", Severity.WARNING, "message 1 begins with white space", index, 1),)
        return ()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_repair_screens(size: tuple[int, int]) -> None:
    async with running(size, Blank()) as driven:
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
    async with running((140, 45), Blank()) as driven:
        text = await driven.press("]", "f", "d", "enter")
        assert (
            "14 of 41 rows changed, 0 left out" in text
            and "* row 1 becomes" in text
            and '+   "content": ' in text
            and "mended" in text
        )
        assert not driven.workspace.repairs and "*" not in driven.lines[0], "a preview changes nothing"
        await driven.press("escape")
        assert driven.main.state.open.context == "findings" and driven.worker.asked[-2][0] == "cancel"
        text = await driven.press("d", "enter", "a")
        assert (
            list(driven.workspace.repairs) == ["trim"]
            and "14 of 41 rows changed" in driven.said
            and "not saved yet" in driven.said
        )
        assert driven.main.state.open.context == "findings" and driven.finding.code == "EOS008"
        assert "*repaired" in driven.lines[0] and "▸ *  1" in text
        await driven.press("u")
        assert not driven.workspace.repairs and driven.said == "undo: trim is no longer applied"
        assert "*" not in driven.lines[0] and driven.finding.code == "CON004"
        await driven.press("U")
        assert list(driven.workspace.repairs) == ["trim"] and driven.said == "redo: trim is applied"


async def test_a_finding_with_one_cure_needs_no_choice() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press("]", "f", "a")
        assert list(driven.workspace.repairs) == [DROP] and "0 of 41 rows changed, 14 left out" in driven.said
        assert "*left out" in text and "✗ left out" in text
        assert "left out of the repaired data (not yet written)" in await driven.press("escape")


async def test_a_recipe_fix_and_a_repair_are_both_offered() -> None:
    class Both(WordsWorker):
        def findings(self, index: int) -> tuple[Finding, ...]:
            found = super().findings(index)
            return tuple(
                Finding("CON008", one.severity, one.sentence, one.row, fix=one.fix)
                for one in found
                if one.code == "LAB002"
            )

    async with running((80, 24), Both(), recipe=changed(preset(), "mask.rule", "all")) as driven:
        text = await driven.press("f", "a")
        assert "recipe" in text and DROP in text and not driven.workspace.repairs
        await driven.press("enter")
        assert driven.workspace.recipe.mask.rule == "completion"
        await driven.press("u", "a", "j", "enter")
        assert driven.workspace.recipe.mask.rule == "all" and list(driven.workspace.repairs) == [DROP]


async def test_every_repair_can_be_put_in_and_taken_out() -> None:
    async with running((80, 24)) as driven:
        assert "[ ] map-roles" in await driven.press("R")
        await driven.press("j", "enter", "R", "end", "enter")
        assert driven.workspace.repairs == ("map-roles", "drop no-answer")
        assert "*2 repairs" in driven.lines[0], "also where this row is as it was"
        assert "[x] map-roles" in await driven.press("R")
        await driven.press("j", "enter")
        assert list(driven.workspace.repairs) == ["drop no-answer"] and "no longer applied" in driven.said


async def test_the_rows_that_repairs_change_are_listed_without_an_audit() -> None:
    async with running((80, 24)) as driven:
        await driven.press("R", "j", "enter")
        assert "repaired  14 × rows that a repair changes" in await driven.press("F")
        await driven.press("j", "enter")
        assert (
            driven.main.panes.rows.order is not None
            and list(driven.main.panes.rows.order)[:3] == [1, 4, 7]
            and driven.main.state.status.row == 1
        )
        await driven.press("F", "enter")
        assert driven.main.panes.rows.order is None


async def test_the_repaired_data_is_written_after_it_was_said() -> None:
    async with running((80, 24)) as driven:
        assert "a new file" not in await driven.press("x")
        await driven.press("escape", "R", "j", "enter", "r", "d")
        text = await driven.press("x")
        assert (
            "a new file with the rows as repaired (map-roles, without 1 marked drop)" in text
            or "a new file with the rows" in text
        )
        await driven.press("enter")
        assert driven.main.prompt.text == "train-repaired.jsonl"
        text = await driven.press("enter")
        assert (
            "nothing is written yet" in text
            and "train.jsonl stays as it is" in text
            and "1 row is left out too: 0" in text
        )
        assert not any(name == "write" for name, _ in driven.worker.asked)
        await driven.press("a")
        assert ("write", ("train-repaired.jsonl", "train-repaired.log.jsonl", (0,))) in driven.worker.asked
        assert driven.said == "wrote train-repaired.jsonl and its log: 40 of 41 rows, 14 changed"
        await driven.press("A")
        assert "Repairs, in train-repaired.jsonl" in driven.text


async def named(driven: Driven, name: str) -> str:
    await driven.press("x", "enter", "ctrl+u", "ctrl+k", *name, "enter")
    return driven.said


async def test_the_data_itself_is_never_written_to(tmp_path: Path) -> None:
    options = OpenOptions((str(tmp_path / "train.jsonl"),))
    (tmp_path / "train.jsonl").write_text("")
    async with running((80, 24), options=options) as driven:
        await driven.press("R", "j", "enter")
        assert "is the data itself" in await named(driven, str(tmp_path / "train.jsonl")) and driven.main.prompt.open
        await driven.press("escape")
        assert "no format" in await named(driven, "out.csv")
        await driven.press("escape")
        assert not any(name == "write" for name, _ in driven.worker.asked)


async def test_a_write_goes_on_beside_everything_and_can_be_stopped() -> None:
    class Slow(WordsWorker):
        def answer_write(self, target: str, log: str, marked: tuple[int, ...] = ()) -> None:
            ticket = self.ticket
            self.emit(ev.RepairsWritten(ticket, None, None, ev.RepairCount(20, 7), 0, 41, target=target, log=log))

        def cancelled(self, ticket: int) -> None:
            self.emit(ev.RepairsWritten(ticket, None, None))

    async with running((80, 24), Slow()) as driven:
        await driven.press("R", "j", "enter", "x", "enter", "enter", "a")
        assert driven.said == "writing 20 of 41 rows … Esc stops"
        await driven.press("]")
        assert driven.main.state.status.row == 1
        await driven.press("x", "enter")
        assert "already" in driven.said
        await driven.press("escape")
        assert driven.said == "stopped: nothing was written" and driven.main.state.kept.writing is None


async def test_a_config_written_before_the_data_says_so() -> None:
    async with running((140, 45)) as driven:
        await driven.press("R", "j", "enter", "x", "j", "enter", "enter")
        assert "not saved yet" in driven.text


async def test_what_changed_in_hostile_data_is_only_shown() -> None:
    class Hostile(Blank):
        def answer_compare(self, index: int, recipe: Recipe, repairs: tuple[str, ...] | None = None) -> None:
            self.data = [("\x1b[2mowned\x07", "[@click=app.quit]x[/] \x1b[31m")]
            super().answer_compare(index, recipe, repairs)

    async with running((140, 45), Hostile()) as driven:
        text = await driven.press("]", "f", "d", "enter")
        assert "\x1b" not in text and "\x07" not in text and "[@click=app.quit]" in text


async def test_what_leaves_the_program_says_that_it_is_repaired() -> None:
    async with running((140, 45)) as driven:
        await driven.press("R", "j", "enter", ":", *"print the row", "enter")
        assert "repaired" not in driven.said
        await driven.press("]", ":", *"print the row", "enter")
        assert driven.said.endswith("as repaired, not as the file has it")


async def test_rows_with_an_audited_finding_can_be_left_out() -> None:
    async with running((80, 24)) as driven:
        await driven.press("A", "R")
        assert "[ ] drop CON008" in driven.text and "leave out 14 × message 1" in driven.text
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
    class Stubborn(WordsWorker):
        def findings(self, index: int) -> tuple[Finding, ...]:
            return (Finding("CON008", Severity.ERROR, "still there", index),)

    async with running((80, 24), Stubborn()) as driven:
        await driven.press("f", "a", "a")
        assert driven.said == "drop CON008 is applied already and cannot fix CON008 here" and list(
            driven.workspace.repairs
        ) == [DROP]


async def test_a_folder_that_is_not_there_is_said_while_its_name_can_be_mended(tmp_path: Path) -> None:
    async with running((80, 24)) as driven:
        await driven.press(
            "R", "j", "enter", "x", "enter", "ctrl+u", "ctrl+k", *str(tmp_path / "no" / "new.jsonl"), "enter"
        )
        assert driven.said == f"there is no folder {tmp_path / 'no'}" and driven.main.prompt.open


async def test_a_repair_that_changes_no_row_is_not_in_force() -> None:
    class Useless(Blank):
        def repair_count(self, repairs: tuple[str, ...]) -> ev.RepairCount:
            named = ((4, "half.jsonl line 5", "the text holds half a character"),)
            return ev.RepairCount(self.rows, 0, 0, (), 1, named)

    async with running((140, 45), Useless()) as driven:
        text = await driven.press("]", "f", "d", "enter")
        assert (
            "0 of 41 rows changed, 0 left out, 1 could not" in text
            and "row 4 (half.jsonl line 5) stays as it is:" in text
        )
        await driven.press("a")
        assert driven.workspace.repairs == () and "*" not in driven.lines[0]
        assert driven.said.startswith("trim changes none of 41 rows, so it is not applied; row 4 (half.jsonl line 5)")
