"""The card of a token: why it is trained or masked, what would turn that over, and the key that does."""

from __future__ import annotations

import pytest
from tui_driver import Driven, check_golden, running

from sftui.recipe import changed
from sftui.trainers import preset
from sftui.tui.commands import compare
from sftui.views.cells import plain

PROMPT_MASKED = changed(preset("mlx-lm"), "mask.rule", "completion")
WIDE = ((60, 20), (80, 24), (120, 36), (200, 50))


@pytest.mark.parametrize("size", WIDE, ids=str)
async def test_the_card_looks_as_before(size: tuple[int, int]) -> None:
    async with running(size, recipe=PROMPT_MASKED) as driven:
        check_golden(f"why-{size[0]}x{size[1]}", await driven.press("h", "h", "enter"))


async def test_t_trains_the_token_and_u_takes_it_back() -> None:
    async with running(recipe=PROMPT_MASKED) as driven:
        before = driven.trained
        text = await driven.press("h", "h", "enter")
        assert "is masked" in text and "mask.rule completion → all" in text
        assert "mlx-lm: no mask_prompt" in text, "the trainer's own key"
        assert "t       trains this token" in text
        rows, tokens = counted(driven)
        told = " ".join(plain(driven.main.panes.document.lines).split())
        assert f"over the dataset: {rows} rows, {tokens:,} tokens change" in told
        text = await driven.press("t")
        assert driven.trained > before
        assert "is trained: mask.rule → all" in driven.said and "u undoes it" in driven.said
        assert "is trained" in text and "t       masks this token" in text, "the card follows"
        await driven.press("u")
        assert driven.trained == before


def counted(driven: Driven) -> tuple[int, int]:
    found = driven.main.state.why.counted
    assert found is not None and found.count is not None and found.done
    return found.count.differing_rows, found.count.differing_tokens


async def test_what_the_card_counts_is_what_changes() -> None:
    async with running() as driven:
        await driven.press("h", "h", "enter")
        first = driven.main.state.why.answer
        assert first is not None
        here = driven.main.panes.tokens.inspection
        assert here is not None and here.labels is not None
        before = here.labels.labels
        await driven.press("t")
        after = driven.main.panes.tokens.inspection
        assert after is not None and after.labels is not None
        assert sum((a == -100) != (b == -100) for a, b in zip(before, after.labels.labels)) == first.ways[0].tokens


async def test_where_no_setting_helps_nothing_is_offered() -> None:
    async with running() as driven:
        text = await driven.press("enter")
        assert "No setting of" in text and "masks this token" in text
        recipe = driven.workspace.recipe
        await driven.press("t")
        assert driven.workspace.recipe == recipe and "no setting" in driven.said


async def test_t_without_a_card_does_nothing_and_says_where_the_card_is() -> None:
    async with running() as driven:
        recipe = driven.workspace.recipe
        await driven.press("t")
        assert driven.workspace.recipe == recipe
        assert "Enter" in driven.said


@pytest.mark.parametrize(("size", "holder"), [((80, 24), "other panes"), ((140, 40), "tokens")], ids=str)
async def test_the_card_follows_the_cursor(size: tuple[int, int], holder: str) -> None:
    async with running(size) as driven:
        cursor = driven.main.panes.tokens.state.cursor
        await driven.press("enter")
        assert driven.main.state.open.context == holder
        text = await driven.press("h", "h")
        assert driven.main.panes.tokens.state.cursor == cursor - 2
        assert f"token {cursor - 2:,} of" in text and "is masked" in text


async def test_esc_closes_it_and_stops_the_count() -> None:
    async with running() as driven:
        await driven.press("h", "h", "enter")
        why = driven.main.state.why
        await driven.press("escape")
        assert driven.main.state.open.view is None and driven.main.state.why.ticket is None
        assert {why.ticket, why.counting} <= driven.worker.cancelled


async def test_another_row_is_explained_too() -> None:
    async with running() as driven:
        await driven.press("enter")
        text = await driven.press("]")
        assert "line 2" in text and driven.main.state.why.row == 1


async def test_tokens_under_a_second_recipe_are_not_explained_by_the_first() -> None:
    async with running((140, 40)) as driven:
        compare.start(driven.main, changed(driven.workspace.recipe, "mask.rule", "all"), "everything")
        await driven.press("v", "escape", "enter")
        assert driven.main.state.status.side == "B" and driven.said.startswith("these are the tokens under B")
        text = await driven.press("v", "enter")
        assert "token " in text and "toggles training" in text
        text = await driven.press("v")
        assert "these are the tokens under B" in text
        recipe = driven.workspace.recipe
        await driven.press("t")
        assert driven.workspace.recipe == recipe, "nothing that is not on screen is changed"
        assert "mask.rule completion" in await driven.press("v")
