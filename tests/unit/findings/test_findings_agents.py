"""Rows of agents in each trainer's own roles: what is right passes in silence, what is wrong is found all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_runner import run

from sftui.findings import Severity
from sftui.findings.rule import TOOL, Case, case, chat
from sftui.trainers import traits_of
from sftui.trainers.traits import MessageKind

TOOLS = json.dumps([TOOL])
SWIFT: dict[str, Any] = {"preset": "ms-swift@4.6", "changes": {"render.template": "ms-swift/qwen2_5"}}
FACTORY: dict[str, Any] = {"preset": "llamafactory@0.9", "changes": {"render.template": "llamafactory/qwen"}}


def call(*cities: str, name: str = "get_weather", encoded: bool = False) -> str:
    made = [{"city": city} for city in cities]
    calls = [{"name": name, "arguments": json.dumps(given) if encoded else given} for given in made]
    return json.dumps(calls if len(calls) > 1 else calls[0])


def swift(*turns: tuple[str, str]) -> Case:
    messages = [{"role": role, "content": text} for role, text in turns]
    return case({"messages": messages, "tools": TOOLS}, **SWIFT)


def factory(*turns: tuple[str, str]) -> Case:
    turned = [{"from": role, "value": text} for role, text in turns]
    return case({"conversations": turned, "tools": TOOLS}, **FACTORY)


ASKED, HUMAN = ("user", "Weather?"), ("human", "Weather?")
MADE, MORE, GAVE = ("tool_call", call("Paris")), ("tool_call", call("Rome")), ("tool_response", "20 °C")
SAID = ("assistant", "It is 20 °C.")
CALLED, SEEN, GPT = ("function_call", call("Paris")), ("observation", "20 °C"), ("gpt", "It is 20 °C.")
ANSWER = {"role": SAID[0], "content": SAID[1]}
RIGHT = {
    "ms-swift: the row ends with a call": swift(ASKED, MADE),
    "ms-swift: words before the last call": swift(ASKED, ("assistant", "I look."), MADE),
    "ms-swift: a result behind its call": swift(ASKED, MADE, GAVE, SAID),
    "ms-swift: the result's other name": swift(ASKED, MADE, ("tool", "20 °C"), SAID),
    "ms-swift: parallel calls": swift(ASKED, MADE, MORE, GAVE, GAVE, SAID),
    "ms-swift: words before parallel calls, in two rounds": swift(
        *(ASKED, ("assistant", "I look."), MADE, MORE, GAVE, GAVE, SAID),
        *(ASKED, ("assistant", "Again."), MADE, GAVE, SAID),
    ),
    "ms-swift: a call behind a result": swift(ASKED, MADE, GAVE, MORE),
    "ms-swift: parameters for arguments": swift(
        ASKED, ("tool_call", '{"name": "get_weather", "parameters": {"city": "Paris"}}'), GAVE, SAID
    ),
    "ms-swift: roles of other formats": swift(HUMAN, CALLED, SEEN, GPT),
    "LLaMA-Factory: the row ends with a call": factory(HUMAN, CALLED),
    "LLaMA-Factory: a result behind its call": factory(HUMAN, CALLED, SEEN, GPT),
    "LLaMA-Factory: parallel calls, one result": factory(HUMAN, ("function_call", call("Paris", "Rome")), SEEN, GPT),
    "LLaMA-Factory: a call behind a result": factory(HUMAN, CALLED, SEEN, CALLED),
    "LLaMA-Factory: a call behind an answer": factory(HUMAN, GPT, HUMAN, CALLED),
    "LLaMA-Factory: a thought before the call": factory(
        HUMAN, ("function_call", f"<think>\nWhere?\n</think>\n\n{call('Paris')}"), SEEN, GPT
    ),
}
WRONG = {
    "ms-swift: a result without a call": ("TOO006", 1, swift(ASKED, GAVE, SAID)),
    "ms-swift: a result behind an answer": ("TOO006", 2, swift(ASKED, SAID, GAVE, SAID)),
    "ms-swift: a call of no tool of the row": (
        "TOO006",
        1,
        swift(ASKED, ("tool_call", call("Paris", name="get_wether")), GAVE, SAID),
    ),
    "ms-swift: a call without a result": ("TOO006", 1, swift(ASKED, MADE, SAID)),
    "ms-swift: the row ends with a result": ("LAB012", 2, swift(ASKED, MADE, GAVE)),
    "LLaMA-Factory: a result behind an answer": ("TOO006", 2, factory(HUMAN, GPT, SEEN, GPT)),
    "LLaMA-Factory: a result first": ("TOO006", 0, factory(SEEN, GPT)),
    "LLaMA-Factory: arguments that are JSON text": (
        "TOO001",
        1,
        factory(HUMAN, ("function_call", call("Paris", encoded=True)), SEEN, GPT),
    ),
    "LLaMA-Factory: the row ends with a result": ("LAB012", 2, factory(HUMAN, CALLED, SEEN)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_rows_have_neither_errors_nor_warnings(name: str) -> None:
    found = [one for one in run(RIGHT[name]).findings if one.severity is not Severity.INFO and one.code != "TPL016"]
    assert [(one.code, one.sentence) for one in found] == []


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rows_are_found_at_their_message(name: str) -> None:
    code, message, wrong = WRONG[name]
    assert message in [one.message for one in run(wrong).of(code)]


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ((ASKED, {**ANSWER, "loss": False}), [(1, "its end is trained anyway")]),
        ((ASKED, {**ANSWER, "loss": False}, ASKED, ANSWER), []),
        ((ASKED, {**ANSWER, "loss": True}), []),
        ((ASKED, {**ANSWER, "loss": False}, MADE), []),
        ((ASKED, {"role": MADE[0], "content": MADE[1], "loss": False}), [(1, "its end is trained anyway")]),
    ],
)
def test_an_end_that_is_trained_behind_what_is_not_is_said_by_its_key(
    turns: tuple[Any, ...], found: list[tuple[int, str]]
) -> None:
    told = run(case({**chat(*turns), "tools": TOOLS}, **SWIFT)).of("LAB010")
    assert [(one.message, one.sentence) for one in told] == [
        (number, f"message {number} says `loss: False`, and {outcome}") for number, outcome in found
    ]
    assert all(one.severity is Severity.INFO for one in told)


def test_an_empty_thought_of_the_data_is_the_same_in_both_templates() -> None:
    thoughtful = {**ANSWER, "content": f"<think>\n\n</think>\n\n{ANSWER['content']}"}
    turns = (("system", "Be kind."), ASKED, thoughtful, ASKED, thoughtful)
    for name in ("chatml", "qwen3"):
        told = run(case(chat(*turns), preset="ms-swift@4.6", changes={"render.template": f"ms-swift/{name}"}))
        assert not told.of("TPL016"), told.of("TPL016")[0].sentence


def test_a_call_that_the_trainer_leaves_behind_was_made() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
    said = chat(ASKED, {"role": "assistant", "content": "I look.", "tool_calls": [call]}, ("tool", "20 °C"), SAID)
    found = run(case({**said, "tools": TOOLS}, **FACTORY))
    assert found.of("TOO002") and not found.of("TOO006")


def test_a_role_is_what_its_trainer_takes_it_for() -> None:
    kinds = {preset: traits_of(preset).kind_of("function") for preset in ("llamafactory@0.9", "trl@1.16")}
    assert kinds == {"llamafactory@0.9": MessageKind.CALL, "trl@1.16": MessageKind.RESULT}
    assert traits_of("trl@1.16").kind_of("narrator") is None
    assert traits_of("ms-swift@4.6").answering == {"assistant", "tool_call"}


def test_a_thought_before_a_call_is_not_alone() -> None:
    called = ("tool_call", '{"name": "get_weather", "arguments": {"city": "Oslo"}}')
    asked = [("user", "Weather?"), ("assistant", "<think>\nI look.\n</think>\n")]
    turns = [*asked, called, ("tool_response", "0"), ("assistant", "Zero.")]
    assert not run(case({**chat(*turns), "tools": TOOLS}, **SWIFT)).of("THK008")
    assert run(case({**chat(*asked), "tools": TOOLS}, **SWIFT)).of("THK008")
