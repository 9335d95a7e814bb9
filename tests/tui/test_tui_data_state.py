"""Data that is damaged, or changes on disk while it is open: the status line says so, `]` and searches tell the truth,
`D` reads it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from rows_worker import RowsWorker, chats, write_chats
from tui_driver import running

from sftui.model import Problem
from sftui.tui.commands import search
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

BROKEN = "t.jsonl.gz cannot be read whole, because it ends before its time; 41 rows of it are read; copy it again"
CHANGED = Problem(
    "train.jsonl changed on disk: D reloads it",
    fix="another file has replaced it, and the rows are shown as they were",
)


async def test_damage_is_told_and_stays_in_sight() -> None:
    for size in ((60, 20), (140, 45)):
        async with running(size) as driven:
            driven.worker.emit(ev.CountChanged(41, True, 1.0, BROKEN))
            await driven.settle()
            assert driven.said.strip().startswith(BROKEN[:50]) and "≥" not in driven.lines[0]
            assert ("✗ damaged" if size[0] > 60 else "✗") in driven.lines[0]
            await driven.press("G", "]")
            assert "row 40 is the last readable row: t.jsonl.gz" in driven.said and "indexed" not in driven.said


async def test_a_changed_file_is_told_until_it_is_read_again(own_data: Path) -> None:
    async with running((140, 45)) as driven:
        write_chats(own_data / "new.jsonl", chats(7))
        (own_data / "new.jsonl").replace("train.jsonl")
        driven.worker.look()
        await driven.settle()
        assert driven.said.strip() == CHANGED.sentence() and "✗ changed on disk" in driven.lines[0]
        driven.worker.hold = True
        await driven.press("D")
        assert driven.worker.asked(rq.SetRecipe)[-1].opened == 1 and driven.said == "reloading the data"
        driven.worker.release()
        await driven.settle()
        assert driven.said == "reloaded: the data matches the files on disk" and "row 0 of 7" in driven.lines[0]
        assert "✗" not in driven.lines[0]


async def test_a_shorter_file_shows_its_last_row() -> None:
    async with running() as driven:
        await driven.press("G")
        driven.worker.emit(ev.CountChanged(5, True, 1.0))
        await driven.settle()
        assert driven.main.state.status.row == 4


async def test_a_search_says_what_it_could_not_read() -> None:
    async with running((140, 45)) as driven:
        driven.worker.lost = (rq.SearchRequest,)
        await driven.press("/", *"nowhere", "enter")
        ticket = driven.main.state.searching.ticket or 0
        search.on_found(driven.main, ev.SearchFound(ticket, None, None, searched=41, finished=True, unread=3))
        await driven.settle()
        assert "no row has text nowhere in the readable rows; 3 rows could not be read" in driven.said
        driven.worker.emit(ev.CountChanged(41, True, 1.0, BROKEN))
        await driven.press("n")
        for _ in range(2):  # to the end, and round to where it began
            search.on_found(
                driven.main,
                ev.SearchFound(driven.main.state.searching.ticket or 0, None, None, searched=41, finished=True),
            )
        await driven.settle()
        assert "no row has text nowhere in the readable rows" in driven.said


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 36)])
async def test_what_comes_from_the_hub_is_told_where_the_row_will_be(size: tuple[int, int]) -> None:
    worker = RowsWorker()
    worker.hold = True  # as while a dataset of the Hub is on its way
    async with running(size, worker) as driven:
        assert "opening …" in driven.text
        told = "loading dataset org/set … 7 s, 4.5 MB downloaded"
        worker.emit_now(ev.DataLoading(told))
        await driven.settle()
        assert told in " ".join(driven.text.replace("│", " ").split()) and "opening …" not in driven.text
        driven.app.main.panes.tokens.wait(0)  # as after a key that asks for a row
        worker.emit_now(ev.DataLoading(told.replace("7 s", "8 s\x1b[31m")))
        await driven.settle()
        assert "… 8 s␛[31m" in " ".join(driven.text.replace("│", " ").split())
        worker.release()
        await driven.settle()
        assert "loading" not in driven.text and "pos" in driven.text


async def test_a_dataset_that_is_read_anew_comes_beside_the_rows() -> None:
    async with running((120, 36)) as driven:
        driven.worker.emit(ev.DataLoading("loading dataset org/set … 7 s, 4.5 MB downloaded"))
        await driven.settle()
        assert driven.said.strip() == "loading dataset org/set … 7 s, 4.5 MB downloaded" and "pos" in driven.text
