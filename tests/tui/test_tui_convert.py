"""Rows of another shape in the inspector: a key previews them as messages, and writes them once that is applied."""

from __future__ import annotations

import json
from pathlib import Path

from tui_driver import running

from sftui.model import Problem
from sftui.recipe import Recipe
from sftui.trainers import preset
from sftui.workspace import OpenOptions
from sftui.workspace import events as ev


def questions(folder: Path, recipe: Recipe) -> OpenOptions:
    (folder / "train.jsonl").write_text(json.dumps({"question": "Where?", "answer": "Here."}) + "\n")
    return OpenOptions((str(folder / "train.jsonl"),), recipe=recipe)


async def test_the_key_converts_and_then_writes(tmp_path: Path) -> None:
    async with running((120, 36), options=questions(tmp_path, preset("trl@1.16"))) as driven:
        assert "KeyError: 'text'" in driven.said and driven.said.startswith("M converts the rows to messages · ")
        text = await driven.press("M")
        assert not driven.workspace.repairs and "a applies it, Esc goes back" in driven.said
        assert '"role": "assistant"' in text, "the rows as they would be"
        await driven.press("escape")
        assert driven.main.state.open.view is None and not driven.workspace.repairs
        await driven.press("M", "a")
        assert "to-messages" in driven.workspace.repairs
        assert "M writes" in driven.said
        await driven.press("M")
        assert driven.main.prompt.open, "it asks for the file"
        await driven.press("escape", "u")
        assert not driven.workspace.repairs


async def test_what_the_key_cannot_help_does_not_name_it() -> None:
    async with running((120, 36)) as driven:
        told = Problem("the dataset has images", "TRL prepares vision rows in its collator", "change the dataset")
        driven.worker.emit(ev.SourceOpened("x.jsonl", "auto", (), told))
        await driven.settle()
        assert driven.said.startswith("the dataset has images")


async def test_a_trainer_of_parquet_is_offered_parquet(tmp_path: Path) -> None:
    async with running((120, 36), options=questions(tmp_path, preset("verl"))) as driven:
        await driven.press("M", "a", "M")
        assert driven.main.prompt.text == "train-messages.parquet"
        text = " ".join((await driven.press("enter")).split())
        assert "train-messages.parquet new · the repaired rows; each column has one type" in text
        assert "train-messages.log.jsonl new" in text
