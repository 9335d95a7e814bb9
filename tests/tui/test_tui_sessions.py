"""What the inspector has, to take along: the command for a shell."""

from __future__ import annotations

import shlex

import pytest
from tui_driver import Driven, check_golden, running


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    taken: list[str] = []

    def copy(text: str, write: object, environment: object) -> str:
        taken.append(text)
        return "sent it"

    monkeypatch.setattr("sftui.tui.commands.sessions.copy_out", copy)
    return taken


def value(command: str, option: str) -> str:
    words = shlex.split(command)
    return words[words.index(option) + 1]


async def test_yc_copies_the_command_of_what_is_done_and_shows_it_whole(copied: list[str]) -> None:
    async with running() as driven:
        await driven.press("7", "g")
        listed = await driven.press("y", "c")
        check_golden("80x24-copy-command", listed)
        shown = await driven.press("enter")
        check_golden("80x24-copied-command", shown)
        assert copied == ["sftui show train.jsonl -t builtin:gemma --trainer hf-trainer --row 7"]
        await driven.press("escape")
        assert driven.said == "sent it" and not driven.main.state.kept.to_print


async def test_a_prints_the_command_when_sftui_quits(copied: list[str]) -> None:
    async with running() as driven:
        await driven.press("y", "c", "enter", "a")
        assert driven.main.state.kept.to_print == tuple(copied)


async def filtered(driven: Driven, text: str) -> None:
    await driven.press("&", *("space" if char == " " else char for char in text), "enter")


async def test_the_filter_and_the_repairs_are_in_it(copied: list[str]) -> None:
    async with running() as driven:
        driven.workspace.set_repairs(("trim",))
        await filtered(driven, "row > 30")
        await driven.press("y", "c", "enter", "escape")
        assert copied[-1].startswith("sftui repair ")
        assert value(copied[-1], "--apply") == "trim" and value(copied[-1], "--where") == "row > 30"


async def test_what_no_option_says_stands_under_the_command(copied: list[str]) -> None:
    async with running((100, 30)) as driven:
        await filtered(driven, "row > 30")
        await driven.press("f", "y", "c")
        shown = await driven.press("end", "enter")
        assert copied[-1].startswith("sftui train.jsonl ")
        assert "not in it: the filter row > 30" in shown and "not in it: the open view (findings)" in shown


async def test_rows_listed_for_a_finding_are_an_expression_and_an_order_is_none(copied: list[str]) -> None:
    async with running((100, 30)) as driven:
        driven.main.put(driven.main.state.audited._replace(listed="EOS012"))
        await driven.press("y", "c", "enter", "escape")
        assert value(copied[-1], "--where") == 'finding("EOS012")'
        driven.main.put(driven.main.state.audited._replace(listed="longest"))
        shown = await driven.press("y", "c", "enter")
        assert "--where" not in copied[-1] and "not in it: the order of the list (longest)" in shown
