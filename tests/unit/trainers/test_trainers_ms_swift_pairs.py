"""ms-swift's preferences: how rows give two sides, and which configs say so; ids and labels are in the goldens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sftui import pipeline
from sftui.errors import RecipeError
from sftui.model import Inspection, Row
from sftui.recipe import changed, get
from sftui.recipe_io import parse_yaml
from sftui.tokens import load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.config import Facts, KeyUse, OpenedConfig
from sftui.trainers.own_config import notes_of, write_config

ASKED, ANSWER = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Good."}
TURNS = [ASKED, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "And?"}, ANSWER]
TOOL = {"name": "add", "description": "Adds", "parameters": {"type": "object", "properties": {}}}


def inspected(row: dict[str, Any], **knobs: Any) -> Inspection:
    recipe = changed(changed(preset("ms-swift"), "render.template", "ms-swift/qwen2_5"), "loss.objective", "dpo")
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    made = Row(0, row, json.dumps(row), "rows.jsonl line 1")
    detected = pipeline.detect([made], recipe)
    assert detected.refused is None, detected.refused
    tools = pipeline.survey(made, detected, recipe, pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml")))
    return pipeline.inspect(made, detected, recipe, tools)


def texts(found: Inspection) -> list[str]:
    assert found.problem is None, found.problem
    return [side.rendered.text for side in found.sides if side.rendered is not None]


def read(more: str, name: str = "dpo.yaml") -> OpenedConfig:
    base = more if name.endswith(".sh") else f"model: Qwen/Qwen3-8B\ndataset: [rows.jsonl]\n{more}"
    return trainer_named("ms-swift").read_config(name, base)


def test_the_rejected_answer_stands_behind_the_last_question() -> None:
    chosen, rejected = texts(inspected({"messages": TURNS, "rejected_response": "Bad."}))
    assert "Hello." in rejected and chosen.replace("Good.", "Bad.") == rejected


def test_an_answer_of_messages_takes_the_place_of_the_whole_reply() -> None:
    call = {"role": "tool_call", "content": '{"name": "add", "arguments": {}}'}
    result = {"role": "tool_response", "content": "4"}
    row = {"messages": [ASKED, call, result, ANSWER], "rejected_response": [ANSWER], "tools": [TOOL]}
    chosen, rejected = texts(inspected(row))
    assert "<tool_call>" in chosen.split("Hi", 1)[1] and "<tool_call>" not in rejected.split("Hi", 1)[1]
    assert '"add"' in rejected, "its tools are those of the chosen side"


def test_a_rejected_conversation_takes_nothing_over() -> None:
    row = {"messages": [ASKED, ANSWER], "rejected_messages": [ASKED, ASKED, ANSWER], "tools": [TOOL]}
    chosen, rejected = texts(inspected(row))
    assert '"add"' in chosen and '"add"' not in rejected


def test_a_rejected_conversation_of_nothing_is_the_chosen_one() -> None:
    chosen, rejected = texts(inspected({"messages": TURNS, "rejected_messages": []}))
    assert chosen == rejected


@pytest.mark.parametrize("rejected", ["Good.", None, [ANSWER], [ASKED]])
def test_rows_that_it_drops(rejected: Any) -> None:
    found = inspected({"messages": [ASKED, ANSWER], "rejected_response": rejected})
    assert found.example is None and found.labels is not None and found.labels.dropped is not None
    with_two = inspected({"messages": [ASKED, ANSWER], "rejected_response": "Bad."})
    assert len(with_two.examples) == 2


def test_a_side_that_is_too_long_takes_the_other_with_it() -> None:
    long = {"messages": [ASKED, ANSWER], "rejected_response": "word " * 60}
    assert inspected(long, length__max=60).examples == ()
    left, right = inspected(long, length__max=60, length__over="cut_right").examples
    assert len(left.input_ids) < 60 == len(right.input_ids)


def test_rows_without_a_rejected_answer_are_refused() -> None:
    recipe = changed(preset("ms-swift"), "loss.objective", "dpo")
    row = {"messages": TURNS}
    refused = pipeline.detect([Row(0, row, json.dumps(row), "rows.jsonl line 1")], recipe).refused
    assert refused is not None and "inputs.rejected is None" in refused.what


@pytest.mark.parametrize(
    ("more", "objective", "turns"),
    [
        ("rlhf_type: dpo\n", "dpo", "last"),
        ("rlhf_type: simpo\n", "cpo", "last"),
        ("rlhf_type: orpo\n", "orpo", "all"),
        ("rlhf_type: rm\n", "reward", "last"),
        ("rlhf_type: dpo\nloss_scale: default\n", "dpo", "all"),
        ("loss_scale: default\n", "sft", "all"),
    ],
)
def test_a_config_says_its_objective(more: str, objective: str, turns: str) -> None:
    recipe = read(more).recipe
    assert (recipe.loss.objective, recipe.mask.turns) == (objective, turns)


def test_a_command_line_of_rlhf_is_dpo_where_it_says_no_type() -> None:
    opened = read("swift rlhf --model m --dataset a.jsonl --beta 0.2\n", "run.sh")
    assert opened.recipe.loss.objective == "dpo"
    assert {key.use for key in opened.keys if key.path == "beta"} == {KeyUse.PASSED}
    assert {key.use for key in read("beta: 0.2\n").keys if key.path == "beta"} != {KeyUse.PASSED}


def test_a_type_that_is_not_known_is_refused() -> None:
    with pytest.raises(RecipeError, match="does not model rlhf_type `grpo`"):
        read("rlhf_type: grpo\n")


@pytest.mark.parametrize("objective", ["dpo", "orpo", "cpo", "reward"])
@pytest.mark.parametrize("turns", ["all", "last"])
def test_a_recipe_is_written_and_read_back(objective: str, turns: str) -> None:
    recipe = changed(changed(preset("ms-swift"), "loss.objective", objective), "mask.turns", turns)
    written = write_config(recipe, None, Facts(data="a.jsonl", tokenizer="Qwen/Qwen3-8B"))
    config = parse_yaml(written.files[0].content, "x.yaml", "pyyaml")
    assert config["rlhf_type"] == ("rm" if objective == "reward" else objective)
    assert any("swift rlhf" in note for note in written.notes)
    back = read(f"rlhf_type: {config['rlhf_type']}\nloss_scale: {config['loss_scale']}\n").recipe
    assert [get(back, path) for path in ("loss.objective", "mask.turns")] == [objective, turns]
    told = any("compares only the last round" in note for note in notes_of(recipe))
    assert told == (turns == "all" and objective in ("dpo", "cpo"))


def test_a_reward_model_reads_its_score_at_the_last_token() -> None:
    found = inspected({"messages": TURNS, "rejected_response": "Bad."}, loss__objective="reward")
    for example in found.examples:
        assert [at for at, label in enumerate(example.labels) if label != -100] == [len(example.input_ids) - 1]
