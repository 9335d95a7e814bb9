"""ms-swift rule by rule, on bundled tokenizers; what its own code gives is in the goldens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.errors import RecipeError, SftuiError
from sftui.model import Inspection, Pack, Part, Problem, Reason, Row
from sftui.recipe import Recipe, changed
from sftui.tokens import load_tokenizer
from sftui.trainers import Toolbox, preset, trainer_named
from sftui.trainers.ms_swift import registry
from sftui.trainers.ms_swift.packing import RowDraw
from sftui.trainers.ms_swift.trainer import MsSwift, _kept, template_name
from sftui.trainers.own_config import notes_of

CHAT = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]}
CHATS = {"messages": [*CHAT["messages"], {"role": "user", "content": "more"}, {"role": "assistant", "content": "No."}]}
TOOL = {"name": "add", "description": "Adds", "parameters": {"type": "object", "properties": {}}}
CALLED = {
    "messages": [
        {"role": "user", "content": "2 and 2"},
        {"role": "tool_call", "content": '{"name": "add", "arguments": {"a": 2}}'},
        {"role": "tool_response", "content": "4"},
        {"role": "assistant", "content": "Four."},
    ],
    "tools": [TOOL],
}


def prepared(
    rows: Sequence[Mapping[str, Any]], template: str = "chatml", name: str = "builtin:chatml", **knobs: Any
) -> tuple[list[Inspection], Recipe, Toolbox]:
    recipe = changed(preset("ms-swift"), "render.template", f"ms-swift/{template}")
    for path, value in knobs.items():
        recipe = changed(recipe, path.replace("__", "."), value)
    made = [Row(i, row, json.dumps(row), f"rows.jsonl line {i + 1}") for i, row in enumerate(rows)]
    detected = pipeline.detect(made, recipe)
    tools = pipeline.survey(made[0], detected, recipe, pipeline.make_toolbox(recipe, load_tokenizer(name)))
    return [pipeline.inspect(row, detected, recipe, tools) for row in made], recipe, tools


def inspected(row: Mapping[str, Any], template: str = "chatml", **knobs: Any) -> Inspection:
    return prepared([row], template, **knobs)[0][0]


def learnt(made: Inspection) -> str:
    """The text that is trained."""
    assert made.problem is None and made.example is not None, made.problem
    tokenizer = load_tokenizer("builtin:chatml")
    return b"".join(tokenizer.surface(token) for token in made.example.labels if token != -100).decode()


def weights_of(made: Inspection) -> dict[float, str]:
    """The text of each weight that is trained."""
    assert made.example is not None and made.example.weights is not None
    tokenizer, found = load_tokenizer("builtin:chatml"), dict[float, str]()
    for token, label, weight in zip(made.example.input_ids, made.example.labels, made.example.weights):
        if label != -100:
            found[weight] = found.get(weight, "") + tokenizer.surface(token).decode()
    return found


@pytest.mark.parametrize(
    ("row", "template", "knobs", "trained"),
    [
        (CHATS, "chatml", {}, "Hello.<|im_end|>\nNo.<|im_end|>\n"),
        (CHATS, "chatml", {"mask__turns": "last"}, "No.<|im_end|>\n"),
        (CHATS, "qwen3", {}, "Hello.<|im_end|>\nNo.<|im_end|>\n"),
        (CHATS, "qwen3", {"own__disable_ignore_empty_think": True}, "<think>\n\n</think>\n\nHello.<|im_end|>\n"
         + "<think>\n\n</think>\n\nNo.<|im_end|>\n"),
        (CHATS, "qwen3", {"own__add_non_thinking_prefix": False}, "Hello.<|im_end|>\nNo.<|im_end|>\n"),
        (CALLED, "qwen", {}, '<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call><|im_end|>\n'
         "Four.<|im_end|>\n"),
        ({"messages": [*CHAT["messages"], {"role": "user", "content": "last"}]}, "chatml", {}, "Hello.<|im_end|>\n"),
        ({"text": "Once."}, "chatml", {"own__use_chat_template": False, "mask__rule": "all"}, "ce.<|im_end|>"),
        ({"query": "q", "response": "r", "history": [["a", "b"]]}, "chatml", {}, "b<|im_end|>\nr<|im_end|>\n"),
    ],
)  # fmt: skip
def test_what_is_trained(row: Mapping[str, Any], template: str, knobs: dict[str, Any], trained: str) -> None:
    assert learnt(inspected(row, template, **knobs)) == trained


@pytest.mark.parametrize("template", ["skywork", "yuan"])
def test_a_template_of_one_round_takes_the_last(template: str) -> None:
    """ms-swift 4.6.0, template/base.py: messages[-2:], an answer that is not there counted."""
    last = CHATS["messages"][2:]
    assert inspected(CHATS, template).example == inspected({"messages": last}, template).example is not None
    asked = inspected({"messages": CHATS["messages"][:3]}, template)
    alone = inspected({"messages": last[:1]}, template)
    assert asked.rendered is not None and alone.rendered is not None and asked.rendered.text == alone.rendered.text


@pytest.mark.parametrize(
    ("messages", "rejected", "left_out"),
    [
        (CHAT["messages"], "Hello.", True),
        (CHAT["messages"], "Bye.", False),
        (CHAT["messages"], [{"role": "assistant", "content": "Hello."}], True),
        (CHAT["messages"], [{"role": "assistant", "content": "Bye."}], False),
        (CHATS["messages"], [{"role": "assistant", "content": "No."}], True),
        (CHATS["messages"], [{"role": "assistant", "content": "Hello."}], False),
        ([*CHAT["messages"], CHAT["messages"][1]], [{"role": "assistant", "content": "Hello."}], False),  # two behind
        (CHAT["messages"][1:], [{"role": "assistant", "content": "Hello."}], True),  # no question at all
        (CHAT["messages"], [{"role": "assistant", "content": "Hello."}] * 2, False),
        (CHAT["messages"], [{"role": "user", "content": "Bye."}], True),
    ],
)
def test_a_rejected_answer_must_be_another(messages: list[dict[str, str]], rejected: Any, left_out: bool) -> None:
    """template_inputs.py (_compat_rejected_response): compared where one message is behind the last question."""
    made = inspected({"messages": messages, "rejected_response": rejected})
    assert (made.dropped is not None) is left_out, made.dropped


@pytest.mark.parametrize(("role", "gone"), [("user", False), ("robot", True), (None, True)])
def test_rows_that_are_left_out_are_gone_before_rows_are_drawn(role: str | None, gone: bool) -> None:
    made = inspected({"messages": [{"role": role, "content": "x"}, CHAT["messages"][1]]})
    draw = RowDraw("split_dataset_ratio", 0.5, 42, drawn=True)
    assert draw.unreadable(made) is gone
    assert not draw.unreadable(replace(made, conversation=None, problem=None))
    assert draw.unreadable(replace(made, problem=Problem("no JSON", "", "")))


def test_weights_go_by_the_text_and_by_the_message() -> None:
    calls = inspected(CALLED, "qwen", own__loss_scale="hermes")
    assert weights_of(calls)[2.0].startswith("<tool_call>") and weights_of(calls)[1.0].endswith("Four.<|im_end|>\n")
    half = {"messages": [*CHAT["messages"][:1], {"role": "assistant", "content": "Half.", "loss_scale": 0.5}]}
    assert weights_of(inspected(half)) == {1.0: "Half.<|im_end|>\n"}
    assert any("has no effect" in note for note in inspected(half).notes)
    assert weights_of(inspected(half, own__is_binary_loss_scale=False)) == {0.5: "Half.", 1.0: "<|im_end|>\n"}


@pytest.mark.parametrize(
    ("row", "template", "knobs", "why"),
    [
        (CALLED, "chatml", {}, "name one with `agent_template`"),
        (CALLED, "chatml", {"own__agent_template": "hermess"}, "has no agent_template `hermess` (KeyError: 'hermess')"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "chatml", {}, "has the role 'robot'"),
        ({"messages": [{"role": "user", "content": None}]}, "chatml", {}, "is null"),
        ({"messages": []}, "chatml", {}, "is empty"),
        ({"messages": "no JSON"}, "chatml", {}, "is text, but not valid JSON"),
        ({"messages": [{"role": "system", "content": "alone"}]}, "chatml", {}, "the row has no messages"),
        ({"messages": [*CHAT["messages"], {"role": "system", "content": "late"}]}, "chatml", {}, "the role system"),
        (CHATS, "chatml", {"length__max": 10}, "exceed max_length 10"),
        ({"instruction": None, "input": None, "output": "x"}, "chatml", {}, "neither an instruction nor an input"),
        ({"query": "q", "response": "r", "history": "x"}, "chatml", {}, "text that Python cannot read"),
        (
            {**CHAT, "tools": CALLED["tools"]},
            "dummy",
            {"own__agent_template": "hermes"},
            "has no system text, where tools would be written",
        ),
    ],
)
def test_a_row_that_is_left_out_says_why(
    row: Mapping[str, Any], template: str, knobs: dict[str, Any], why: str
) -> None:
    made = inspected(row, template, **knobs)
    assert made.example is None and made.dropped is not None and why in made.dropped
    strict = inspected(row, template, own__strict=True, **knobs)
    assert strict.problem is not None and why in strict.problem.what and "strict" in strict.problem.why


@pytest.mark.parametrize(
    ("template", "knobs", "why"),
    [
        ("qwen2_5_vl", {}, "sftui does not model the template `qwen2_5_vl`"),
        ("qwen33", {}, "has no template `qwen33`"),
        ("chatml", {"mask__rule": "completion"}, "has no mask.rule `completion`"),
        ("chatml", {"own__loss_scale": "hermess"}, "has no loss_scale `hermess`"),
        ("chatml", {"length__over": "split"}, "currently only supported for pre-training"),
        ("gemma3_text", {"render__inject_system": "x"}, "has no system text"),
        ("telechat", {}, "`user_token_id`, which the tokenizer does not have"),
    ],
)
def test_what_is_refused_is_named(template: str, knobs: dict[str, Any], why: str) -> None:
    try:
        made = inspected(CHAT, template, **knobs)
    except SftuiError as error:
        assert why in str(error)
    else:
        assert made.problem is not None and why in made.problem.what


def test_rows_of_other_agent_templates_are_refused_by_name() -> None:
    made = inspected(CALLED, "chatml", own__agent_template="kimi_k3")
    assert made.problem is not None and "`kimi_k3`" in made.problem.what and made.problem.ours
    assert inspected(CHAT, "minimax_m2").problem is None  # without tools its template is like any other


def test_the_day_is_written_where_a_template_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    behind = trainer_named("ms-swift")
    assert isinstance(behind, MsSwift)
    monkeypatch.setattr(behind, "today", lambda: date(2026, 2, 3))
    rendered = inspected(CHAT, "llama3_2", name="builtin:llama3").rendered
    assert rendered is not None and "Today Date: 03 Feb 2026" in rendered.text
    recipe = changed(preset("ms-swift"), "render.template", "ms-swift/llama3_2")
    assert any("inserts the date of" in note for note in notes_of(recipe))


def test_the_end_of_an_answer_is_learnt_where_the_separator_is_the_suffix() -> None:
    made = inspected(CHATS)
    assert made.labels is not None
    assert list(made.labels.reasons).count(Reason.TERMINATOR) >= 2
    gemma = prepared([CHATS], "gemma", "builtin:gemma")[0][0]  # <end_of_turn>\\n between rounds, without it at the end
    assert gemma.example is not None and gemma.example.trained > 4


def packs_of(rows: Sequence[Mapping[str, Any]], **knobs: Any) -> list[Pack]:
    made, recipe, tools = prepared(rows, **knobs)
    return list(pipeline.pack_rows(made, recipe, tools))


def test_packs_hold_the_longest_first_or_rows_in_order() -> None:
    rows = [
        {"messages": [{"role": "user", "content": "x " * n}, {"role": "assistant", "content": "y"}]}
        for n in (1, 30, 2, 20, 3)
    ]
    best = packs_of(rows, pack__strategy="binpack", length__max=90)
    order = packs_of(rows, pack__strategy="sequential", length__max=90)
    assert [row for pack in order for row, _, _ in pack.documents] == [0, 1, 2, 3, 4]
    assert best[0].documents[0][0] == 1 and sum(len(pack.documents) for pack in best) == 5
    assert all(pack.position_ids is not None and pack.position_ids.count(0) == len(pack.documents) for pack in best)


@pytest.mark.parametrize(
    ("name", "kind", "config", "template"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", None, None, "qwen2_5"),
        ("/models/Qwen3-8B/", None, None, "qwen3"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", None, None, "llama3"),
        ("x/models--Qwen--Qwen3-4B/snapshots/abc", None, None, "qwen3"),
        ("mine", "llama3_2", None, "llama3_2"),
        ("mine", None, {"architectures": ["OlmoeForCausalLM"]}, None),
        ("mine", None, {"architectures": ["MyForCausalLM"]}, "dummy"),
        ("mine", None, {}, None),
        ("mine", None, {"architectures": ["LlamaForCausalLM"]}, "cannot determine the model_type"),
        ("mine", "llama33", None, "has no model_type `llama33`"),
    ],
)
def test_the_template_of_a_model(
    tmp_path: Path, name: str, kind: str | None, config: dict[str, Any] | None, template: str | None
) -> None:
    if config is not None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 77}))
        name = str(tmp_path / name)
    try:
        found = registry.model_of(name, None, kind)
    except SftuiError as error:
        assert template is not None and template in str(error)
        return
    assert found.template == template and found.longest == (None if config is None else 77)


def test_every_recorded_template_makes_a_row() -> None:
    told = []
    for name in registry.TEMPLATES:
        try:
            made = inspected(CHAT, name)
        except SftuiError as error:
            told.append(f"{name}: {error}")
            continue
        assert made.problem is None or "which the tokenizer does not have" in made.problem.what, (name, made.problem)
        assert made.problem is not None or made.example is not None, (name, made.dropped)
    assert {line.partition(":")[0] for line in told} <= {"telechat", "telechat2"}, told


def test_numbers_lose_decimals_where_its_dataset_keeps_messages_and_tools_as_json() -> None:
    """ms-swift 4.6.0, dataset/preprocessor/core.py (_patch_arrow_writer): both are List(Json())."""
    said = {"role": "tool_call", "content": {"name": "go", "arguments": {"lat": 52.5200065999997, "zero": -1e-12}}}
    tool = {**TOOL, "parameters": {"type": "object", "minimum": 0.12345678901}}
    row = {"messages": [{"role": "user", "content": "q"}, said], "tools": [tool]}
    made = inspected(row, "qwen")
    assert learnt(made).endswith(
        '{"name": "go", "arguments": {"lat": 52.5200066, "zero": 0.0}}\n</tool_call><|im_end|>\n'
    )
    assert made.rendered is not None and '"minimum": 0.12345678900000001' in made.rendered.text


def test_a_model_type_of_several_templates_stops_where_none_is_named() -> None:
    """ms-swift 4.6.0, template/register.py (get_template_meta): a named template is taken before the model is asked."""
    recipe = changed(preset("ms-swift"), "own.model_type", "qwen2")
    with pytest.raises(RecipeError, match="cannot determine the template"):
        template_name(recipe)
    assert template_name(changed(recipe, "render.template", "ms-swift/qwen2_5")) == "qwen2_5"
    assert template_name(preset("ms-swift")) is None, "no model is named"


@pytest.mark.parametrize(
    ("over", "ids", "protected", "left"),
    [
        ("cut_right", (1, 2, 3, 4, 9), {9}, ((0, 2), (4, 5))),
        ("cut_left", (9, 1, 2, 3, 4), {9}, ((0, 1), (3, 5))),
        ("cut_right", (1, 2, 3, 4, 5), {9}, ((0, 3),)),
        ("cut_left", (1, 2, 3, 4, 5), {9}, ((2, 5),)),
        ("cut_left", (9, 9, 9, 1, 2), {9}, ((0, 3),)),  # nothing else is left
        ("cut_right", (9, 1, 9, 9, 9), {9}, ((0, 1), (2, 5))),
    ],
)
def test_a_cut_leaves_what_stands_for_images(
    over: str, ids: tuple[int, ...], protected: set[int], left: tuple[tuple[int, int], ...]
) -> None:
    """ms-swift 4.6.0, template/base.py (_truncate)."""
    recipe = changed(preset("ms-swift"), "length.over", over)
    assert _kept(ids, recipe, 3, frozenset(protected)) == (left, None)


@pytest.mark.parametrize(
    ("answer", "knobs", "reasons"),
    [
        ({}, {}, [Reason.ASSISTANT, Reason.TERMINATOR]),
        ({}, {"mask__rule": "all"}, [Reason.FORCED, Reason.WHOLE, Reason.TERMINATOR]),
        ({"loss": True}, {}, [Reason.FLAG, Reason.TERMINATOR]),
        ({"loss_scale": 2}, {}, [Reason.ASSISTANT, Reason.TERMINATOR]),
    ],
)
def test_why_an_answer_is_trained(answer: dict[str, Any], knobs: dict[str, Any], reasons: list[Reason]) -> None:
    row = {"messages": [CHAT["messages"][0], {**CHAT["messages"][1], **answer}]}
    made = inspected(row, **knobs)
    assert made.labels is not None
    seen = list(dict.fromkeys(made.labels.reasons))
    assert [one for one in seen if one not in (Reason.PROMPT, Reason.HEADER)] == reasons


def test_an_answer_that_is_masked_by_itself_says_so() -> None:
    first, second = CHATS["messages"][:2], CHATS["messages"][2:]
    made = inspected({"messages": [first[0], {**first[1], "loss": False}, *second]})
    assert made.labels is not None and made.tokens is not None
    why = dict(zip(zip(made.tokens.messages, made.tokens.parts), made.labels.reasons))
    assert why[1, Part.CONTENT] == why[1, Part.TERMINATOR] == Reason.FLAG_OFF
    assert why[2, Part.CONTENT] == why[0, Part.CONTENT] == Reason.PROMPT and why[3, Part.CONTENT] == Reason.ASSISTANT


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        ({"from": "user", "value": "x"}, {"role": "from", "content": "value"}),
        ({"role": "user", "content": "x"}, {"role": "role", "content": "content"}),
    ],
)
def test_the_keys_of_the_first_message_are_those_of_all(message: dict[str, str], keys: dict[str, str]) -> None:
    rows = [Row(i, {"messages": found}, "", f"row {i}") for i, found in enumerate(([], [message, {"x": "y"}]))]
    assert pipeline.detect(rows, preset("ms-swift")).message_keys == keys
