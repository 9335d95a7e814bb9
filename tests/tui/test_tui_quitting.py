"""Quitting: at once where everything is in a file, else after one question; signals never ask but tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from tui_driver import SIZES, Driven, check_golden, running

from sftui.exports.plan import ExportPlan, plan_export
from sftui.exports.prepared import ExportInput
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.tui.commands import own
from sftui.workspace import Workspace
from sftui.workspace.workspace import RecipeChoice, unexported


class Planning(Workspace):
    def plan_export(self, to: str, folder: str) -> ExportPlan:
        return plan_export(to, folder, self.recipe, self.base_recipe, ExportInput(("train.jsonl",)))


def has_quit(driven: Driven) -> bool:
    return driven.app._exit


async def change_all(driven: Driven) -> None:
    """Two knobs, a repair, a waiver."""
    driven.workspace.change("mask.rule", "all")
    driven.workspace.change("length.max", 256)
    await driven.press("R", *"jjjj", "enter", "f", "I", *"on purpose", "enter")


async def test_nothing_to_lose_quits_at_once() -> None:
    async with running((80, 24)) as driven:
        await driven.press("r", "k", "q")
        assert has_quit(driven)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_what_is_in_no_file_is_named_before_it_goes(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        await change_all(driven)
        text = await driven.press("escape", "q")
        check_golden(f"{size[0]}x{size[1]}-quit", text)
        assert not has_quit(driven) and "2 unsaved recipe changes, 1 repair, 1 waiver" in text
        assert (
            "on purpose" in text
            and "strip-tokens" in text
            and "256" in text
            and "a quits" in text
            and "Enter or x exports" in text
            and "Esc stays" in text
        )
        await driven.press("escape")
        assert not has_quit(driven) and len(driven.app.screen_stack) == 1
        await driven.press("q", "a")
        assert has_quit(driven)


async def test_from_the_question_to_the_export() -> None:
    async with running((80, 24)) as driven:
        driven.workspace.change("mask.rule", "all")
        for key in ("x", "enter"):
            text = await driven.press("q", key)
            assert not has_quit(driven) and "recipe.yaml" in text
            await driven.press("escape")


async def test_what_was_taken_back_or_written_is_not_asked_about(own_data: Path, tmp_path: Path) -> None:
    async with running((80, 24), kind=Planning) as driven:
        await driven.press("R", *"jjjj", "enter", "u")
        assert not own.lost(driven.main)
        await change_all(driven)
        await driven.press("escape", "x", "enter", "enter", "a")
        assert [one for one in own.lost(driven.main).words().split(", ") if "repair" in one] == []
        await driven.press("x", "j", "enter", "ctrl+u", "ctrl+k", *str(tmp_path), "enter", "a")
        assert "wrote" in driven.said and not own.lost(driven.main)
        driven.workspace.change("length.max", 300)
        await driven.settle()
        assert own.lost(driven.main).words() == "1 unsaved recipe change"
        await driven.press("u", "q")
        assert has_quit(driven)


@pytest.mark.parametrize("keys", [("ctrl+c",), ("q", "ctrl+c")])
async def test_ctrl_c_ends_at_once_and_tells_afterwards(keys: tuple[str, ...]) -> None:
    async with running((80, 24)) as driven:
        driven.workspace.change("length.max", 256)
        await driven.settle()
        await driven.press(*keys)
        assert has_quit(driven)
        assert own.farewell(driven.main) == "1 unsaved recipe change: length.max null → 256"


async def test_after_a_yes_nothing_more_is_told() -> None:
    async with running((80, 24)) as driven:
        driven.workspace.change("length.max", 256)
        await driven.press("q", "a")
        assert own.farewell(driven.main) == ""


def test_what_is_in_no_file() -> None:
    recipe = preset()
    kept = RecipeChoice(recipe, ("trim",))
    assert not unexported(kept, kept) and not unexported(RecipeChoice(recipe), kept)
    assert unexported(RecipeChoice(recipe, ("trim", "fold")), kept).words() == "1 unsaved repair"
    waived = changed(recipe, "waivers", ({"code": "CON001", "reason": "so"},))
    assert unexported(RecipeChoice(waived), kept).words() == "1 unsaved waiver"
    assert not unexported(RecipeChoice(recipe), RecipeChoice(waived)).waivers, "one that was taken away is not lost"
