"""The marked finding stays the marked one: by what it is, not by where it stands."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tui_driver import SIZES, Driven
from words_worker import WordsWorker, running

from sftui.findings import Finding, Severity
from sftui.recipe import changed
from sftui.trainers import preset
from sftui.workspace import events as ev


class Several(WordsWorker):
    """Row 1 has three findings; the set-up has one, which comes later; a recipe with `all` adds one before them."""

    late = False

    def findings(self, index: int) -> tuple[Finding, ...]:
        made = [
            Finding("CON003", Severity.WARNING, "message 1 is empty", index, 1),
            Finding("LAB006", Severity.INFO, "few tokens are trained", index),
            Finding("CON004", Severity.WARNING, "message 1 begins with white space", index, 1),
        ]
        if self.recipe.mask.rule == "all":
            made.insert(0, Finding("CON008", Severity.ERROR, "a control character", index, 0, (1, 2)))
        return tuple(one for one in made if f"drop {one.code}" not in self.repairs)

    def findings_event(self) -> ev.FindingsReady:
        ready = super().findings_event()
        return replace(ready, setup=None, waived=0) if self.late else ready


def several(driven: Driven) -> Several:
    assert isinstance(driven.worker, Several)
    return driven.worker


def marked(driven: Driven) -> str | None:
    finding = driven.main.panes.findings.finding
    return finding.code if finding is not None else None


@pytest.mark.one_of(3)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_mark_stays_through_previews_pages_and_changes(size: tuple[int, int]) -> None:
    async with running(size, Several()) as driven:
        await driven.press("]", "f", "j", "j")
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
        driven.workspace.change("mask.rule", "all")
        await driven.settle()
        assert marked(driven) == "CON004" and len(driven.main.panes.findings.findings) == 5, "one more stands before it"
        await driven.press("u")
        assert marked(driven) == "CON004"
        await driven.press("a")
        await driven.press("enter")
        assert driven.workspace.repairs and "CON003" not in driven.workspace.repairs[0]


async def test_nothing_is_marked_while_the_answer_is_on_its_way() -> None:
    async with running((80, 24), Several()) as driven:
        await driven.press("]", "f", "j", "j", "escape")
        driven.worker.hold = True
        await driven.press("f", "a")
        assert marked(driven) is None and "still checking" in driven.said and not driven.workspace.repairs
        driven.worker.release()
        await driven.settle()
        assert marked(driven) == "CON004"


async def test_a_finding_of_the_set_up_is_waited_for() -> None:
    async with running((80, 24), Several()) as driven:
        await driven.press("]", "f", "end")
        assert marked(driven) == "EOS008"
        several(driven).late = True
        await driven.press("escape", "f", "a")
        assert marked(driven) is None and not driven.workspace.repairs
        several(driven).late = False
        driven.workspace.change("mask.rule", "all")
        await driven.settle()
        assert marked(driven) == "EOS008"


async def test_one_that_is_gone_gives_way_to_its_neighbour_and_comes_back() -> None:
    async with running((80, 24), Several()) as driven:
        await driven.press("]", "f", "j", "j")
        driven.workspace.set_repairs(("drop CON004",))
        await driven.settle()
        assert marked(driven) == "EOS008"
        await driven.press("u")
        assert marked(driven) == "CON004"
        driven.workspace.set_repairs(("drop CON004",))
        await driven.press("k")
        assert marked(driven) == "LAB006"
        await driven.press("u")
        assert marked(driven) == "LAB006", "it was chosen since"


async def test_another_row_begins_at_its_first() -> None:
    async with running((80, 24), Several()) as driven:
        await driven.press("f", "j", "j", "]")
        assert marked(driven) == "CON003"


async def test_the_mark_goes_with_tokens_that_moved() -> None:
    class Moving(WordsWorker):
        def findings(self, index: int) -> tuple[Finding, ...]:
            at = 3 if self.recipe.mask.rule == "all" else 0
            return tuple(
                Finding("INJ001", Severity.ERROR, f"a marker at {at + i}", index, 0, (at + i, at + i + 1))
                for i in range(3)
            )

    async with running((80, 24), Moving(), recipe=changed(preset(), "mask.rule", "all")) as driven:
        await driven.press("f", "j")
        driven.workspace.change("mask.rule", "completion")
        await driven.settle()
        assert driven.main.panes.findings.marked == 1 and driven.finding.tokens == (1, 2), (
            "the second of its kind, in the same message"
        )
