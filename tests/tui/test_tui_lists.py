"""Every list of the inspector filters as one types: those that dialogs pick from, and panes of things to mark."""

from __future__ import annotations

from functools import partial

import pytest
from tui_driver import Driven, running

from sftui.tui.commands.table import BY_ID, COMMANDS
from sftui.tui.contexts import ANY, CONTEXTS, DIALOG, DOCUMENT, FIGURES, FINDINGS, LIST, RECIPE, TOKENS
from sftui.tui.dialogs import Dialog
from sftui.tui.filter_dialog import FilterDialog, OptionsDialog
from sftui.views.cells import Role

NO_LISTS = (TOKENS, LIST, DOCUMENT)
"""Texts, and the rows: `/` searches all of them, `&` filters them."""
ELSEWHERE = ("quit", "interrupt", "suspend", "redraw")
"""What ends the program, or belongs to the terminal."""
PICKERS = {"order", "compare.pick", "template", "repairs", "export", "help.pages", "recipe.edit", "palette", "help"}
NOWHERE = "no such words anywhere"


def typed(text: str) -> tuple[str, ...]:
    return tuple("space" if letter == " " else letter for letter in text)


async def check_list(driven: Driven, dialog: FilterDialog) -> None:
    """Filters to one entry or few, to none, and lists all again; Esc closes only then."""
    opened, listed = driven.text, list(dialog.found)
    if not dialog.at_once:
        assert "/ filters" in opened
        await driven.press("/")
    text = await driven.press(*typed(NOWHERE))
    assert f"0 of {len(listed):,}" in text and NOWHERE in text and not dialog.found
    await driven.press("enter")
    if dialog.picking:
        assert driven.app.screen is dialog, "there is nothing to pick"
        assert await driven.press("escape") == opened and list(dialog.found) == listed
        await driven.press("escape")
    assert driven.app.screen is not dialog


@pytest.mark.parametrize("context", [one for one in CONTEXTS if one != DIALOG])
async def test_every_command_that_opens_a_list_opens_one_that_filters(context: str) -> None:
    seen = set[str]()
    async with running((100, 40)) as driven:
        main = driven.main
        await driven.press("A", "r", "k", "escape")
        for command in COMMANDS:
            if command.context != context or command.id in ELSEWHERE or command.id.startswith("edit."):
                continue
            if context in (RECIPE, FINDINGS, FIGURES):
                main.put(main.state.open._replace(recipe=context == RECIPE, view=None, context=TOKENS))
                if context != RECIPE:
                    main.open_view(context)
                main.hold_keys(context)
                await driven.settle()
            main.drawing(partial(main.run_command, command))()
            await driven.settle()
            dialog = driven.app.screen
            if isinstance(dialog, Dialog) and (dialog.picking or isinstance(dialog, FilterDialog)):
                assert isinstance(dialog, FilterDialog), f"{command.id} lists what cannot be filtered"
                seen.add(command.id)
                await check_list(driven, dialog)
            while driven.app.screen is not main or main.prompt.open:
                await driven.press("escape")
    assert seen >= {one for one in PICKERS if BY_ID[one].context == context}


def test_every_pane_of_things_to_mark_filters_with_the_key_that_finds() -> None:
    for context in CONTEXTS:
        own = [one for one in COMMANDS if one.context == context and "/" in one.keys]
        assert context in (ANY, *NO_LISTS) or [one.id for one in own] == [f"{context}.find"], context


@pytest.mark.parametrize(("context", "word"), [(RECIPE, "eos"), (FINDINGS, "EOS"), (FIGURES, "EOS")])
async def test_a_pane_lists_what_has_the_words_and_esc_all_again(context: str, word: str) -> None:
    async with running((140, 45)) as driven:
        await driven.press("]", {RECIPE: "c", FINDINGS: "f", FIGURES: "A"}[context])
        pane = driven.main.by_context[context]
        whole = driven.text
        await driven.press("/", *typed(word))
        shown, of = pane.counted
        assert 0 < shown < of and f"{context} /{word} {shown} of {of}" in driven.text
        assert word.casefold() in driven.main.sentence()[0].text.casefold() + driven.text.casefold()
        text = await driven.press("enter", "down", "up")
        assert f"/{word} {shown} of {of}" in text, "Enter keeps it"
        await driven.press("/", *typed(" zebra"))
        assert pane.counted == (0, of)
        await driven.press("enter", "enter", "a", "d", "W", "l")
        assert driven.app.screen is driven.main and driven.main.state.open.context == context, "nothing is marked"
        assert await driven.press("escape", "up") and pane.filter == "", "Esc lists all before it closes"
        assert driven.main.state.open.context == context
        assert sorted(driven.lines[2].split()) == sorted(whole.splitlines()[2].split())
        await driven.press("/", *typed(word), "escape")
        assert pane.filter == "" and driven.main.state.open.context == context


async def test_the_one_picked_is_the_one_shown() -> None:
    async with running((120, 36)) as driven:
        text = await driven.press("T", "/", *typed("built chatml"))
        assert "chatml" in text
        dialog = driven.app.screen
        assert isinstance(dialog, OptionsDialog)
        name = dialog.texts[dialog.found[0]].split()[0]
        await driven.press("enter")
        assert driven.workspace.recipe.render.template == name


@pytest.mark.parametrize("key", ["a", "x"])
async def test_a_key_that_does_nothing_in_a_list_says_so(key: str) -> None:
    async with running((100, 30)) as driven:
        text = await driven.press("T", key)
        assert f"{key} does nothing here · j k move · / filters · Enter selects · Esc closes" in text
        assert "does nothing here" not in await driven.press("j")


async def test_enter_does_what_a_dialog_offers() -> None:
    """One rule for all: what is bright in the last line is done by Enter."""
    done: list[str] = []
    async with running((100, 30)) as driven:
        main = driven.main
        for offers in ({"yes": "Enter or a goes"}, {"export": "Enter or x goes", "yes": "a stays"}):
            main.read("title", lambda width: (), lambda answer: done.append(str(answer)), offers)
            await driven.settle()
            dialog = driven.app.screen
            assert isinstance(dialog, Dialog)
            bright = [run.text for run in dialog.foot.lines[0] if run.role is Role.KEY]
            assert bright == [next(iter(offers.values()))]
            await driven.press("enter")
        main.offer_writing("nothing written yet", lambda width: (), lambda: done.append("written"))
        await driven.press("enter")
        main.offer_writing("nothing written yet", lambda width: (), lambda: done.append("written"))
        await driven.press("escape")
        assert driven.said == "nothing was written"
    assert done == ["yes", "export", "written"]


@pytest.mark.parametrize("key", ["f", "A"])
async def test_the_key_of_an_open_pane_gives_it_the_focus_before_it_closes(key: str) -> None:
    async with running((120, 36)) as driven:
        await driven.press(key)
        view = driven.main.state.open.view
        holder = driven.main.state.open.context
        assert view and holder == view
        for other in (TOKENS, LIST):
            driven.main.hold_keys(other)
            await driven.press(key)
            assert (driven.main.state.open.view, driven.main.state.open.context) == (view, holder)
        await driven.press(key)
        assert driven.main.state.open.view is None
