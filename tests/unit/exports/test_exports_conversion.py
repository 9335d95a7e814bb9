"""From one trainer's recipe to another's: what is carried, what is translated, what is told to be lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trainers import having, module_of

from sftui.errors import ExportError
from sftui.exports.conversion import convert
from sftui.exports.plan import ExportPlan
from sftui.recipe import Recipe, changed, get
from sftui.trainers import preset


def recipe(name: str, **knobs: Any) -> Recipe:
    made = preset(name)
    for knob, value in knobs.items():
        made = changed(made, knob.replace("__", "."), value)
    return made


TRAINERS = tuple(filter(None, (module_of(trainer, "facts").FACTS.converted for trainer in having("facts"))))


@pytest.mark.parametrize(
    ("start", "knobs", "to", "expected"),
    [
        ("axolotl@0.19", {}, "trl@1.16", {"mask.rule": "generation_tag"}),
        ("axolotl@0.19", {}, "llamafactory@0.9.5", {"mask.rule": "parts", "mask.turns": "all"}),
        ("axolotl@0.19", {"mask__rule": "all"}, "trl@1.16", {"mask.rule": "all"}),
        ("trl@1.16", {}, "axolotl@0.19", {"mask.rule": "all"}),
        ("trl@1.16", {"mask__rule": "generation_tag"}, "unsloth@2026.10", {"mask.rule": "markers"}),
        ("hf-trainer", {}, "llamafactory@0.9.5", {"mask.rule": "parts", "mask.turns": "last"}),
        ("hf-trainer", {}, "unsloth@2026.10", {"mask.rule": "markers", "mask.turns": "last"}),
        ("hf-trainer", {"length__max": 77}, "axolotl@0.19", {"length.max": 77, "length.over": "cut_right"}),
        ("axolotl@0.19", {"pack__strategy": "multipack"}, "trl@1.16", {"pack.strategy": "bfd"}),
        ("trl@1.16", {"pack__strategy": "bfd"}, "llamafactory@0.9.5", {"pack.strategy": "knapsack"}),
        ("trl@1.16", {"render__template": "builtin:chatml"}, "axolotl@0.19", {"render.template": "builtin:chatml"}),
    ],
)
def test_what_is_meant_is_carried_over(start: str, knobs: dict[str, Any], to: str, expected: dict[str, Any]) -> None:
    found, _ = convert(recipe(start, tokenizer__name="x", **knobs), to, "messages")
    assert found.preset == to and found.tokenizer.name == "x"
    assert {path: get(found, path) for path in expected} == expected


@pytest.mark.parametrize(
    ("start", "knobs", "to", "told"),
    [
        (
            "axolotl@0.19",
            {"own__train_on_eos": "last"},
            "trl@1.16",
            "own.train_on_eos = 'last' is specific to axolotl@0.19",
        ),
        (
            "llamafactory@0.9.5",
            {"render__template": "llamafactory/qwen"},
            "trl@1.16",
            "render.template llamafactory/qwen is specific to llamafactory@0.9.5",
        ),
        ("hf-trainer", {}, "axolotl@0.19", "trains the last assistant message only; axolotl@0.19 has no key for that"),
        ("trl@1.16", {"pack__strategy": "bfd_split"}, "axolotl@0.19", "pack.strategy bfd_split becomes multipack"),
        ("axolotl@0.19", {}, "mlx-lm@0.32", "axolotl@0.19 trains more than the last message"),
    ],
)
def test_what_has_no_equal_is_told(start: str, knobs: dict[str, Any], to: str, told: str) -> None:
    assert any(told in loss for loss in convert(recipe(start, **knobs), to, "messages")[1])


def test_a_trainer_that_trains_the_last_message_is_told_so() -> None:
    made, lost = convert(recipe("hf-trainer"), "mlx-lm@0.32", "messages")
    assert made.mask.rule == "completion" and not any("last" in loss for loss in lost)
    back, lost = convert(recipe("mlx-lm@0.32", mask__rule="completion"), "llamafactory@0.9.5", "messages")
    assert back.mask.turns == "last" and lost == ("length.over = 'cut_right' has no key in LLaMA-Factory's config",)


def test_a_pair_is_no_conversation() -> None:
    assert convert(recipe("hf-trainer"), "trl@1.16", "prompt_completion")[0].mask.rule == "completion"
    assert convert(recipe("trl@1.16"), "unsloth@2026.10", "prompt_completion")[0].mask.rule == "completion"


@pytest.mark.parametrize("to", TRAINERS)
@pytest.mark.parametrize("start", ["hf-trainer", *TRAINERS])
def test_every_trainers_recipe_becomes_every_others_config(
    start: str, to: str, tmp_path: Path, plan_for: Callable[..., ExportPlan]
) -> None:
    path = tmp_path / "chats.jsonl"
    row = {"messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]}
    path.write_text(json.dumps(row) + "\n")
    named = {"render__template": "ms-swift/chatml"} if start.startswith("ms-swift") else {}
    plan = plan_for(path, recipe(start, tokenizer__name="builtin:chatml", **named), to=to)
    assert plan.files and (plan.converted is None) == (start == to)
    if plan.converted is not None:
        assert plan.converted.preset == to and f"converted from {start} to {to}" in plan.first_line


V1 = "llamafactory-v1@0.9.6"
"""It reads no messages in OpenAI's shape; of the other trainers these read the rows of its converters, too."""
SHARED = ("axolotl@0.19", "llamafactory@0.9.5", "torchtune@0.6.1", "nemo-automodel@0.7", "ms-swift@4.6")
SHAREGPT = {"conversations": [{"from": "human", "value": "Hello?"}, {"from": "gpt", "value": "Hi."}]}


@pytest.mark.parametrize("other", SHARED)
@pytest.mark.parametrize("back", [False, True])
def test_a_recipe_of_the_v1_engine_becomes_anothers_config_and_back(
    other: str, back: bool, tmp_path: Path, plan_for: Callable[..., ExportPlan]
) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps(SHAREGPT) + "\n")
    start, to = (other, V1) if back else (V1, other)
    named = {"render__template": "ms-swift/chatml"} if start.startswith("ms-swift") else {}
    if start.startswith("llamafactory"):
        named = {"data__format": "sharegpt"}
    plan = plan_for(path, recipe(start, tokenizer__name="builtin:chatml", **named), to=to)
    assert plan.files and plan.converted is not None and plan.converted.preset == to


def test_rows_that_the_v1_engine_stops_at_are_not_written_for_it(
    tmp_path: Path, plan_for: Callable[..., ExportPlan]
) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "a"}]}) + "\n")
    with pytest.raises(ExportError, match=r"LLaMA-Factory v1 would stop on this data .* TypeError"):
        plan_for(path, recipe("trl@1.16", tokenizer__name="builtin:chatml"), to=V1)


def test_another_version_of_the_same_trainer_is_told_as_a_conversion(
    tmp_path: Path, plan_for: Callable[..., ExportPlan]
) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(
        json.dumps({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}) + "\n"
    )
    plan = plan_for(path, recipe("trl@1.16", tokenizer__name="builtin:chatml"), to="trl@1.8")
    assert plan.converted is not None and plan.converted.preset == "trl@1.8"
