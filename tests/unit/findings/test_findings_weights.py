"""Weights of messages: what is told of them under each trainer, and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from case_runner import run

from sftui.findings import Finding, Severity
from sftui.findings.rule import case, chat

CODES = ("LAB001", "LAB010", "LAB016", "LAB017", "LAB018", "LAB019")
WEIGHED = {"loss.weights": "float", "mask.rule": "assistant"}
NAMED = {"data.message_keys": {"train_flag": "weight"}}
NAN = float("nan")


def told(
    weight: Any, preset: str, changes: Mapping[str, Any], key: str = "weight", role: str = "assistant"
) -> list[Finding]:
    """What is said of the weight of one message, the answer or the question before it."""
    question: dict[str, Any] = {"role": "user", "content": "hi"}
    answer: dict[str, Any] = {"role": "assistant", "content": "Hello."}
    (answer if role == "assistant" else question)[key] = weight
    found = run(case(chat(question, answer), preset=preset, changes=changes)).findings
    return [one for one in found if one.code in CODES]


TEXT = 'message 1 has `weight: "0.5"`, which is not a finite number: it is trained with weight 1'
SPOILT = "which is not a finite number: the loss of every batch that contains it is NaN"
HALF = "message 1 has `weight: 0.5`, and "
AS_ONE = "trains it with weight 1"
ON = "Axolotl reads it as on: it counts as 1"


@pytest.mark.parametrize(
    ("preset", "changes", "weight", "code", "sentence"),
    [
        ("hf-trainer", {}, 1, "", ""),
        ("hf-trainer", {}, 1.0, "", ""),
        ("hf-trainer", {}, 0, "LAB010", "message 1 says `weight: 0`, and is trained anyway"),
        ("hf-trainer", {}, 0.5, "LAB016", f"{HALF}hf-trainer {AS_ONE}"),
        ("hf-trainer", {}, "0.5", "", ""),  # nobody reads it
        ("trl@1.16", {}, 0.5, "LAB016", f"{HALF}TRL {AS_ONE}"),
        ("trl@1.16", {}, -1, "LAB016", f"message 1 has `weight: -1`, and TRL {AS_ONE}"),
        ("unsloth@2026.10", {}, 0.5, "LAB016", f"{HALF}Unsloth {AS_ONE}"),
        ("torchtune@0.7", {}, 2, "LAB016", f"message 1 has `weight: 2`, and torchtune {AS_ONE}"),
        ("llamafactory@0.9", {}, 0.5, "LAB016", f"{HALF}LLaMA-Factory {AS_ONE}"),
        ("axolotl@0.19", {}, 0.5, "LAB016", f"{HALF}Axolotl {AS_ONE}"),
        ("axolotl@0.19", NAMED, 0.5, "LAB016", f"{HALF}{ON}"),
        ("axolotl@0.19", NAMED, -1, "LAB016", f"message 1 has `weight: -1`, and {ON}"),
        ("axolotl@0.19", NAMED, "0.5", "LAB017", TEXT),
        ("hf-trainer", WEIGHED, 0.5, "", ""),
        ("hf-trainer", WEIGHED, 1, "", ""),
        (
            "hf-trainer",
            WEIGHED,
            0,
            "LAB001",
            "no token of this row is trained: every trainable message has weight 0",
        ),
        ("hf-trainer", WEIGHED, -0.5, "LAB018", "6 tokens trained with a weight below 0: the first 6 with -0.5"),
        ("hf-trainer", WEIGHED, 3, "LAB019", "6 tokens trained with a weight above 1: the first 6 with 3"),
        ("hf-trainer", WEIGHED, "0.5", "LAB017", TEXT),
        ("hf-trainer", WEIGHED, NAN, "LAB017", f"message 1 has `weight: nan`, {SPOILT}"),
        ("manual-shift", WEIGHED, float("inf"), "LAB017", f"message 1 has `weight: inf`, {SPOILT}"),
    ],
)
def test_what_is_said_of_a_weight(
    preset: str, changes: Mapping[str, Any], weight: Any, code: str, sentence: str
) -> None:
    expected = [(code, sentence)] if code else []
    assert [(one.code, one.sentence) for one in told(weight, preset, changes)] == expected


def test_a_weight_that_spoils_the_loss_is_an_error() -> None:
    assert [one.severity for one in told(NAN, "hf-trainer", WEIGHED)] == [Severity.ERROR]
    assert [one.severity for one in told("x", "hf-trainer", WEIGHED)] == [Severity.WARNING]


def test_the_weight_of_a_message_that_is_not_trained_does_not_reach_the_loss() -> None:
    [found] = told(0.5, "hf-trainer", WEIGHED, role="user")
    assert (found.code, found.message) == ("LAB016", 0)
    assert found.sentence == "message 0 has `weight: 0.5`, and hf-trainer does not train it"
    assert told(0, "hf-trainer", WEIGHED, role="user") == []


def test_a_key_that_is_not_the_named_one_is_not_read() -> None:
    changes = {**WEIGHED, "data.message_keys": {"weight": "loss_weight"}}
    assert told(0.5, "hf-trainer", changes, key="loss_weight") == []
    [found] = told(0.5, "hf-trainer", changes, key="weight")
    assert (found.code, found.sentence) == (
        "LAB016",
        "message 1 has `weight: 0.5`, and hf-trainer trains it with weight 1",
    )


def test_a_hostile_weight_is_drawn_as_text() -> None:
    [found] = told("\x1b[31m" + "9" * 500, "hf-trainer", WEIGHED)
    assert "\x1b" not in found.sentence and len(found.sentence) < 200


def test_a_huge_number_is_told() -> None:
    assert [one.code for one in told(10**400, "hf-trainer", WEIGHED)] == ["LAB017"]
