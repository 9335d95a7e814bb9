"""Unsloth's arguments as options: each sets its knob, and the Python that is written says the same."""

from __future__ import annotations

import ast
import difflib
from typing import Any

import pytest

from sftui.errors import RecipeError
from sftui.recipe import changed, get
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse
from sftui.trainers.own_config import notes_of, write_config
from sftui.trainers.unsloth.formats import role_key, standard_role

OPTIONS = """\
# my notebook
tokenizer: some/model
data: chat.jsonl   # ours
max_seq_length: 4096
text_from: messages
responses: {instruction_part: "U:", response_part: "A:", last_response_only: true}
learning_rate: 2.0e-4
"""


def read(text: str) -> Any:
    return trainer_named("unsloth").read_config("options.yml", text)


@pytest.mark.parametrize(
    ("line", "path", "value"),
    [
        ("max_seq_length: 512", "length.max", 512),
        ("max_length: 256", "length.max", 256),
        ("completion_only_loss: false", "mask.rule", "all"),
        ("assistant_only_loss: true", "mask.rule", "generation_tag"),
        ("responses: {}", "mask.rule", "markers"),
        ("responses: {last_response_only: true}", "mask.turns", "last"),
        ("responses: {instruction_part: a, response_part: b}", "mask.response_marker", "b"),
        ("responses: {mask_out_tokens: [x]}", "own.mask_out_tokens", ("x",)),
        ("text_from: chat", "own.text_from", "chat"),
        ("truncation_mode: keep_end", "length.over", "cut_left"),
        ("packing: true", "pack.strategy", "bfd"),
        ("eos_token: <e>", "tokenizer.eos_token", "<e>"),
        ("objective: orpo", "loss.objective", "orpo"),
        ("beta: 0.1", "loss.objective", "dpo"),
        ("beta: 0.1\nobjective: cpo", "loss.objective", "cpo"),
        ("loss_type: apo_zero_unpaired", "own.loss_type", "apo_zero_unpaired"),
    ],
)
def test_each_option_sets_its_knob(line: str, path: str, value: Any) -> None:
    assert get(read(f"data: x\n{line}\n").recipe, path) == value


def test_every_key_gets_a_note() -> None:
    uses = {note.path: note.use for note in read(OPTIONS + "no_such: 1\n").keys}
    assert (
        uses["learning_rate"] is KeyUse.PASSED and uses["no_such"] is KeyUse.UNSURE and uses["text_from"] is KeyUse.USED
    )
    assert len(uses) == 7


def test_a_changed_knob_changes_one_line() -> None:
    opened = read(OPTIONS)
    written = write_config(changed(opened.recipe, "length.max", 1024), opened)
    lines = [
        line for line in difflib.ndiff(OPTIONS.splitlines(), written.files[0].content.splitlines()) if line[0] in "+-"
    ]
    assert lines == ["- max_seq_length: 4096", "+ max_seq_length: 1024"]
    assert write_config(opened.recipe, opened).files[0].content == OPTIONS


def test_the_python_holds_every_argument() -> None:
    written = write_config(read(OPTIONS).recipe, None, Facts(data="chat.jsonl", tokenizer="some/model"))
    code = written.files[0].content
    ast.parse(code)
    assert "max_seq_length=4096" in code and "rows['messages']" in code
    assert (
        "train_on_responses_only(trainer, instruction_part='U:', response_part='A:', last_response_only=True)" in code
    )


@pytest.mark.parametrize(
    ("objective", "home", "kind"),
    [("dpo", "trl", "DPO"), ("reward", "trl", "Reward"), ("cpo", "trl.experimental.cpo", "CPO")],
)
def test_the_python_of_preferences_names_their_trainer(objective: str, home: str, kind: str) -> None:
    recipe = changed(preset("unsloth@2026.10"), "loss.objective", objective)
    code = write_config(recipe, None, Facts(data="pairs.jsonl", tokenizer="some/model")).files[0].content
    ast.parse(code)
    assert f"from {home} import {kind}Config, {kind}Trainer\n" in code
    assert f"arguments = {kind}Config(\n    max_length=2048," in code and f"trainer = {kind}Trainer(" in code


def test_a_changed_objective_is_written_into_the_options() -> None:
    opened = read("data: x\nmax_length: 9\n")
    written = write_config(changed(opened.recipe, "loss.objective", "kto"), opened)
    assert "objective: kto" in written.files[0].content and not written.losses


def test_what_unsloth_has_no_argument_for_is_said() -> None:
    written = write_config(changed(preset("unsloth@2026.10"), "mask.terminator", "mask"), None)
    assert written.losses == ("mask.terminator = 'mask' has no argument in Unsloth",)


@pytest.mark.parametrize(
    "text",
    [
        "max_length: 5\n",
        "data: x\nresponses: {no_such: 1}\n",
        "data: x\nresponses: 5\n",
        "data: x\nassistant_only_loss: true\nresponses: {}\n",
    ],
)
def test_contradictions_are_refused(text: str) -> None:
    with pytest.raises(RecipeError):
        read(text)


def test_a_newer_version_says_so() -> None:
    trainer = trainer_named("unsloth")
    assert "newer than the rules" in notes_of(trainer.preset("2026.12"))[0]
    with pytest.raises(RecipeError):
        trainer.preset("2025.1")


def test_the_role_key_of_two_columns() -> None:
    turns = {"content": ["user"], "from": ["human"]}
    assert role_key(turns, newest=True) == ("from", "content")
    assert role_key({"a": ["x", "y"], "b": ["human", "gpt"]}, newest=True) == ("b", "a")
    assert role_key({"a": ["x"], "b": ["y"]}, newest=False) == ("b", "a")
    assert (standard_role(" Human", newest=True), standard_role("Human", newest=False)) == ("user", None)
