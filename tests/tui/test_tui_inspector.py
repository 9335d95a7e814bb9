"""Every key of the inspector, at 60×20, 80×24 and 140×45, as text goldens and as behaviour."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rows_worker import RowsWorker, chats, over, usual, write_chats
from tui_driver import SIZES, Driven, check_golden, running

from sftui.model import Problem, Stage
from sftui.recipe import changed
from sftui.runs import flat
from sftui.settings import UserSettings
from sftui.trainers import preset
from sftui.tui.app import SftuiApp
from sftui.tui.commands import compare
from sftui.tui.commands.command import nothing
from sftui.tui.commands.table import COMMANDS
from sftui.tui.panes.row_list import RowList
from sftui.tui.panes.token_pane import TokenPane
from sftui.views.cells import plain
from sftui.views.layout import LABEL_WIDTH
from sftui.workspace import OpenOptions
from sftui.workspace import events as ev
from sftui.workspace import requests as rq
from sftui.workspace.summaries import TOO_HEAVY

STEPS = (
    ("opened", ()),
    ("next-token", ("l",)),
    ("line-down", ("j",)),
    ("zoom-rows", ("z",)),
    ("shift-rows", ("s",)),
    ("zoom-text", ("z",)),
    ("shift-columns", ("z",)),
    ("unshifted", ("s",)),
    ("next-row", ("]",)),
    ("list", ("tab", "tab")),
    ("conversation", ("escape", "o")),
    ("rendered", ("o",)),
    ("raw", ("o",)),
    ("boundary", ("O", "e")),
    ("batch", ("3", "B")),
    ("recipe", ("escape", "c", "j", "j")),
    ("help", ("escape", "?")),
)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_screens(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        for name, keys in STEPS:
            text = await driven.press(*keys)
            assert all(len(line) <= size[0] for line in text.splitlines())
            check_golden(f"{size[0]}x{size[1]}-{name}", text)


@pytest.mark.parametrize("theme", ["dark", "light", "ansi", "mono"])
async def test_themes_show_the_same_text(theme: str) -> None:
    async with running(theme=theme) as driven:
        check_golden("80x24-opened", driven.text)


async def test_the_palette_goes_through_the_themes() -> None:
    async with running() as driven:
        names = []
        for _ in range(5):
            await driven.press(":", *"theme", "enter")
            names.append(driven.main.look.name)
        assert names == ["light", "contrast", "ansi", "mono", "dark"]


def test_every_command_does_something() -> None:
    idle = {c.id for c in COMMANDS if c.run is nothing}
    assert idle == {c.id for c in COMMANDS if c.id.startswith("dialog.")}, "a dialog obeys its keys itself"


@pytest.mark.one_of(4)
@pytest.mark.parametrize(
    ("prepare", "size"), [((), (80, 24)), (("tab",), (60, 20)), (("o",), (140, 45)), (("c",), (80, 24))]
)
async def test_no_key_breaks_anything(prepare: tuple[str, ...], size: tuple[int, int]) -> None:
    """Every key of a pane, one after the other, with Esc in between."""
    skipped = {"quit", "interrupt", "suspend", "edit.row", "edit.text", "edit.template"}
    async with running(size) as driven:
        await driven.press(*prepare)
        await driven.every_key(driven.main.state.open.context, skipped)


async def test_rows_and_counts() -> None:
    async with running() as driven:
        await driven.press("]")
        assert driven.main.state.status.row == 1
        await driven.press("5", "]")
        assert driven.main.state.status.row == 6
        await driven.press("2", "[")
        assert driven.main.state.status.row == 4
        await driven.press("1", "2", "G")
        assert driven.main.state.status.row == 12
        await driven.press("G")
        assert driven.main.state.status.row == 40
        await driven.press("]")
        assert driven.main.state.status.row == 40 and "last row" in driven.said
        await driven.press("g", "g")
        assert driven.main.state.status.row == 0
        await driven.press("g", *"17", "enter")
        assert driven.main.state.status.row == 17
        await driven.press("g", *"+3", "enter")
        assert driven.main.state.status.row == 20
        await driven.press("7", "g")
        assert driven.main.state.status.row == 7


async def test_the_prompt_refuses_what_is_no_row_and_keeps_what_was_typed() -> None:
    async with running() as driven:
        text = await driven.press("g", *"4x", "enter")
        assert "4x is not a row number" in text and driven.main.prompt.open
        await driven.press("backspace", "enter")
        assert driven.main.state.status.row == 4 and not driven.main.prompt.open
        for typed in ("++5", "5-5", "9" * 30):
            text = await driven.press("g", *typed, "enter")
            assert f"{typed[:20]} is not a row number" in text
            await driven.press("escape")
        await driven.press("g", "escape")
        assert not driven.main.prompt.open


async def test_mask_changes_and_messages() -> None:
    async with running(recipe=changed(preset(), "mask.trailing", "mask")) as driven:
        table = driven.main.panes.tokens.table
        assert table is not None
        start = table.loss.index("█")
        assert driven.main.panes.tokens.state.cursor == start
        await driven.press("}")
        assert driven.main.panes.tokens.state.cursor == table.loss.rindex("█") + 1
        await driven.press("{")
        assert driven.main.panes.tokens.state.cursor == start
        await driven.press("home", "{")
        assert driven.main.panes.tokens.state.cursor == 0 and "does not change before" in driven.said
        await driven.press(")")
        assert driven.main.panes.tokens.state.cursor > 0


async def test_search_goes_across_rows_and_back() -> None:
    async with running() as driven:
        await driven.press("/", *"story", "enter")
        assert driven.main.state.status.row == 3
        assert driven.main.panes.tokens.state.cursor in driven.main.panes.tokens.state.hits
        await driven.press("n")
        assert driven.main.state.status.row == 8
        await driven.press("N")
        assert driven.main.state.status.row == 3
        await driven.press("N")
        assert driven.main.state.status.row == 38, "it wraps at the start"
        await driven.press("/", *"nowhere at all", "enter")
        assert "no row has text nowhere at all" in driven.said


@pytest.mark.parametrize(("typed", "word"), [("re:(", "pattern"), ("id:x", "not a token id"), ("re:(a+b)+", "repeats")])
async def test_a_query_that_cannot_be_searched_is_refused(typed: str, word: str) -> None:
    async with running() as driven:
        text = await driven.press("/", *typed, "enter")
        assert word in text and driven.main.prompt.open
        assert not driven.worker.asked(rq.SearchRequest)


async def test_queries_by_prefix() -> None:
    async with running() as driven:
        for typed, kind in (("token:Paris", "token"), ("id:611", "id"), ("re:P.ris", "regex"), ("Paris", "text")):
            await driven.press("/", *typed, "enter")
            assert driven.worker.asked(rq.SearchRequest)[-1].query.kind == kind


async def test_esc_and_ctrl_c_cancel_a_running_search() -> None:
    worker = RowsWorker()
    async with running(worker=worker) as driven:
        worker.hold = True
        await driven.press("/", *"word", "enter")
        assert "searching" in driven.said
        await driven.press("escape")
        assert "cancelled" in driven.said and isinstance(worker.sent[-1], rq.Cancel)
        await driven.press("/", *"word", "enter")
        await driven.press("ctrl+c")
        assert "cancelled" in driven.said and driven.app.is_running


async def test_the_recipe_is_edited_live_with_undo() -> None:
    async with running() as driven:
        before = driven.main.state.status.trained
        await driven.press("c")
        pane = driven.main.panes.recipe
        while pane.knob.path != "mask.rule":
            await driven.press("j")
        await driven.press("h")
        assert driven.workspace.recipe.mask.rule == "all"
        assert driven.main.state.status.trained != before
        assert "●" in driven.text
        await driven.press("u")
        assert driven.workspace.recipe.mask.rule == "completion" and driven.main.state.status.trained == before
        assert "undo: mask.rule all → completion" in driven.said
        await driven.press("U")
        assert driven.workspace.recipe.mask.rule == "all"
        await driven.press("backspace")
        assert driven.workspace.recipe.mask.rule == "completion"


async def test_a_typed_knob_is_checked_before_it_is_taken() -> None:
    async with running() as driven:
        await driven.press("c")
        while driven.main.panes.recipe.knob.path != "length.max":
            await driven.press("j")
        await driven.press("enter", *"zero", "enter")
        assert driven.main.prompt.open and driven.workspace.recipe.length.max is None
        await driven.press(*["backspace"] * 4, *"12", "enter")
        assert driven.workspace.recipe.length.max == 12
        await driven.press("escape")
        assert "12" in driven.text


async def test_a_day_is_typed_and_no_other_text() -> None:
    async with running() as driven:
        await driven.press("c")
        while driven.main.panes.recipe.knob.path != "render.date":
            await driven.press("j")
        await driven.press("enter", *["backspace"] * 5, *"soon", "enter")
        assert driven.main.prompt.open and driven.workspace.recipe.render.date == "today"
        assert "use today or a date" in driven.text
        await driven.press(*["backspace"] * 4, *"2026-11-01", "enter")
        assert driven.workspace.recipe.render.date == "2026-11-01" and "2026-11-01" in driven.text


async def test_choices_are_picked_from_a_dialog() -> None:
    async with running() as driven:
        await driven.press("c")
        while driven.main.panes.recipe.knob.path != "length.over":
            await driven.press("j")
        text = await driven.press("enter")
        assert "cut_left" in text and "proportional" not in text
        await driven.press("j", "enter")
        assert driven.workspace.recipe.length.over == "cut_left"


async def test_a_knob_is_offered_what_its_trainer_can_be_told() -> None:
    async with running() as driven:
        driven.workspace.set_recipe(preset("trl@1.16"))
        await driven.press("c")
        while driven.main.panes.recipe.knob.path != "mask.rule":
            await driven.press("j")
        assert "auto all completion gene" in driven.text and "turn_content" not in driven.text
        rules = []
        for _ in range(4):
            await driven.press("l")
            rules.append(driven.workspace.recipe.mask.rule)
        assert sorted(rules) == ["all", "auto", "completion", "generation_tag"]
        while driven.main.panes.recipe.knob.path != "mask.turns":
            await driven.press("j")
        await driven.press("l")
        assert (
            "mask.turns: trl@1.16 allows no other value" in driven.said and driven.workspace.recipe.mask.turns == "all"
        )


async def test_another_preset_keeps_data_and_tokenizer() -> None:
    async with running() as driven:
        await driven.press("c", "enter")
        assert "manual-shift" in driven.text
        await driven.press("escape", "l")
        assert driven.workspace.recipe.preset != "hf-trainer"
        assert driven.workspace.recipe.tokenizer == driven.workspace.base_recipe.tokenizer


async def test_the_list_hides_and_folds() -> None:
    async with running((80, 24)) as driven:
        assert driven.main.panes.rows.size.width > 20
        await driven.press("L")
        assert not driven.main.panes.rows.display and driven.main.panes.tokens.size.width == 78
        await driven.press("L")
        assert driven.main.panes.rows.display
    async with running((60, 20)) as driven:
        assert driven.main.panes.rows.size.height == 1 and driven.main.panes.tokens.size.width == 60
        await driven.press("L")
        assert not driven.main.panes.rows.display


async def test_panes_stand_beside_below_or_instead() -> None:
    async with running((80, 24)) as driven:
        await driven.press("o")
        assert not driven.main.panes.tokens.display
    async with running((140, 45)) as driven:
        await driven.press("o")
        assert driven.main.panes.tokens.region.y == driven.main.panes.document.region.y
    async with running((80, 45)) as driven:
        await driven.press("o")
        assert driven.main.panes.tokens.region.y < driven.main.panes.document.region.y


async def test_resizing_keeps_the_cursor() -> None:
    async with running((140, 45)) as driven:
        await driven.press("l", "l")
        cursor = driven.main.panes.tokens.state.cursor
        await driven.pilot.resize_terminal(60, 20)
        await driven.settle()
        assert driven.main.panes.tokens.state.cursor == cursor
        assert all(len(line) <= 60 for line in driven.lines)
        await driven.pilot.resize_terminal(20, 6)
        await driven.settle()
        assert driven.app.is_running


async def test_the_status_line_keeps_its_essential_part() -> None:
    for width in (60, 80, 140):
        async with running((width, 24)) as driven:
            driven.main.heard(ev.CountChanged(12_345_678, False, 0.37))
            driven.main.heard(ev.SourceOpened("a/very/long/path/to/some/dataset/with/a/name.jsonl", "messages"))
            await driven.settle()
            verdict, rules = driven.lines[:2]
            assert " 0" in verdict and "≥12,345,678" in verdict and "9 of 25 " in verdict and "trained" in verdict
            assert "trains the last answer only" in rules and ("verified" in rules or width < 80)


async def test_what_the_tokenizer_does_is_told() -> None:
    async with running() as driven:
        made = driven.worker.make(0)
        driven.worker.show(replace(made, provisional=True))
        driven.main.heard(ev.TokenizerChanged("loading"))
        await driven.settle()
        assert "tokenizer …" in driven.lines[0]
        driven.main.heard(ev.TokenizerChanged("provisional"))
        await driven.settle()
        assert "provisional" in driven.lines[0] and "provisional" in driven.said
        assert made.tokens is not None
        driven.worker.emit(ev.TokenizerChanged("corrected", None, "the provisional tokenizer was wrong"))
        driven.worker.show(replace(made, tokens=replace(made.tokens, ids=flat((7, 8, 9, *made.tokens.ids[3:])))))
        await driven.settle()
        assert driven.said == "corrected: 3 tokens of this row changed"
        assert "corrected" in driven.lines[0]


async def test_a_tokenizer_without_template_offers_some() -> None:
    async with running() as driven:
        driven.workspace.tokenizer = ev.TokenizerChanged("proven", None, "", None, ("gemma", "chatml"))
        driven.main.heard(driven.workspace.tokenizer)
        await driven.settle()
        assert "no chat template" in driven.said
        text = await driven.press("T")
        assert "builtin:gemma" in text and "file:" in text
        await driven.press("enter")
        assert driven.workspace.recipe.render.template == "builtin:gemma"
        await driven.press("T", "end", "enter", *"/nowhere.jinja", "enter")
        assert "there is no file" in driven.text


async def test_a_failed_worker_is_told() -> None:
    async with running() as driven:
        driven.main.heard(ev.WorkerFailed(Problem("the worker process ended", "it was killed", "it was restarted")))
        await driven.settle()
        assert "the worker process ended, because it was killed" in driven.text


async def test_a_row_that_never_comes_is_told_in_its_raw_view() -> None:
    async with running() as driven:
        driven.main.panes.tokens.wait(3)
        driven.main.heard(ev.WorkerFailed(Problem("the worker process ended", "signal 6 ended it", "press ]")))
        await driven.settle()
        await driven.press("o")
        pane = driven.main.panes.document
        shown = " ".join(plain(pane.line_cells(at) for at in range(pane.line_count())).split())
        assert "the worker process ended, because signal 6 ended it" in shown and "loading" not in shown


async def test_the_palette_runs_commands_and_goes_to_rows() -> None:
    async with running() as driven:
        await driven.press(":", *"123", "enter")
        await driven.settle()
        assert driven.main.state.status.row == 40
        await driven.press("ctrl+p", *"shift view", "enter")
        await driven.settle()
        assert driven.main.panes.tokens.state.shift
        await driven.press("3", ":")
        assert driven.main.state.status.row == 3


async def test_the_mouse_is_optional_but_works() -> None:
    async with running() as driven:
        await driven.pilot.click(RowList, offset=(5, 4))
        await driven.settle()
        assert driven.main.state.status.row == 4
        tokens = driven.main.panes.tokens
        await driven.pilot.click(TokenPane, offset=(9, 0))
        await driven.settle()
        assert tokens.state.cursor == 0
        assert tokens.table is not None and tokens.lens is not None
        await driven.press("2", ")")
        first = tokens.lens.tokens_of(tokens.lens.band_of(tokens.state.cursor))[0]
        await driven.pilot.click(TokenPane, offset=(LABEL_WIDTH, tokens.rules()[0] + 2))
        await driven.settle()
        assert tokens.state.cursor == first > 0, "in the lens, too"


@pytest.mark.parametrize("size", [(20, 6), (34, 9), (300, 90)])
async def test_very_small_and_very_large_terminals(size: tuple[int, int]) -> None:
    async with running(size) as driven:
        for keys in (
            ("?", "escape"),
            (":", *"zoom", "enter"),
            ("c", "j", "enter", "escape", "escape"),
            ("x", "escape"),
            ("o", "O", "e", "escape"),
            ("s", "z"),
        ):
            await driven.press(*keys)
            assert all(len(line) <= size[0] for line in driven.lines) and len(driven.lines) <= size[1]
        assert driven.app.is_running


async def test_an_index_that_still_grows_is_honest() -> None:
    async with running() as driven:
        driven.main.heard(ev.CountChanged(20, False, 0.5))
        await driven.settle()
        await driven.press("G")
        assert driven.main.state.status.row == 19
        await driven.press("3", "0", "0", "G")
        assert driven.main.state.status.row == 19 and "still being indexed" in driven.said
        assert "≥20 (50 %)" in driven.lines[0]


async def test_a_row_too_heavy_for_the_list_is_listed_with_its_figures_once_it_was_opened(tmp_path: Path) -> None:
    rows = chats(5)
    rows[3] = (rows[3][0], "word " * (TOO_HEAVY // 5))
    async with running((80, 24), options=OpenOptions((write_chats(tmp_path / "train.jsonl", rows),))) as driven:
        assert " %" not in driven.lines[6]
        assert "3 >99 %" in (await driven.press("3", "G")).splitlines()[6]
        assert "3 >99 %" in (await driven.press("j", "[")).splitlines()[6]
        driven.workspace.change("mask.rule", "all")
        await driven.settle()
        assert " %" not in driven.lines[6], "figures of another recipe are not kept"


async def test_keys_do_nothing_to_what_is_hidden() -> None:
    async with running((80, 24)) as driven:
        before = driven.main.panes.tokens.state
        for key in ("s", "z", "Z"):
            await driven.press("f", key)
            assert driven.said == "the tokens are not on screen; Esc returns to them"
            assert driven.main.panes.tokens.state == before
            await driven.press("escape")
        await driven.press("s")
        assert not driven.said and driven.main.panes.tokens.state.shift, "the screen shows it"
        await driven.press("c", "L", "L")
        assert str(driven.said) == "no room for the row list next to the recipe"


async def test_a_tokenizer_that_does_not_load_is_told_with_what_to_press() -> None:
    problem = Problem(
        "the tokenizer cannot be loaded", "google/gemma-2b: huggingface.co did not answer within 3 s", "try again"
    )
    async with running((120, 36)) as driven:
        made = driven.worker.make(0)
        waiting = replace(made, tokens=None, labels=None, example=None, rendered=None, boundary=None)
        driven.worker.show(waiting)
        told = "loading tokenizer google/gemma-2b … 12 s, 3.2 MB downloaded"
        driven.worker.emit(ev.TokenizerChanged("loading", None, told))
        await driven.settle()
        assert told in driven.text
        assert "K  choose another tokenizer" in driven.text and "q  quits" in driven.text, "what can be done meanwhile"
        stopped = replace(waiting, stopped_at=Stage.TOKENS, problem=problem)
        driven.worker.emit(ev.TokenizerChanged("failed", None, problem.sentence(), problem))
        driven.worker.show(stopped)
        await driven.settle()
        assert "google/gemma-2b: huggingface.co did not answer" in driven.text and told not in driven.text
        assert "D  retry loading the tokenizer" in driven.text and "K  choose another tokenizer" in driven.text
        await driven.press("D")
        assert driven.worker.asked(rq.SetRecipe)[-1].opened == 1
        await driven.press("K", "ctrl+u", *"builtin:chatml", "enter")
        assert driven.workspace.recipe.tokenizer.name == "builtin:chatml" and "u undoes it" in driven.said


HOLDING = changed(changed(preset("axolotl@0.19"), "own.val_set_size", 2), "own.shuffle_merged_datasets", False)
"""The last two rows are set aside for evaluation."""


async def test_an_evaluation_row_says_so_in_the_header_and_in_its_notes() -> None:
    async with running((120, 36), recipe=HOLDING) as driven:
        text = await driven.press("3", "9", "G", "[")
        assert "evaluation row" not in text and "eval " in text and "2 notes" in text.splitlines()[1]
        text = await driven.press("]")
        assert "evaluation row: nothing in it is trained" in text.splitlines()[0]
        assert "3 notes" in text.splitlines()[1]
        assert "evaluation row: the trainer holds it out and does not train on it" in await driven.press("i")


@pytest.mark.parametrize("settled", [True, False])
async def test_the_comparison_says_which_side_evaluates(settled: bool) -> None:
    """Without a seed it is not known of a split."""
    async with running((120, 36), recipe=HOLDING) as driven:
        other = usual() if settled else changed(driven.workspace.recipe, "own.shuffle_merged_datasets", True)
        await driven.press("4", "0", "G")
        compare.start(driven.main, other, "other")
        await driven.settle()
        text = " ".join(plain(driven.main.panes.document.lines).split())
        assert (
            f"A axolotl@0.19 evaluation row, 14 of 37 carry loss B other {16 if settled else 14} of 37 trained" in text
        )
        assert ("≠ label ~ token held out for evaluation on only some sides" in text) == settled
        assert ("B other: rows held out for evaluation (val_set_size) are not marked: " in text) != settled
        assert "its figures cover all rows" in text or settled


async def test_a_list_that_was_hidden_before_the_first_paint_fills_when_it_is_shown() -> None:
    worker = RowsWorker()
    workspace = over(worker)
    workspace.start()
    app = SftuiApp(workspace, UserSettings(theme="dark", glyphs="unicode"))
    app.main.put(app.main.state.open._replace(rows=False))
    async with app.run_test(size=(140, 45)) as pilot:
        driven = Driven(app, pilot, workspace, worker)
        await driven.settle()
        assert not worker.asked(rq.SummariesRequest)
        await driven.press("L")
        assert driven.lines[4].startswith("│   1     68  56 %") and len(driven.main.panes.rows.summaries) == 41


async def test_weights_stand_in_every_zoom_and_under_the_cursor(tmp_path: Path) -> None:
    recipe = changed(preset(), "loss.weights", "float")
    options = OpenOptions((write_chats(tmp_path / "train.jsonl", chats(3), weight=0.3),), recipe=recipe)
    async with running((80, 24), options=options, theme="mono") as driven:
        tokens = driven.main.panes.tokens
        assert "⟧×0.3" in driven.text and "weight" in plain(tokens.visible_lines())
        await driven.press("z")
        columns = plain(tokens.visible_lines()).splitlines()
        assert any(text.count("weight") and "0.3" in text for text in columns)
        assert any("▓" in text for text in columns) and not any("█" in text for text in columns)
        assert "trained with weight 0.3" in await driven.press("l", "h")
        assert "weight" in await driven.press("z") and "▓    0.3" in driven.text
        await driven.press("z")
        assert "weight 0.3" in await driven.press("enter")


async def test_where_a_trainer_has_no_weights_nothing_says_so() -> None:
    async with running((80, 24)) as driven:
        for keys in ((), ("z",), ("z",), ("3", "B"), ("escape", "enter")):
            text = await driven.press(*keys)
            assert "▓" not in text and "weight" not in text and "⟧×" not in text


CUT = changed(preset(), "length.max", 300)
"""Row 1 is read otherwise than it says, of row 3 the end is cut."""


@pytest.mark.parametrize("width", [120, 80, 60])
async def test_the_header_says_what_the_findings_of_a_row_come_to(width: int) -> None:
    async with running((width, 24), options=OpenOptions(("train.jsonl",), recipe=CUT, row=1)) as driven:
        assert "✗ text differs from your data" in driven.lines[0]
        assert driven.said.startswith("✗ text differs from your data: f shows why"), "and its one next step"
        assert ("2 things to look at (f)" if width == 120 else "! 2 (f)") in driven.lines[0]
        assert ("38 of 68 " in driven.lines[0]) is (width > 60), "its number makes room first"
        await driven.press("]")
        assert "29 of 79 tokens trained" in driven.lines[0] and "(f)" in driven.lines[0] and "✓" not in driven.lines[0]
        await driven.press("]")
        assert "! no stop learned" in driven.lines[0]
        await driven.press("1", "g")
        assert "✗ text differs from your data" in driven.lines[0] and not driven.said, "said once"


async def test_the_audit_begins_with_what_it_comes_to() -> None:
    async with running((120, 36), recipe=CUT) as driven:
        text = await driven.press("A")
        first, second, found = (
            text.index(part)
            for part in ("✗ the model sees different text", "! the model won't learn to stop", "Findings")
        )
        assert first < second < found


async def test_another_row_draws_two_lines_of_the_list_anew() -> None:
    async with running((120, 36)) as driven:
        listed = driven.main.panes.rows
        before = listed.visible_lines()
        await driven.press("]")
        after = listed.visible_lines()
        assert len(before) > 3 and [y for y, cells in enumerate(after) if cells is not before[y]] == [0, 1]
