"""The first screen: text and lens, the verdict over them, and how they share a pane."""

from __future__ import annotations

import pytest
from tui_driver import running

from sftui.settings import UserSettings, read_settings
from sftui.tui.bars import status_cells
from sftui.tui.state import Status
from sftui.views.cells import plain
from sftui.views.grid import Zoom

FINE = Status("train.jsonl", 17, 41_203, True, rule="TRL 1.16 · trains every answer", trained=118, total=412)


def told(status: Status, width: int = 100) -> list[str]:
    lines = status_cells(status, width, "f", "i")
    assert all(sum(run.width for run in cells) <= width for cells in lines)
    return [" ".join(text.split()) for text in plain(lines).splitlines()]


def test_the_first_line_is_the_verdict_and_what_is_good_is_quiet() -> None:
    fine = FINE._replace(state="proven", found=(0, 0), ends=(1, 1))
    assert told(fine) == [
        "row 17 of 41,203 ✓ 118 of 412 tokens trained, end token included",
        "train.jsonl · TRL 1.16 · trains every answer tokenizer verified",
    ]
    assert told(fine._replace(found=None))[0].startswith("row 17 of 41,203 118 of"), "not checked yet: no ✓"
    assert told(fine._replace(ends=(0, 2)))[0].endswith("trained, end token not trained")
    assert told(fine._replace(ends=(1, 2)))[0].endswith("trained, end token of 1 of 2 answers")
    warned = told(fine._replace(found=(0, 1)))[0]
    assert warned.endswith("included 1 thing to look at (f)") and "✓" not in warned


def test_the_first_line_says_what_is_wrong_with_its_number() -> None:
    wrong = FINE._replace(state="provisional", found=(1, 1), verdict=("error", "no answer is trained"), trained=0)
    assert told(wrong)[0] == ("row 17 of 41,203 ✗ no answer is trained: 0 of 412 tokens trained ≈ provisional ! 2 (f)")
    assert "verified" not in told(wrong)[1]
    assert told(FINE._replace(stopped="the chat template failed"))[0].startswith(
        "row 17 of 41,203 ✗ the chat template failed"
    )


@pytest.mark.parametrize("width", range(44, 120))
def test_in_no_width_the_number_or_the_key_is_lost(width: int) -> None:
    busy = FINE._replace(state="proven", found=(1, 2), verdict=("warning", "no stop learned"), notes=3, mark="K keep")
    first, second = told(busy, width)
    assert (
        "(f)" in first
        and "17" in first
        and "no stop" in first
        and ("118/412" in first or "118 of 412" in first or width < 54)
    )
    assert "3 notes (i)" in second


async def test_text_and_lens_share_the_pane_and_z_gives_it_to_the_columns() -> None:
    async with running((80, 24)) as driven:
        pane = driven.main.panes.tokens
        assert pane.named() == "text" and pane.lens is not None and "├─ lens ─" in driven.text
        await driven.press("z")
        assert pane.named() == "columns" and pane.lens is None and "lens" not in driven.text
        await driven.press("Z")
        assert "├─ lens ─" in driven.text
        await driven.press("s")
        assert "sees " in driven.text and "learns" in driven.text
    async with running((60, 14)) as driven:
        assert "lens" not in driven.text and "⟦Paris" in driven.text, "no room for both"


async def test_the_lens_is_joined_to_the_frame_wherever_it_moves() -> None:
    async with running((80, 24)) as driven:
        for keys in ("c", "c", "L", "L", "]", "s"):
            text = await driven.press(keys)
            assert len([line for line in text.splitlines() if "─ lens ─" in line and "├─ lens" in line]) == 1, keys


async def test_a_setting_makes_another_zoom_the_first() -> None:
    assert read_settings("zoom: columns", "here").zoom == "columns"
    assert read_settings("zoom: colums", "here").problems
    async with running(settings=UserSettings(zoom="columns")) as driven:
        assert driven.main.panes.tokens.state.zoom is Zoom.COLUMNS


async def test_one_key_shows_all_white_space() -> None:
    async with running((80, 24)) as driven:
        assert "What is the" in driven.text
        assert "What␣is␣the" in await driven.press(".")
        assert "What is the" in await driven.press(".")


async def test_where_text_and_lens_leave_room_the_tokens_follow_in_words() -> None:
    async with running((200, 50)) as driven:
        assert "├─ in words ─" in driven.text and "sees …⏎ → learns Paris" in driven.text
    async with running((80, 24)) as driven:
        assert "in words" not in driven.text
