"""The marked finding stays the marked one: by what it is, not by where it stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rows_worker import RowsWorker, chats, write_chats
from tui_driver import SIZES, Driven, running

from sftui.findings import Finding, Severity
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.workspace import OpenOptions
from sftui.workspace import events as ev


class Several(RowsWorker):
    """The findings of the set-up may come later."""

    late = False

    def altered(self, event: Any) -> Any:
        return replace(event, setup=None) if self.late and isinstance(event, ev.FindingsReady) else event


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> OpenOptions:
    """Row 1 has three findings, the second of which a repair trims away; a length of 40 adds another before them."""
    rows = chats(3)
    rows[1] = (rows[1][0], f" {rows[1][1]}")
    return OpenOptions((write_chats(tmp_path_factory.mktemp("several") / "train.jsonl", rows),))


def several(driven: Driven) -> Several:
    assert isinstance(driven.worker, Several)
    return driven.worker


def marked(driven: Driven) -> str | None:
    finding = driven.main.panes.findings.finding
    return finding.code if finding is not None else None


@pytest.mark.one_of(3)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_mark_stays_through_previews_pages_and_changes(options: OpenOptions, size: tuple[int, int]) -> None:
    async with running(size, Several(), options=options) as driven:
        await driven.press("]", "f", "j")
        assert marked(driven) == "CON004"
        for keys in (
            ("d", "escape"),
            ("d", "enter", "escape"),
            ("W", "escape"),
            ("escape", "f"),
            ("T", "escape"),
            ("C", "escape"),
        ):
            await driven.press(*keys)
            assert marked(driven) == "CON004" and driven.main.state.open.context == "findings", keys
        driven.workspace.change("length.max", 40)
        await driven.settle()
        assert marked(driven) == "CON004" and len(driven.main.panes.findings.findings) == 7, "there are others now"
        await driven.press("u")
        assert marked(driven) == "CON004"
        await driven.press("a")
        await driven.press("enter")
        assert driven.workspace.repairs and driven.workspace.repairs[0] == "trim"


async def test_nothing_is_marked_while_the_answer_is_on_its_way(options: OpenOptions) -> None:
    async with running((80, 24), Several(), options=options) as driven:
        await driven.press("]", "f", "j", "escape")
        driven.worker.hold = True
        await driven.press("f", "a")
        assert marked(driven) is None and "still checking" in driven.said and not driven.workspace.repairs
        driven.worker.release()
        await driven.settle()
        assert marked(driven) == "CON004"


async def test_a_finding_of_the_set_up_is_waited_for(options: OpenOptions) -> None:
    async with running((80, 24), Several(), options=options) as driven:
        await driven.press("]", "f", "end")
        assert marked(driven) == "EOS008"
        several(driven).late = True
        await driven.press("escape", "f", "a")
        assert marked(driven) is None and not driven.workspace.repairs
        several(driven).late = False
        driven.workspace.change("mask.rule", "all")
        await driven.settle()
        assert marked(driven) == "EOS008"


async def test_one_that_is_gone_gives_way_to_its_neighbour_and_comes_back(options: OpenOptions) -> None:
    async with running((80, 24), Several(), options=options) as driven:
        await driven.press("]", "f", "j")
        driven.workspace.set_repairs(("trim",))
        await driven.settle()
        assert marked(driven) == "CON008"
        await driven.press("u")
        assert marked(driven) == "CON004"
        driven.workspace.set_repairs(("trim",))
        await driven.press("k")
        assert marked(driven) == "EOS012"
        await driven.press("u")
        assert marked(driven) == "EOS012", "it was chosen since"


async def test_another_row_begins_at_its_first(options: OpenOptions) -> None:
    async with running((80, 24), Several(), options=options) as driven:
        await driven.press("f", "j", "j", "]")
        assert marked(driven) == "EOS012"


async def test_the_mark_goes_with_tokens_that_moved() -> None:
    class Moving(RowsWorker):
        def altered(self, event: Any) -> Any:
            if not isinstance(event, ev.FindingsReady):
                return event
            at = 3 if driven.workspace.recipe.mask.rule == "all" else 0
            found = [
                Finding("INJ001", Severity.ERROR, f"a marker at {at + i}", event.index, 0, (at + i, at + i + 1))
                for i in range(3)
            ]
            return replace(event, findings=tuple(found))

    async with running((80, 24), Moving(), recipe=changed(preset(), "mask.rule", "all")) as driven:
        await driven.press("f", "j")
        driven.workspace.change("mask.rule", "completion")
        await driven.settle()
        assert driven.main.panes.findings.marked == 1 and driven.finding.tokens == (1, 2), (
            "the second of its kind, in the same message"
        )
