"""Whose a token is: the message, or the column of the data, never the chat template where the data wrote it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from sftui.model import Inspection, Part
from sftui.recipe import changed
from sftui.session.options import OpenOptions
from sftui.session.ready import open_data, tokenized
from sftui.trainers import preset, traits_of
from sftui.views.cells import plain
from sftui.views.status import token_line
from sftui.views.table import make_table
from sftui.views.why import Offer, place, why_lines
from sftui.views.words import fact, who

PAIR = {"prompt": "What is two and two?", "completion": " It is four."}
ALPACA = {"instruction": "Add these numbers.", "input": "2 and 3", "output": "They are 5."}
TEXT = {"text": "Once upon a time there was a king."}
STORED = {"labels": [-100, 301, 302, 303], "input_ids": [300, 301, 302, 303]}
APART = {"prompt_ids": [300, 301], "completion_ids": [302, 303]}

CASES: tuple[tuple[str, dict[str, Any], dict[str, Any], list[str]], ...] = (
    ("trl", PAIR, {}, ["the data's `prompt`", "the data's `completion`", "not text from the data"]),
    ("unsloth", PAIR, {}, ["the data's `prompt`", "the data's `completion`", "not text from the data"]),
    ("trl", TEXT, {}, ["the data's `text`", "not text from the data"]),
    ("hf-trainer", TEXT, {}, ["the data's `text`"]),
    ("unsloth", TEXT, {}, ["the data's `text`"]),
    ("axolotl", TEXT, {}, ["the data's `text`", "not text from the data"]),
    ("mlx-lm", TEXT, {}, ["the data's `text`", "not text from the data"]),
    ("torchtune", TEXT, {}, ["the data's `text`", "not text from the data"]),
    ("trl", {"story": "A king."}, {"data.fields": {"text": "story"}}, ["the data's `story`", "not text from the data"]),
    ("axolotl", ALPACA, {}, [
        "not text from the data", "the data's `instruction`", "the data's `input`", "the data's `output`",
    ]),
    ("hf-trainer", STORED, {"mask.rule": "given"}, ["the data's `input_ids`"]),
    ("trl", STORED, {}, ["the data's `input_ids`"]),
    ("hf-trainer", APART, {"mask.rule": "given"}, ["the data's `prompt_ids`", "the data's `completion_ids`"]),
    ("hf-trainer", PAIR, {}, ["user message 1 of 1", "assistant message 1 of 1"]),
    ("hf-trainer", ALPACA, {}, ["user message 1 of 1", "assistant message 1 of 1"]),
)  # fmt: skip


def inspected(folder: Path, trainer: str, row: dict[str, Any], knobs: dict[str, Any]) -> tuple[Inspection, Any]:
    path = folder / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    recipe = changed(preset(trainer), "tokenizer.name", "builtin:chatml")
    for name, value in knobs.items():
        recipe = changed(recipe, name, value)
    with contextlib.closing(open_data(OpenOptions((str(path),), recipe=recipe))) as data:
        return tokenized(data, "provisional").ready().inspect(0), recipe


@pytest.mark.parametrize(("trainer", "row", "knobs", "whose"), CASES, ids=lambda one: str(one)[:24])
def test_each_token_comes_from_its_column_or_message(
    tmp_path: Path, trainer: str, row: dict[str, Any], knobs: dict[str, Any], whose: list[str]
) -> None:
    made, recipe = inspected(tmp_path, trainer, row, knobs)
    assert made.tokens is not None and made.labels is not None, made.problem
    count = len(made.tokens)
    assert list(dict.fromkeys(who(made, i) for i in range(count))) == whose
    table, title = make_table(made), traits_of(recipe.trainer).title
    assert table is not None
    for i in range(count):
        said = who(made, i)
        assert place(made, i).startswith(said)
        if (made.tokens.parts and made.tokens.parts[i] is Part.CONTENT) or "ids" in said:
            assert "wrote it" not in place(made, i) and "added it" not in place(made, i)
        held = fact(table, i, made, recipe, title)
        card = plain(why_lines(table, i, made, recipe, title, "", Offer(), 200))
        assert held in card and held in plain([token_line(table, i, 200, fact=held)])


def test_the_column_is_told_by_its_text_at_the_token(tmp_path: Path) -> None:
    """Columns that hold the same words: a token is of the one that its own stretch is."""
    made, _ = inspected(tmp_path, "axolotl", {"instruction": "Say king.", "input": "king", "output": "king"}, {})
    assert made.tokens is not None and made.rendered is not None
    places = [i for i, start in enumerate(made.tokens.starts) if made.rendered.text.startswith("k", start)]
    whose = [who(made, i) for i in places if made.tokens.parts[i] is Part.CONTENT]
    assert (whose[0], whose[-1]) == ("the data's `input`", "the data's `output`")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_status_line_says_what_the_card_says_or_less(tmp_path: Path, width: int) -> None:
    made, recipe = inspected(tmp_path, "trl", PAIR, {})
    table = make_table(made)
    assert table is not None
    said = fact(table, 0, made, recipe, "TRL")
    assert said == "it comes from the data's `prompt` and belongs to the prompt"
    told = plain([token_line(table, 0, width, fact=said)])
    assert len(told.rstrip("\n")) <= width
    assert f"masked: {said}" in told if width >= 80 else "belongs to the prompt" in told
