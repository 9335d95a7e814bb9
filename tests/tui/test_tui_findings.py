"""Findings and comparisons in the inspector: to their tokens, why, the fix before and after, undo."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rows_worker import RowsWorker, usual
from tui_driver import SIZES, check_golden, running

from sftui.findings import Fix, Severity
from sftui.model import RecipeChange
from sftui.recipe import changed
from sftui.trainers import preset, traits_of
from sftui.tui.commands import compare, figures
from sftui.workspace import events as ev
from sftui.workspace import requests as rq

ALL = usual(changed(preset(), "mask.rule", "all"))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_findings_screens(size: tuple[int, int]) -> None:
    async with running(size, recipe=ALL) as driven:
        for name, keys in (
            ("findings", ("]", "f")),
            ("finding-fix", ("j", "j")),
            ("finding-why", ("W",)),
            ("fix-preview", ("escape", "d")),
        ):
            text = await driven.press(*keys)
            assert all(len(line) <= size[0] for line in text.splitlines())
            check_golden(f"{size[0]}x{size[1]}-{name}", text)


async def test_a_finding_leads_to_its_tokens() -> None:
    async with running((80, 24), recipe=ALL) as driven:
        await driven.press("]", "f", "enter")
        tokens = driven.main.panes.tokens
        assert (
            driven.main.state.open.context == "tokens"
            and tokens.state.cursor == 59
            and tokens.state.hits == (59, 60, 61, 62, 63, 64, 65)
        )
        await driven.press("f")
        assert driven.main.state.open.context == "findings" and driven.finding.code == "EOS012"


async def test_a_finding_of_the_set_up_leads_to_a_row_that_shows_it() -> None:
    async with running((80, 24), recipe=ALL) as driven:
        await driven.press("5", "G", "f", "end", "enter")
        assert driven.main.state.status.row == 0 and "EOS008" in driven.said


async def test_the_fix_is_applied_and_taken_back() -> None:
    async with running((140, 45), recipe=ALL) as driven:
        before = driven.trained
        text = await driven.press("f", "a")
        assert driven.workspace.recipe.mask.rule == "assistant" and "u undoes it" in driven.said
        assert "LAB002" not in text and driven.trained < before
        assert "LAB002" in await driven.press("u")
        assert driven.workspace.recipe == ALL and driven.main.state.status.trained == before


async def test_n_goes_to_the_next_row_with_findings() -> None:
    async with running((80, 24)) as driven:
        text = await driven.press("f", ">")
        assert driven.main.state.status.row == 1 and "EOS012" in text and driven.main.state.open.context == "findings"
        await driven.press(">")
        assert driven.main.state.status.row == 2
        await driven.press("<")
        assert driven.main.state.status.row == 1
        await driven.press("escape", ">")
        assert driven.main.state.status.row == 2, "n goes on with it in the tokens too"


async def test_findings_follow_the_row_and_old_ones_are_not_shown() -> None:
    async with running((140, 45)) as driven:
        assert "EOS012" not in await driven.press("f")
        driven.worker.hold = True
        await driven.press("]", "]")
        driven.worker.release()
        await driven.settle()
        assert "row 2" in driven.text and "EOS012" not in driven.text


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_compare_screens(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        check_golden(f"{size[0]}x{size[1]}-compare-pick", await driven.press("C"))
        driven.main.put(driven.main.state.compared._replace(other=ALL, name="everything"))
        text = await driven.press("escape", "C")
        assert all(len(line) <= size[0] for line in text.splitlines())
        check_golden(f"{size[0]}x{size[1]}-compare", text)
        assert len(driven.main.panes.document.lines) > 12
        await driven.press("-")
        assert driven.said == "only bands that differ"


async def test_a_preset_is_picked_and_compared() -> None:
    async with running((140, 45)) as driven:
        await driven.press("C", "j", "j", "enter")
        compared = driven.main.state.compared
        assert compared.other is not None and compared.other.preset == compared.name != driven.workspace.recipe.preset
        assert "rows differ" in driven.text or "nothing differs" in driven.text or "differ" in driven.text


async def test_a_and_b_in_turn_keep_the_cursor() -> None:
    async with running((80, 24)) as driven:
        compare.start(driven.main, ALL, "everything")
        await driven.press("escape", "h", "h")
        cursor, trained = driven.main.panes.tokens.state.cursor, driven.trained
        await driven.press("v")
        assert driven.main.panes.tokens.state.cursor == cursor and driven.trained > trained
        assert driven.main.state.status.side == "B"
        await driven.press("v")
        assert driven.main.state.status.trained == trained and not driven.main.state.status.side


async def test_the_second_recipe_is_taken_and_undone() -> None:
    async with running((80, 24)) as driven:
        first = driven.workspace.recipe
        compare.start(driven.main, ALL, "everything")
        await driven.press("a")
        assert driven.workspace.recipe == ALL
        await driven.press("u")
        assert driven.workspace.recipe == first


async def test_bands_are_hidden_only_where_they_are_seen() -> None:
    async with running((80, 24)) as driven:
        await driven.press("-")
        assert driven.said == "no comparison; press C to start one" and not driven.main.state.compared.differing


async def test_closing_the_comparison_stops_the_count() -> None:
    async with running((80, 24)) as driven:
        compare.start(driven.main, ALL, "everything")
        await driven.press("escape")
        assert isinstance(driven.worker.sent[-1], rq.Cancel) and driven.main.state.open.view is None


async def test_closing_a_fixs_preview_goes_back_to_its_finding() -> None:
    async with running((80, 24), recipe=ALL) as driven:
        await driven.press("]", "f", "j", "j", "d")
        assert driven.main.state.open.view == "compare"
        await driven.press("escape")
        assert driven.main.state.open.context == "findings" and driven.finding.code == "LAB002"
        await driven.press("escape")
        assert driven.main.state.open.view is None


class Untagged(RowsWorker):
    """GEN001 has no other fix than the tags, and `changes` of the recipe with them."""

    changes: tuple[RecipeChange, ...] = ()

    def altered(self, event: Any) -> Any:
        if not isinstance(event, ev.FindingsReady) or event.setup is None:
            return event
        fix = Fix("add generation tags", self.changes, template="generation_tags")
        return replace(
            event, setup=tuple(replace(one, fix=fix if one.code == "GEN001" else one.fix) for one in event.setup)
        )


async def test_a_template_gets_its_tags_is_shown_written_and_used(tmp_path: Path) -> None:
    async with running((80, 24), Untagged(), recipe=changed(preset(), "mask.rule", "generation_tag")) as driven:
        text = await driven.press("f", "a")
        assert "in 71 conversations" in text and "{% generation %}{{" in text and "a writes it" in text
        await driven.press("escape")
        assert driven.said == "nothing was written" and "d diff" in await driven.press("j", "k")
        assert "{% generation %}{{" in await driven.press("d"), "the difference of a template is what it changes"
        await driven.press("escape")
        assert driven.said == "nothing was written"
        target = tmp_path / "tagged.jinja"
        await driven.press("a", "a", "ctrl+u", "ctrl+k", *str(target), "enter")
        assert "{% generation %}{{ message.content | trim + '<end_of_turn>' }}{% endgeneration %}" in target.read_text()
        assert driven.workspace.recipe.render.template == f"file:{target}" and "GEN001" not in driven.text
        await driven.press("u")
        assert driven.workspace.recipe.render.template == "tokenizer"
        await driven.press("a", "a", "ctrl+u", "ctrl+k", *str(target), "enter")
        assert "already exists" in driven.said


async def test_a_fix_of_tags_and_a_knob_is_previewed_by_the_difference_of_its_template() -> None:
    worker = Untagged()
    worker.changes = (RecipeChange("mask.trailing", "train", "mask"),)
    async with running((80, 24), worker, recipe=changed(preset(), "mask.rule", "generation_tag")) as driven:
        text = await driven.press("f", "d")
        assert "with it mask.trailing → mask" in text and "{% generation %}{{" in text


async def test_a_finding_is_waived_with_a_reason_and_taken_back() -> None:
    async with running((80, 24), recipe=ALL) as driven:
        await driven.press("]", "]", "f", "I", *"on purpose", "enter")
        assert (
            "ignored: on purpose" in driven.said and "CON008" not in driven.lines[4] and "1 waived" in driven.lines[3]
        )
        assert dict(driven.workspace.recipe.waivers[0]) == {"code": "CON008", "reason": "on purpose", "rows": 2}
        text = await driven.press("u")
        assert "CON008" in text and "1 waived" not in text and not driven.workspace.recipe.waivers
        assert driven.said == "undo: waivers 1 → 0"
        await driven.press("I", "enter")
        assert not driven.workspace.recipe.waivers and driven.said == "CON008 is not ignored: a reason is required"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_side_that_is_shown_is_always_said(size: tuple[int, int]) -> None:
    async with running(size, recipe=ALL) as driven:
        driven.workspace.set_repairs(("strip-tokens",))
        await driven.press("A", "escape")
        figures.order(driven.main, "longest")
        await driven.settle()
        assert driven.main.state.status.order == "longest"
        await driven.press("r", "f", "f", "d")
        assert not driven.lines[0].startswith(" B ")
        own = [line for line in driven.lines[1:] if line.startswith(("▸", "│▸"))]
        text = await driven.press("v")
        check_golden(f"{size[0]}x{size[1]}-side-b", text)
        assert driven.lines[0].startswith(" B  ") and "LAB002's fix" in driven.said
        assert (
            [line for line in driven.lines[1:] if line.startswith(("B", "│B"))]
            and own
            and not any(line.startswith(("▸", "│▸")) for line in driven.lines[1:])
        )
        await driven.press("escape")
        assert not driven.lines[0].startswith(" B") and not any(
            line.startswith(("B", "│B")) for line in driven.lines[1:]
        )
        assert driven.main.state.open.view == "findings", "where the preview came from"


async def test_a_cancelled_preview_is_gone() -> None:
    async with running((80, 24), recipe=ALL) as driven:
        recipe = driven.workspace.recipe
        await driven.press("f", "d", "escape")
        assert driven.main.state.open.view == "findings" and driven.main.state.compared.other is None
        await driven.press("escape", "v")
        assert not driven.main.state.status.side and driven.said.startswith("nothing to compare with")
        await driven.press("a")
        assert driven.workspace.recipe == recipe and driven.said.startswith("nothing to apply here")


async def test_after_a_preview_the_comparison_before_it_is_there_again() -> None:
    async with running((80, 24), recipe=ALL) as driven:
        compare.start(driven.main, ALL, "everything")
        await driven.press("escape", "f", "d")
        assert "LAB002" in driven.main.state.compared.name
        await driven.press("o")
        assert driven.main.state.compared.name == "everything", "another view takes its place: it is cancelled"
        await driven.press("escape", "v")
        assert driven.main.state.status.side == "B" and "everything" in driven.said


async def test_a_second_recipe_that_is_not_on_screen_is_not_applied() -> None:
    async with running((80, 24)) as driven:
        compare.start(driven.main, ALL, "everything")
        recipe = driven.workspace.recipe
        await driven.press("escape", "a")
        assert driven.workspace.recipe == recipe and driven.said.startswith("nothing to apply here")
        await driven.press("v", "a")
        assert driven.workspace.recipe == ALL


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_only_keys_that_work_for_the_finding_are_offered(size: tuple[int, int]) -> None:
    async with running(size, recipe=ALL) as driven:
        text = await driven.press("]", "f", "j", "j")
        detail, foot = text.splitlines()[-2:]
        assert detail == " a applies mask.rule → assistant" and "d diff" in foot and "a apply" in foot
        text = await driven.press("k")
        assert text.splitlines()[-2] == " a applies drop CON008"
        text = await driven.press("end")
        detail, foot = text.splitlines()[-2:]
        assert (
            detail == " a applies mask.trailing → mask" and "d diff" in foot and "a apply" in foot and "W why" in foot
        )


async def test_before_the_findings_are_here_keys_say_that_they_are_on_their_way() -> None:
    async with running((80, 24), recipe=ALL) as driven:
        driven.worker.hold = True
        await driven.press("f", "d")
        assert driven.said == "still checking; try again in a moment"
        driven.worker.release()
        await driven.settle()
        await driven.press("j", "W", "escape")
        assert driven.main.panes.findings.finding is not None


async def test_no_cure_is_offered_before_it_was_tried() -> None:
    class Trying(RowsWorker):
        def altered(self, event: Any) -> Any:
            if not isinstance(event, ev.FindingsReady):
                return event
            self.ready = event
            return replace(event, tried=False)

    trying = Trying()
    async with running((140, 45), trying) as driven:
        await driven.press("]", "f")
        await driven.press("a")
        assert driven.workspace.repairs == () and driven.said.startswith("still trying fixes")
        found = tuple(
            replace(one, fix=None, repairs=(), declined=("trim does not help: it stays",))
            for one in trying.ready.findings
        )
        driven.worker.emit_now(replace(trying.ready, findings=found))
        await driven.settle()
        assert "trim does not help: it stays" in driven.text
        assert "a apply" not in driven.lines[-1] and "d diff" not in driven.lines[-1] and "W why" in driven.lines[-1]
        await driven.press("a")
        assert driven.workspace.repairs == () and "no recipe knob fixes" in driven.said
        await driven.press("d")
        assert driven.main.state.open.view == "findings"


async def test_a_row_is_not_said_to_be_sound_beside_an_error_of_the_set_up() -> None:
    class Stopped(RowsWorker):
        def altered(self, event: Any) -> Any:
            if not isinstance(event, ev.FindingsReady):
                return event
            setup = tuple(replace(one, severity=Severity.ERROR) for one in event.setup or ())
            return replace(event, findings=(), setup=setup)

    async with running((140, 45), Stopped(), recipe=ALL) as driven:
        text = await driven.press("f")
        assert "row 0  nothing in this row" in text and "nothing found" not in text


@pytest.mark.parametrize(
    ("trainer", "words"),
    [
        ("trl@1.16", "TRL"),
        ("verl@0.9", "sft_trainer"),
        ("hf-trainer", "Trainers by version"),
        ("unsloth", "train_on_responses_only"),
    ],
)
async def test_what_explains_a_finding_leads_to_the_page_on_the_trainer(trainer: str, words: str) -> None:
    recipe = preset(trainer)
    async with running((120, 36), recipe=recipe) as driven:
        title = traits_of(recipe.trainer).title
        explained = await driven.press("]", "f", "W")
        assert f"Enter reads about {title}" in explained
        page = await driven.press("enter")
        assert f"help: {title}" in page and words in page and "Esc goes back" in page
        assert await driven.press("escape") == explained
        await driven.press("escape")
        assert driven.app.screen is driven.main
