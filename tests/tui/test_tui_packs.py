"""The pack view: documents with their borders and positions, and what is said where nothing packs."""

from __future__ import annotations

import pytest
from tui_driver import SIZES, check_golden, running

from sftui.recipe import changed
from sftui.trainers import preset
from sftui.workspace import requests as rq

PACKING = changed(changed(preset("axolotl@0.19"), "pack.strategy", "multipack"), "length.max", 128)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_pack_screens(size: tuple[int, int]) -> None:
    async with running(size, recipe=PACKING) as driven:
        text = await driven.press("P")
        assert all(len(line) <= size[0] for line in text.splitlines())
        check_golden(f"{size[0]}x{size[1]}-packs", text)


async def test_packs_begin_at_the_row_on_screen() -> None:
    async with running((140, 45), recipe=PACKING) as driven:
        await driven.press("P", "]")
        assert driven.worker.asked(rq.PacksRequest)[-1].start == 1 and "from row 1 on" in driven.text
        await driven.press("P")
        assert driven.main.state.open.view is None


async def test_a_recipe_that_does_not_pack_says_what_to_set() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press("P")
        assert "the recipe does not pack" in text and "pack.strategy" in text
    async with running((120, 36)) as driven:  # where the pane is narrower
        assert "length.max" in await driven.press("P")
