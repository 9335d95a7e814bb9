"""The tour: each step is told until what is on screen shows that it was done, and it can be left at any time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rows_worker import inspected
from tui_driver import Driven, running

from sftui.settings import UserSettings
from sftui.tui.commands.table import BY_ID
from sftui.tui.state import Tour, TourState
from sftui.tui.tour import ENDED, STEPS, after, commands_named, toggled

SIZES = ((60, 20), (80, 24), (120, 36))


def step(driven: Driven) -> int | None:
    return driven.main.state.tour.at


def told(driven: Driven) -> str:
    return " ".join(driven.text.split())


@pytest.mark.parametrize("size", SIZES)
async def test_six_steps_lead_through_what_the_inspector_does(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        before = driven.text
        await driven.press("f2")
        assert "Tour 1 of 6" in driven.lines[2] and "Press l or h" in told(driven) and "(F2 leaves)" in told(driven)
        await driven.press("]", "[")
        assert step(driven) == 0, "another row is not what was asked"
        await driven.press("l")
        assert "Tour 2 of 6" in told(driven) and "Press ] for the next row" in told(driven)
        await driven.press("]")
        assert "Tour 3 of 6" in told(driven)
        await driven.press("f")
        assert "Tour 4 of 6" in told(driven)
        await driven.press("c", "/", *"mask.terminator", "enter", "l")
        assert "Tour 5 of 6" in told(driven) and driven.workspace.recipe.mask.terminator == "mask"
        await driven.press("u")
        assert "Tour 6 of 6" in told(driven)
        await driven.press("A")
        assert "That was the tour." in told(driven) and "q quits" in told(driven)
        await driven.press("f2")
        assert step(driven) is None and "Tour" not in driven.lines[2]
        assert len(driven.lines) == len(before.splitlines())


@pytest.mark.parametrize("keys", [(), ("l",), ("l", "]"), ("l", "]", "f")])
async def test_it_can_be_left_at_any_step_and_begins_anew(keys: tuple[str, ...]) -> None:
    async with running((80, 24)) as driven:
        await driven.press("f2", *keys)
        assert step(driven) == len(keys)
        await driven.press("f2")
        assert step(driven) is None and "Tour" not in driven.lines[2]
        await driven.press("f2")
        assert step(driven) == 0


async def test_the_keys_told_are_those_of_the_user() -> None:
    settings = UserSettings(keymap={"row.next": ("J",), "tour": ("f6",)})
    async with running((80, 24), settings=settings) as driven:
        assert "(f6 leaves)" in " ".join(
            (await driven.press("f6", "l")).split()
        ) and "Press J for the next row" in told(driven)


async def test_without_a_tour_no_line_goes_to_it() -> None:
    async with running((80, 24)) as driven:
        assert not driven.main.tour.display and step(driven) is None


def test_the_texts_name_commands_that_there_are() -> None:
    assert len(STEPS) == 6 and set(commands_named()) <= set(BY_ID) and "quit" in commands_named()
    assert "{" in ENDED


def test_a_tour_waits_for_a_row_and_goes_on_by_what_is_seen(make_seen: TourState) -> None:
    assert after(Tour(), make_seen) == Tour() and after(Tour(0), None) == Tour(0)
    begun = after(Tour(0), make_seen)
    assert begun == Tour(0, make_seen) and after(begun, make_seen) == begun
    moved = make_seen._replace(cursor=3)
    anew = moved._replace(shown=replace(make_seen.shown))
    assert after(begun, anew) == Tour(0, anew), "the tokens came anew, nobody moved"
    assert after(begun, moved) == Tour(1, moved)
    assert after(Tour(len(STEPS), moved), make_seen) == Tour(len(STEPS), moved)
    assert toggled(Tour(3, moved)) == Tour() and toggled(Tour()) == Tour(0)


@pytest.fixture
def make_seen() -> TourState:
    from sftui.trainers import preset

    return TourState(inspected(0), 0, None, preset())
