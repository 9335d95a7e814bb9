"""The export dialog offers every trainer's config, and what was converted can be compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from rows_worker import write_chats
from tui_driver import running

from sftui.recipe import changed
from sftui.trainers import preset, trainer_names, traits_of
from sftui.tui.commands.export import targets
from sftui.workspace import OpenOptions


def test_every_trainer_with_a_config_is_offered_once() -> None:
    names = [name for name, _ in targets("trl@1.14")]
    assert names[:2] == ["recipe", "trl@1.14"]
    others = [name for name in trainer_names() if traits_of(name).config and name != "trl"]
    assert [name.partition("@")[0] for name in names[2:-1]] == others
    assert targets("trl@1.14")[-1] == (
        "preprocess",
        "preprocess.py: not for trl, which prepares the rows itself",
    )
    assert [name for name, _ in targets("hf-trainer")][:2] == ["recipe", "preprocess"]
    assert "trl" in {name.partition("@")[0] for name, _ in targets("hf-trainer")}


@pytest.mark.one_of(3)
@pytest.mark.parametrize("down", [1, 2, 3, 4, 5, 6, 7, 8])
async def test_a_config_is_shown_before_it_is_written(tmp_path: Path, down: int) -> None:
    recipe = changed(preset("trl@1.16"), "tokenizer.name", "builtin:chatml")
    async with running((80, 24), recipe=recipe) as driven:
        await driven.press("x", *("j" * down), "enter")
        await driven.press("ctrl+u", "ctrl+k", *str(tmp_path), "enter")
        assert not list(tmp_path.iterdir()), driven.said
        if targets("trl@1.16")[down][0].startswith("llamafactory-v1"):
            assert driven.said.startswith("nothing was written: LLaMA-Factory v1 would stop on this data")
            return
        await driven.press("a")
        assert list(tmp_path.iterdir()) and "wrote" in driven.said, driven.said
        if down > 1:
            assert driven.main.state.compared.other is not None and "C compares" in driven.said


@pytest.mark.parametrize("lost", [True, False])
async def test_the_export_begins_with_what_becomes_of_the_answers(tmp_path: Path, lost: bool) -> None:
    recipe = changed(changed(preset("mlx-lm"), "mask.rule", "completion"), "length.max", 16)
    rows = [("What is the capital of France, and of Spain, and of all others?", "Paris.")] * 4
    data = write_chats(tmp_path / "train.jsonl", rows if lost else [("Where?", "Here."), *rows])
    (tmp_path / "out").mkdir()
    tmp_path = tmp_path / "out"
    async with running((120, 36), options=OpenOptions((data,), recipe=recipe)) as driven:
        await driven.press("x", "enter")
        text = await driven.press("ctrl+u", "ctrl+k", *str(tmp_path), "enter")
        assert ("✗ no answer is trained in all" in text) == lost, text
        assert "rows checked" in text or not lost
        await driven.press("a")
        assert list(tmp_path.iterdir()), "what is read may be written"
