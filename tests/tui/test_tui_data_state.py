"""Data that is damaged, or changes on disk while it is open: the status line says so, `]` and searches tell the truth,
`D` reads it again."""

from __future__ import annotations

from tui_driver import running

from sftui.model import Problem
from sftui.workspace import events as ev

BROKEN = "t.jsonl.gz cannot be read whole, because it ends before its time; 41 rows of it are read; copy it again"
CHANGED = Problem(
    "t.jsonl changed on disk: D reads it again",
    fix="another file has taken its place, and the rows are shown as they were",
)


async def test_damage_is_told_and_stays_in_sight() -> None:
    for size in ((60, 20), (140, 45)):
        async with running(size) as driven:
            driven.workspace.send(ev.CountChanged(41, True, 1.0, BROKEN))
            await driven.settle()
            assert driven.said.strip().startswith(BROKEN[:50]) and "≥" not in driven.lines[0]
            assert ("✗ damaged" if size[0] > 60 else "✗") in driven.lines[0]
            await driven.press("G", "]")
            assert "row 40 is the last row that can be read: t.jsonl.gz" in driven.said and "indexed" not in driven.said


async def test_a_changed_file_is_told_until_it_is_read_again() -> None:
    async with running((140, 45)) as driven:
        driven.workspace.send(ev.SourceChanged(CHANGED))
        await driven.settle()
        assert driven.said.strip() == CHANGED.sentence() and "✗ changed on disk" in driven.lines[0]
        await driven.press("D")
        assert driven.workspace.reopened == 1
        driven.workspace.send(ev.SourceChanged(None))
        driven.workspace.send(ev.CountChanged(41, True, 1.0))
        await driven.settle()
        assert "✗" not in driven.lines[0]


async def test_a_shorter_file_shows_its_last_row() -> None:
    async with running() as driven:
        await driven.press("G")
        driven.workspace.send(ev.CountChanged(5, True, 1.0))
        await driven.settle()
        assert driven.main.status.row == 4


async def test_a_search_says_what_it_could_not_read() -> None:
    async with running((140, 45)) as driven:
        driven.workspace.request_search = lambda query, start, forward=True: 77  # type: ignore[method-assign]
        driven.workspace.ticket(ev.SearchFound)
        await driven.press("/", *"nowhere", "enter")
        driven.main.search_commands.on_found(ev.SearchFound(77, None, searched=41, finished=True, unread=3))
        await driven.settle()
        assert "no row has text nowhere in what can be read; 3 rows could not be" in driven.said
        driven.workspace.send(ev.CountChanged(41, True, 1.0, BROKEN))
        await driven.press("n")
        for _ in range(2):  # to the end, and round to where it began
            driven.main.search_commands.on_found(ev.SearchFound(77, None, searched=41, finished=True))
        await driven.settle()
        assert "no row has text nowhere in the rows that can be read" in driven.said
