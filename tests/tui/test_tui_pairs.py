"""Both sides of a preference in the inspector: what stands where, and every key on the side that has the cursor."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from rows_worker import usual
from tui_driver import Driven, check_golden, running

from sftui.model import Example
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.tui.contexts import LIST, TOKENS
from sftui.views.cells import plain
from sftui.workspace import OpenOptions
from sftui.workspace import requests as rq

SIZES = ((60, 20), (80, 24), (120, 36), (200, 50), (300, 80))
UNTRIED = {"quit", "interrupt", "suspend", "edit.row", "edit.text", "edit.template", "edit.message"}


def said(role: str, text: str) -> list[dict[str, str]]:
    return [{"role": role, "content": text}]


def pair(asked: str, chosen: Any, rejected: Any, **more: object) -> dict[str, Any]:
    sides = {
        name: said("assistant", text) if isinstance(text, str) else text
        for name, text in (("chosen", chosen), ("rejected", rejected))
    }
    return {"prompt": said("user", asked), **sides, **more}


ROWS = (
    pair("What is the capital of Australia?", "It is Canberra.", "It is Sydney, as everyone knows.", margin=1.5),
    pair("Say hi", "hi", "hi", margin=-1.0),
    pair("Empty?", "", "not empty", margin=0.0),
    pair("Long? " * 60, "Short.", "No.", margin=12.0),
    pair("Cut?", "yes " * 150, "no", margin=0.25),
    pair("Stops", [], "no", margin=0.0),
    pair("Another?", "One answer.", "Another answer.", margin=2.0),
)
EMPTY, DROPPED, CUT, STOPPED = 2, 3, 4, 5


@asynccontextmanager
async def over_pairs(folder: Path, size: tuple[int, int] = (80, 24), **rows: Any) -> AsyncIterator[Driven]:
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows.get("rows", ROWS)))
    teaching = changed(usual(preset("trl@1.16")), "loss.objective", rows.get("objective", "dpo"))
    recipe = changed(teaching, "length.max", rows.get("most", 96))
    async with running(size, options=OpenOptions((str(path),), recipe=recipe)) as driven:
        yield driven


STEPS = (
    ("opened", ()),
    ("rejected", ("b",)),
    ("columns", ("z",)),
    ("rows-shifted", ("z", "s")),
    ("conversation", ("z", "s", "O", "c")),
    ("alone", ("escape", "m")),
    ("cut", ("m", "4", "g")),
    ("stopped", ("]",)),
    ("compared", ("5", "[", "C", "/", *"chatml", "enter", "enter")),
)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_screens(size: tuple[int, int], tmp_path: Path) -> None:
    async with over_pairs(tmp_path, size) as driven:
        for name, keys in STEPS:
            text = await driven.press(*keys)
            assert all(len(line) <= size[0] for line in text.splitlines())
            check_golden(f"pairs-{size[0]}x{size[1]}-{name}", text)


def place(driven: Driven) -> tuple[str, int, str]:
    """The side that has the cursor, the token it is on, and what is said of that."""
    pane = driven.main.panes.tokens
    assert pane.table is not None
    return pane.side, pane.state.cursor, pane.table.cells[pane.state.cursor]


async def test_a_key_goes_to_the_same_place_of_the_other_side(tmp_path: Path) -> None:
    async with over_pairs(tmp_path) as driven:
        begun = place(driven)
        assert begun[0] == "chosen" and begun[2] == "It"
        await driven.press("l", "l")
        other = driven.main.panes.other
        assert place(driven)[1:] == (begun[1] + 2, "␣Can") or place(driven)[2].startswith("␣C")
        assert other.state.cursor == begun[1] + 2 and other.state.quiet, "the other side goes along"
        text = await driven.press("b")
        assert place(driven)[0] == "rejected" and place(driven)[1] == begun[1] + 2
        assert "▸3 rejected" in text and "rejected[0]" in (await driven.press("O", "c")), "all shows that side"
        await driven.press("escape", "end")
        last = place(driven)[1]
        await driven.press("b")
        table = driven.main.panes.tokens.table
        assert table is not None and place(driven)[:2] == ("chosen", len(table) - 1) and last > len(table) - 1


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_tab_and_a_click_reach_the_other_side(size: tuple[int, int], tmp_path: Path) -> None:
    async with over_pairs(tmp_path, size) as driven:
        seen = []
        for _ in range(3):
            await driven.press("tab")
            seen.append((driven.main.state.open.context, driven.main.state.open.side))
        assert seen == [(TOKENS, 1), (LIST, 1), (TOKENS, 0)]
        await driven.press("3", "tab")
        assert place(driven)[0] == "rejected"
        await driven.pilot.click(driven.main.sides[0], offset=(12, 4))
        await driven.settle()
        assert place(driven)[0] == "chosen" and driven.main.state.open.context == TOKENS


async def test_both_sides_are_looked_at_alike(tmp_path: Path) -> None:
    async with over_pairs(tmp_path, (120, 36)) as driven:
        for key in ("z", "s", ".", "b", "Z", "s", "."):
            await driven.press(key)
            one, other = (pane.state for pane in driven.main.sides)
            assert (one.zoom, one.shift, one.blanks) == (other.zoom, other.shift, other.blanks), key


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
@pytest.mark.parametrize("side", [0, 1], ids=["chosen", "rejected"])
@pytest.mark.one_of(5)
@pytest.mark.parametrize("row", [0, EMPTY, DROPPED, CUT, STOPPED])
async def test_no_key_breaks_anything(row: int, side: int, size: tuple[int, int], tmp_path: Path) -> None:
    async with over_pairs(tmp_path, size) as driven:
        await driven.press(*["]"] * row, *["b"] * side)
        assert driven.main.state.open.side == side
        await driven.every_key(TOKENS, UNTRIED)


@pytest.mark.one_of(5)
@pytest.mark.parametrize("opening", ["L L", "c", "f", "A", "o", "C enter", "B"], ids=str)
async def test_no_key_of_another_pane_breaks_anything(opening: str, tmp_path: Path) -> None:
    async with over_pairs(tmp_path, (120, 36)) as driven:
        await driven.press("b", *opening.split())
        context = LIST if opening == "L L" else driven.main.state.open.context
        assert context != TOKENS
        await driven.every_key(context, UNTRIED)


async def test_hits_go_through_both_sides_and_the_shared_beginning_once(tmp_path: Path) -> None:
    async with over_pairs(tmp_path, rows=(ROWS[6],)) as driven:
        await driven.press("/", *"a", "enter")
        seen, places = [], set()
        for _ in range(30):
            seen.append(place(driven)[:2])
            places.add(driven.said or plain((driven.main.sentence(),)))
            await driven.press("n")
            if place(driven)[:2] == seen[0]:
                break
        figures = driven.main.state.status.pair
        assert figures is not None
        shared = figures.shared
        rejected = [at for side, at in seen if side == "rejected"]
        assert rejected and min(rejected) >= shared and seen == sorted(seen), (
            "chosen first, then what is rejected alone"
        )
        counted = driven.main.state.searching.hits
        assert counted.up_to[-1] == len(seen)
        await driven.press("N")
        assert place(driven)[:2] == seen[-1]


async def test_a_hit_of_the_rejected_side_alone_is_gone_to(tmp_path: Path) -> None:
    async with over_pairs(tmp_path) as driven:
        await driven.press("/", *"everyone", "enter")
        assert place(driven)[0] == "rejected" and "every" in place(driven)[2]
        assert "hit 1 of 1" in driven.said


def examples(driven: Driven, row: int = 0) -> list[Example]:
    """What the trainer receives of each side."""
    return [example for side in driven.worker.make(row).alone for example in side.examples]


async def test_ids_that_are_copied_are_those_of_the_side(tmp_path: Path, clipboard: list[str]) -> None:
    async with over_pairs(tmp_path) as driven:
        await driven.press("y", "i", "b", "y", "i", "y", "l", "y", "t")
        chosen, rejected, labels, text = clipboard
        sides = examples(driven)
        assert json.loads(chosen) == list(sides[0].input_ids)
        assert json.loads(rejected) == list(sides[1].input_ids)
        assert json.loads(labels) == list(sides[1].labels) and "Sydney" in text
        await driven.press("w", "i")
        assert "row0-rejected-ids.json" in driven.text


async def test_the_card_is_of_the_side(tmp_path: Path) -> None:
    async with over_pairs(tmp_path) as driven:
        await driven.press("b", "enter")
        asked = driven.worker.asked(rq.WhyRequest)[-1]
        table = driven.main.sides[0].table
        assert table is not None and asked.token == len(table) + place(driven)[1]
        text = plain(driven.main.panes.document.lines)
        assert "rejected[0]" in text and f"token {place(driven)[1]} of" in text
        await driven.press("b")
        assert driven.worker.asked(rq.WhyRequest)[-1].token == place(driven)[1]
        assert "chosen[0]" in plain(driven.main.panes.document.lines)


async def test_a_message_of_either_side_is_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sftui.tui.commands.edits.in_editor", lambda here, text, name, **_: text.upper())
    async with over_pairs(tmp_path) as driven:
        await driven.press("b", "e", "m")
        compared = plain(driven.main.panes.document.lines)
        assert "SYDNEY" in compared and "CANBERRA" not in compared
        await driven.press("a")
        sides = [side.rendered.text for side in driven.worker.make(0).alone if side.rendered is not None]
        assert "Canberra" in sides[0] and "SYDNEY" in sides[1]


async def test_a_recipe_without_pairs_has_one_pane_again(tmp_path: Path) -> None:
    async with over_pairs(tmp_path) as driven:
        await driven.press("b")
        driven.workspace.set_recipe(changed(driven.workspace.recipe, "loss.objective", "sft"))
        await driven.settle()
        state = driven.main.state.open
        assert (state.sides, state.side) == (1, 0) and not driven.main.panes.other.display
        assert "one side" in await driven.press("b")
        await driven.press("u")
        assert driven.main.state.open.sides == 2 and driven.main.panes.other.display


async def test_the_list_has_lengths_difference_and_margin(tmp_path: Path) -> None:
    async with over_pairs(tmp_path) as driven:
        shown = driven.lines
        first, second = (example.size for example in examples(driven))
        line = next(line for line in shown if line.startswith("│▸"))
        assert f"{first}/{second}" in line and f"{first - second:+}" in line and "1.5" in line


async def test_the_score_of_a_reward_model_is_no_training(tmp_path: Path) -> None:
    async with over_pairs(tmp_path, (120, 36), objective="reward") as driven:
        first, second = (example.size for example in examples(driven))
        assert f"chosen {first}  rejected {second}  " in driven.lines[0], "none of them trains a token"
        assert f"{first} tokens, score at {first - 1}" in driven.text and "one score" in driven.lines[1]
        assert f"{second} tokens, score at {second - 1}" in driven.text


async def test_pairs_that_the_trainer_unpairs_have_both_sides_too(tmp_path: Path) -> None:
    async with over_pairs(tmp_path, objective="kto") as driven:
        await driven.press("b")
        assert place(driven)[0] == "rejected" and "{}/{}".format(*(one.size for one in examples(driven))) in driven.text


@pytest.mark.parametrize("keys", [("]",), ("]", "b"), ("b", "]", "l")], ids=str)
async def test_long_prompts_leave_the_answers_in_view_and_aligned(keys: tuple[str, ...], tmp_path: Path) -> None:
    rows = (ROWS[0], pair("Why? " * 60, "Since it is. " * 8, "No."))
    async with over_pairs(tmp_path, rows=rows, most=900) as driven:
        await driven.press(*keys)
        for pane in driven.main.sides:
            text = plain(pane.visible_lines()).splitlines()
            assert "Why?" in text[1] and "\u27e6" in text[2], "what is asked last, then where the answer begins"


async def test_findings_lead_to_their_side(tmp_path: Path) -> None:
    rows = (ROWS[0], pair("Which?", "This one is long enough.", ""))
    async with over_pairs(tmp_path, (120, 36), rows=rows) as driven:
        await driven.press("]", "f")
        while driven.finding.code != "CON003":
            await driven.press("j")
        assert driven.finding.side == "rejected" and "rejected" in driven.text
        await driven.press("enter")
        side, cursor, _ = place(driven)
        assert side == "rejected" and driven.finding.tokens is not None and cursor == driven.finding.tokens[0]
        await driven.press("b", "[", "/", *"finding:CON003", "enter")
        assert place(driven)[:2] == (side, cursor), "searched for, too"


async def test_listed_rows_mark_their_side_and_leave_the_keys(tmp_path: Path) -> None:
    rows = (ROWS[0], pair("Which?", "This one is long enough.", ""))
    async with over_pairs(tmp_path, (120, 36), rows=rows) as driven:
        await driven.press("A")
        figures = driven.main.panes.figures
        while figures.marked() != "CON003":
            await driven.press("j")
        await driven.press("enter")
        assert driven.main.state.row == 1 and place(driven)[0] == "rejected"
        assert driven.main.panes.tokens.state.hits and not driven.main.panes.other.state.hits
