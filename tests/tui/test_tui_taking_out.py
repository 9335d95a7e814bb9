"""Copy, write, print on exit, the editor, and the export dialog."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rows_worker import chats, write_chats
from tui_driver import Driven, running

from sftui.exports.plan import ExportPlan, PlannedFile
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.tui.commands import copying
from sftui.workspace import OpenOptions, Workspace


async def test_y_copies_row_ids_labels_and_text(clipboard: list[str]) -> None:
    async with running() as driven:
        for keys in ("yy", "yi", "yl", "yt"):
            await driven.press(*keys)
            assert driven.said == "sent it"
        row, ids, labels, text = clipboard
        inspection = driven.main.panes.tokens.inspection
        assert inspection is not None and inspection.example is not None and inspection.rendered is not None
        assert json.loads(row) == inspection.row.data
        assert tuple(json.loads(ids)) == inspection.example.input_ids
        assert tuple(json.loads(labels)) == inspection.example.labels
        assert text == inspection.rendered.text, "what is copied is the text itself, not what is drawn for it"


async def test_a_prefix_waits_and_is_shown() -> None:
    async with running() as driven:
        assert driven.main.reader.pending == ""
        await driven.press("y")
        assert driven.lines[0].rstrip().endswith("y")
        await driven.press("escape")
        assert driven.main.reader.pending == ""


async def test_w_writes_and_asks_before_overwriting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_chats(Path("train.jsonl"), chats(2))
    async with running() as driven:
        text = await driven.press("w", "i")
        assert "file for the ids" in text and "row0-ids.json" in text
        await driven.press("enter")
        assert "wrote" in driven.said and json.loads((tmp_path / "row0-ids.json").read_text())
        text = await driven.press("w", "i", "enter")
        assert "already exists" in text and driven.main.prompt.open
        await driven.press("!", "enter")
        assert "wrote" in driven.said and not driven.main.prompt.open


async def test_p_prints_on_exit() -> None:
    async with running() as driven:
        await driven.press(":", *"print the ids", "enter", "]", ":", *"print the text", "enter")
        assert len(driven.main.state.kept.to_print) == 2
        assert "row 1 will be printed" in driven.said


async def test_a_terminal_that_cannot_be_lent_says_so() -> None:
    async with running() as driven:
        await driven.press("e", "e")
        assert "cannot run an editor" in driven.said


@pytest.mark.parametrize("template", ["builtin:gemma", "builtin:chatml"])
async def test_the_template_in_force_can_be_taken_out(template: str) -> None:
    recipe = changed(preset(), "render.template", template)
    async with running(recipe=recipe) as driven:
        text = copying.text_of(driven.main, "template")
        assert text is not None and "{%" in text


async def test_a_row_without_ids_has_nothing_to_take(clipboard: list[str]) -> None:
    async with running() as driven:
        driven.main.panes.tokens.wait(3)
        await driven.press("y", "i")
        assert not clipboard and "no ids" in driven.said


class Exporting(Workspace):
    """Plans one file with a difference."""

    def plan_export(self, to: str, folder: str) -> ExportPlan:
        path = Path(self.options.paths[0]).with_name("recipe.yaml")
        file = PlannedFile(path, "new: [/INST]\n", "-old: 1\n+new: [/INST]\n" if path.exists() else "", path.exists())
        return ExportPlan((file,), "sftui: changes to the starting recipe: mask.rule", ("one note",))


async def _to_the_plan(driven: Driven) -> str:
    await driven.press("x", "enter")
    return await driven.press("enter")


async def test_export_shows_the_difference_before_it_writes(tmp_path: Path) -> None:
    async with running(kind=Exporting, options=OpenOptions((str(tmp_path / "train.jsonl"),))) as driven:
        text = await _to_the_plan(driven)
        assert "nothing written yet" in text and "+new: [/INST]" in text and "one note" in text
        await driven.press("escape")
        assert driven.said == "nothing was written" and not list(tmp_path.iterdir())
        await _to_the_plan(driven)
        await driven.press("a")
        assert "wrote" in driven.said and (tmp_path / "recipe.yaml").read_text() == "new: [/INST]\n"
        (tmp_path / "recipe.yaml").write_text("old: 1\n")
        text = await _to_the_plan(driven)
        assert "-old: 1" in text and "a overwrites" in text
        await driven.press("q")
        assert (tmp_path / "recipe.yaml").read_text() == "old: 1\n"


async def test_export_offers_the_trainers_own_config() -> None:
    from dataclasses import replace

    async with running(recipe=replace(preset(), trainer="trl", version="1.16")) as driven:
        text = await driven.press("x")
        assert "recipe" in text and "trl@1.16" in text
        assert "not for trl, which prepares" in text


async def test_what_cannot_be_exported_is_told(tmp_path: Path) -> None:
    class Refusing(Workspace):
        def plan_export(self, to: str, folder: str) -> ExportPlan:
            from sftui.errors import ExportError

            raise ExportError("the tokenizer is not loaded yet", fix="wait for it")

    async with running(kind=Refusing) as driven:
        await _to_the_plan(driven)
        assert "the tokenizer is not loaded yet; wait for it" in driven.text


async def test_nothing_of_the_row_before_is_taken_for_the_row_that_is_on_its_way(clipboard: list[str]) -> None:
    async with running() as driven:
        driven.worker.hold = True
        await driven.press("]", "y", "t")
        assert (
            driven.main.state.status.row == 1
            and not clipboard
            and driven.said == "row 1 is still loading; try again in a moment"
        )
        driven.worker.release()
        await driven.settle()
        await driven.press("y", "t")
        assert len(clipboard) == 1 and "[/INST]" in clipboard[0]
