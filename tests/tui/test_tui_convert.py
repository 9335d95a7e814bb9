"""Rows of another shape in the inspector: one key shows them as messages, pressed again it writes them."""

from __future__ import annotations

from words_worker import WordsWorker, running

from sftui.model import Problem
from sftui.trainers import preset
from sftui.workspace import events as ev

REFUSED = Problem(
    "TRL cannot read these columns (`question`, `answer`): it raises KeyError: 'text'",
    "it looks for messages, prompt, or `text`",
    "make messages of the rows with `sftui convert`, or give TRL a formatting_func",
)


async def test_the_key_converts_and_then_writes() -> None:
    async with running((120, 36), WordsWorker()) as driven:
        driven.worker.emit(ev.SourceOpened("qa.jsonl", "auto", (), REFUSED, True))
        await driven.settle()
        assert "KeyError: 'text'" in driven.said and driven.said.startswith("M makes messages of the rows · ")
        await driven.press("M")
        assert "to-messages" in driven.workspace.repairs
        assert "M writes" in driven.said
        await driven.press("M")
        assert driven.main.prompt.open, "it asks for the file"
        await driven.press("escape", "u")
        assert not driven.workspace.repairs


async def test_what_the_key_cannot_help_does_not_name_it() -> None:
    async with running((120, 36), WordsWorker()) as driven:
        told = Problem("the dataset has images", "TRL prepares vision rows in its collator", "change the dataset")
        driven.worker.emit(ev.SourceOpened("x.jsonl", "auto", (), told))
        await driven.settle()
        assert driven.said.startswith("the dataset has images")


async def test_a_trainer_of_parquet_is_offered_parquet() -> None:
    async with running((120, 36), WordsWorker(), recipe=preset("verl")) as driven:
        await driven.press("M", "M")
        assert driven.main.prompt.text == "train-messages.parquet"
        text = " ".join((await driven.press("enter")).split())
        assert "train-messages.parquet new · the rows as repaired; each place of one type" in text
        assert "train-messages.log.jsonl new" in text
