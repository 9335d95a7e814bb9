"""The waste of the whole dataset: what is drawn, and a limit and a strategy that are chosen and applied."""

from __future__ import annotations

import pytest
from tui_driver import Driven, check_golden, running

from sftui.audit.waste import WasteTable
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.workspace import requests as rq

TRL = changed(preset("trl@1.16"), "length.max", 64)


def table_of(driven: Driven) -> WasteTable:
    answer = driven.main.state.wasted.answer
    assert answer is not None and answer.table is not None
    return answer.table


@pytest.mark.parametrize("size", ((80, 24), (120, 36), (200, 50)), ids=lambda size: f"{size[0]}x{size[1]}")
async def test_waste_screens(size: tuple[int, int]) -> None:
    async with running(size, recipe=TRL) as driven:
        text = await driven.press("O", "w")
        assert all(len(line) <= size[0] for line in text.splitlines())
        check_golden(f"{size[0]}x{size[1]}-waste", text)


async def test_arrows_choose_and_enter_applies_what_u_undoes() -> None:
    async with running((140, 45), recipe=TRL) as driven:
        before = driven.workspace.recipe
        await driven.press("O", "w")
        table = table_of(driven)
        assert table.done and driven.main.state.wasted.limit == 64
        at = table.limits.index(64)
        await driven.press("right", "right", "left", "down", "down")
        now = driven.main.state.wasted
        assert (now.limit, now.strategy) == (table.limits[at + 1], "bfd")
        await driven.press("enter")
        recipe = driven.workspace.recipe
        assert (recipe.length.max, recipe.pack.strategy, recipe.batch.flatten) == (now.limit, "bfd", True)
        assert "applied: " in driven.said and "u undoes it" in driven.said
        assert table_of(driven).strategies[0] == "bfd", "the strategy in force comes first"
        await driven.press("enter")
        assert "already has this setting" in driven.said
        await driven.press("u")
        assert driven.workspace.recipe == before


async def test_the_ends_stay_and_other_views_scroll() -> None:
    async with running((140, 45), recipe=TRL) as driven:
        before = driven.workspace.recipe
        await driven.press("O", "w", *["left"] * 20, *["up"] * 9)
        now = driven.main.state.wasted
        assert (now.limit, now.strategy) == (table_of(driven).limits[0], "none")
        await driven.press("escape", "B", "down", "right", "enter")
        assert driven.main.state.wasted.limit == now.limit and driven.workspace.recipe == before
        await driven.press("O", "w")
        assert len(driven.worker.asked(rq.WasteRequest)) == 2 and driven.main.state.wasted.limit == now.limit


async def test_grouping_by_length_sets_the_limit_alone() -> None:
    async with running((140, 45), recipe=TRL) as driven:
        before = driven.workspace.recipe
        await driven.press("O", "w", "down", "right", "enter")
        assert driven.main.state.wasted.strategy == "by length"
        assert driven.workspace.recipe == changed(before, "length.max", driven.main.state.wasted.limit)
        assert "the trainer's config" in driven.said
