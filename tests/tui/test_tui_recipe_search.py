"""The recipe pane: finding a knob, and what its choices mean where they are chosen."""

from __future__ import annotations

from tui_driver import running

from sftui import trainers


async def test_a_knob_is_found_by_name_meaning_or_choice() -> None:
    async with running((140, 45)) as driven:
        pane = driven.main.panes.recipe
        text = await driven.press("c", "/", *"eos")
        assert pane.knob.path == "tokenizer.eos_token" and "recipe /eos" in text, "as one types"
        assert "append_eos" in text and "│  preset" not in text, "the others are not listed"
        assert [path for path in pane.paths if not path] and pane.paths[-1], "a title stands over its knobs"
        await driven.press("enter", "j", "j", "j", "j", "j", "j")
        last = pane.knob.path
        await driven.press("escape")
        assert pane.filter == "" and pane.knob.path == last, "the mark stays where it was"
        await driven.press("/", *"knapsack", "enter")
        assert pane.knob.path == "pack.strategy", "a choice is found, too"
        before = driven.workspace.recipe
        text = await driven.press("/", "ctrl+u", *"zebra", "enter")
        assert "recipe /zebra 0 of" in text and "pack.strategy" not in text
        await driven.press("l", "enter", "backspace", "j")
        assert driven.said == "" and driven.workspace.recipe == before, "no key changes what is not shown"
        await driven.press("l")
        assert driven.said == "no knob matches; Esc lists all"
        await driven.press("escape", "escape", "/")
        assert "search: text" in driven.said, "outside of the recipe / still searches the rows"


async def test_choices_are_explained_where_they_are_chosen() -> None:
    async with running((200, 50)) as driven:
        await driven.press("c", "/", *"mask.rule", "enter")
        assert "· completion: everything after the prompt" in await driven.press("j", "k")
        text = await driven.press("enter")
        assert "everything between {% generation %} tags" in text and "every token, including the prompt" in text


async def test_an_option_of_the_trainer_is_a_knob_with_its_choices_and_its_key() -> None:
    recipe = trainers.preset("axolotl@0.19")
    async with running((200, 50), recipe=recipe) as driven:
        said = await driven.press("c", "/", *"own.train_on_eos", "enter", "j", "k")
        assert "own.train_on_eos where EOS is trained" in said and "null all turn last none" in said
        assert "Axolotl: datasets.train_on_eos" in said
        await driven.press("l")
        assert driven.workspace.recipe.own.said() == {"train_on_eos": "all"}
        assert "was null" in await driven.press("j", "k")


async def test_a_knob_is_found_by_the_trainers_own_key() -> None:
    recipe = trainers.preset("llamafactory@0.9")
    async with running((120, 36), recipe=recipe) as driven:
        said = await driven.press("c", "/", *"cutoff_len", "enter")
        assert "length" in said and "recipe /cutoff_len 1 of" in said
        assert "LLaMA-Factory: cutoff_len" in await driven.press("j", "k")
