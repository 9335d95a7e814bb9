"""The recipe pane: finding a knob, and what its choices mean where they are chosen."""

from __future__ import annotations

from tui_driver import running

from sftui import trainers


async def test_a_knob_is_found_by_name_meaning_or_choice_and_n_goes_round() -> None:
    async with running((140, 45)) as driven:
        pane = driven.main.panes.recipe
        await driven.press("c", "n")
        assert driven.said == "No search yet; press /"
        await driven.press("/", *"eos", "enter")
        first = pane.knob.path
        assert first == "tokenizer.eos_token" and " of " in driven.said
        await driven.press("n", "n")
        assert pane.knob.path == "tokenize.append_eos"
        await driven.press("N", "N")
        assert pane.knob.path == first
        await driven.press("/", *"knapsack", "enter")
        assert pane.knob.path == "pack.strategy", "a choice is found, too"
        await driven.press("n")
        assert pane.knob.path == "pack.strategy"
        await driven.press("/", *"zebra", "enter")
        assert driven.said == "no knob matches zebra" and pane.knob.path == "pack.strategy"
        await driven.press("escape", "/")
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
        assert "length.max: 1 of 1 knobs" in said
        assert "LLaMA-Factory: cutoff_len" in await driven.press("j", "k")
