"""Notes have their place: a number in the status line, a key that shows them all, and nothing over the tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rows_worker import RowsWorker
from tui_driver import running

from sftui.workspace import events as ev

SIZES = ((60, 20), (80, 24), (120, 36), (200, 50))
NOTES = (*(f"message {n} (human) does not appear in the rendered text" for n in range(30)), "Axolotl shuffles \x1b[31m")


class Noting(RowsWorker):
    """Rows that have a note of each message, and data that has one itself."""

    def altered(self, event: Any) -> Any:
        if isinstance(event, ev.RowReady) and event.inspection.row.index != 1:
            return replace(event, inspection=replace(event.inspection, notes=NOTES))
        return event


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_tokens_begin_at_the_top_and_the_badge_counts(size: tuple[int, int]) -> None:
    async with running(size, Noting()) as noted, running(size) as plain:
        assert "2 notes (i)" in noted.lines[1]
        assert noted.lines[2:] == plain.lines[2:], "notes take no line"
        assert "(i)" not in await noted.press("]")


async def test_one_key_shows_them_all() -> None:
    async with running(worker=Noting()) as driven:
        text = await driven.press("i")
        assert "message 0 (human) does not appear" in text and "(also 1, 2," in text
        assert "Axolotl shuffles ␛[31m" in text
        await driven.press("escape")
        assert driven.app.screen is driven.main


async def test_what_the_user_wrote_and_the_notes_of_the_data_are_among_them() -> None:
    async with running() as driven:
        driven.worker.emit_now(ev.SourceOpened("train.jsonl", "messages", ("2 files were joined",)))
        await driven.settle()
        await driven.press("r", "n", *"ask Ada", "enter")
        assert "2 notes (i)" in driven.lines[1]
        text = await driven.press("i")
        assert "your note" in text and "ask Ada" in text and "2 files were joined" in text


async def test_no_notes_no_badge() -> None:
    async with running() as driven:
        assert "(i)" not in driven.text
        assert "no notes" in await driven.press("i")
