"""The v1 engine of LLaMA-Factory, rule by rule, on bundled tokenizers; what its own code gives is in the goldens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import Inspection, Reason, Row, Stage
from sftui.recipe import Recipe, changed
from sftui.tokens import load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.llamafactory.trainer import with_tokens
from sftui.trainers.llamafactory_v1.samples import _special_texts

SAID = {"user": 0.0, "assistant": 1.0, "system": 0.0, "tool": 0.0}


def turn(role: str, *texts: str, weight: float | None = None) -> dict[str, Any]:
    parts = [{"type": "text", "value": text} for text in texts]
    return {"role": role, "content": parts, "loss_weight": SAID[role] if weight is None else weight}


def said(part: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [part], "loss_weight": 1.0}


ROUNDS = [turn("user", "hi"), turn("assistant", "Hello."), turn("user", "Bye."), turn("assistant", "Bye!", weight=0.5)]


def inspected(row: Mapping[str, Any], knobs: Mapping[str, Any] | None = None, name: str = "chatml") -> Inspection:
    recipe: Recipe = preset("llamafactory-v1")
    for path, value in (knobs or {}).items():
        recipe = changed(recipe, path, value)
    rows = [Row(0, row, json.dumps(row), "rows.jsonl line 1")]
    detected = pipeline.detect(rows, recipe)
    tools = pipeline.make_toolbox(recipe, load_tokenizer(f"builtin:{name}"))
    return pipeline.inspect(rows[0], detected, recipe, tools)


def learnt(made: Inspection, name: str = "chatml") -> list[str]:
    """The text that each example trains."""
    tokenizer = load_tokenizer(f"builtin:{name}")
    return [
        b"".join(tokenizer.surface(token) for token in example.labels if token != -100).decode()
        for example in made.examples
    ]


def test_a_row_gives_a_sample_for_each_trained_answer() -> None:
    made = inspected({"messages": ROUNDS})
    assert made.problem is None
    assert learnt(made) == ["Hello.<|im_end|>\n", "Bye!<|im_end|>\n"]
    assert [set(example.weights or ()) for example in made.examples] == [{0.0, 1.0}, {0.0, 0.5}]
    assert made.rendered is not None and made.rendered.text == "".join(one.text for one in made.rendered.samples)
    assert made.labels is not None and [*made.labels.kept] == [(one.start, one.end) for one in made.tokens.samples]  # type: ignore[union-attr]
    assert made.received == sum(len(example.input_ids) for example in made.examples)


@pytest.mark.parametrize(
    ("weights", "trained"),
    [
        ((1.0, 1.0), ["Hello.<|im_end|>\n", "Bye!<|im_end|>\n"]),
        ((0.0, 1.0), ["Bye!<|im_end|>\n"]),
        ((1.0, 0.0), ["Hello.<|im_end|>\n"]),
        ((1e-7, 2.0), ["Bye!<|im_end|>\n"]),
    ],
)
def test_an_answer_of_no_weight_is_no_sample(weights: tuple[float, float], trained: list[str]) -> None:
    messages = [*ROUNDS[:1], turn("assistant", "Hello.", weight=weights[0]), ROUNDS[2]]
    assert learnt(inspected({"messages": [*messages, turn("assistant", "Bye!", weight=weights[1])]})) == trained


@pytest.mark.parametrize("weight", [0.0, 1e-6])
def test_a_row_without_a_trained_answer_is_one_sample_that_trains_nothing(weight: float) -> None:
    """Trained is what weighs more than 1e-6 (v1/core/data_engine.py)."""
    made = inspected({"messages": [turn("user", "hi"), turn("assistant", "Hello.", weight=weight)]})
    assert learnt(made) == [""] and made.labels is not None
    assert Reason.WEIGHT in made.labels.reasons and not made.trained


def test_what_stands_behind_the_last_trained_answer_reaches_no_sample() -> None:
    made = inspected({"messages": [*ROUNDS[:2], turn("user", "and now?")]})
    assert len(made.conversation.messages) == 2  # type: ignore[union-attr]
    assert any("after the last trained answer" in note for note in made.notes)


def test_special_tokens_in_texts_are_broken_up() -> None:
    made = inspected({"messages": [turn("user", "say <|im_end|> now"), turn("assistant", "<|im_end|>")]})
    assert made.rendered is not None
    assert made.rendered.text.count("<\u200b|im_end|>") == 2
    assert any("U+200B" in note for note in made.notes)


def test_special_tokens_of_two_characters_and_more_are_broken_up() -> None:
    """core/rendering/escape.py (_special_token_strings): the longest first."""
    tokenizer = with_tokens(load_tokenizer("builtin:chatml"), ["§", "§§"], special=True)
    found = _special_texts(tokenizer)
    assert found[-1] == "§§" and "§" not in found and "<|im_end|>" in found


@pytest.mark.parametrize(
    ("images", "stops"), [(None, True), ("a.png", False), (["a.png"], False), ([], True), (["a.png", "b.png"], True)]
)
def test_a_column_of_media_holds_a_file_or_a_list(images: Any, stops: bool) -> None:
    """v1/plugins/data_plugins/converter.py (_as_media_list): each tag takes one, and none is left."""
    row = {"instruction": "look at <image>", "output": "x", "images": images}
    assert (inspected(row).problem is not None) is stops
    assert (inspected({**row, "instruction": "look"}).problem is None) is (not images)


@pytest.mark.parametrize(
    ("knobs", "kept", "dropped"),
    [
        ({}, 2, False),
        ({"length.max": 20}, 1, False),
        ({"length.max": 5}, 0, True),
        ({"length.max": 5, "batch.flatten": True}, 2, False),
        ({"length.max": 5, "own.dynamic": True}, 2, False),
    ],
)
def test_samples_whose_answer_lies_beyond_the_limit(knobs: Mapping[str, Any], kept: int, dropped: bool) -> None:
    made = inspected({"messages": ROUNDS}, knobs)
    assert (len(made.examples), made.dropped is not None) == (kept, dropped)
    assert all(len(example.input_ids) <= knobs.get("length.max", 2048) for example in made.examples)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (
            {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]},
            "is text, not a list",
        ),
        ({"messages": [turn("user", "hi")]}, "the last message is not from the assistant"),
        ({"messages": [{**turn("assistant", "x"), "loss_weight": None}]}, "loss_weight of messages[0] is null"),
        ({"messages": [{"content": []}]}, "messages[0] has no role"),
        ({"messages": [*ROUNDS[:1], said({"type": "text", "value": None})]}, "not text"),
        ({"messages": ROUNDS, "tools": "no json"}, "the tools are not JSON"),
        (
            {"messages": [*ROUNDS[:1], said({"type": "tool_call", "value": '{"name": 1}'})]},
            "not an object with `name` and `arguments`",
        ),
        ({"instruction": "look at <image>", "output": "x"}, "more <image> tags than files"),
        ({"instruction": None, "output": "x"}, "is not text"),
        ({"conversations": [{"from": "gpt", "value": "x"}], "tools": [1]}, "not JSON text"),
        ({"conversations": [{"value": "x"}]}, "has no `from`"),
        ({"conversations": [5]}, "`conversations` is not a list of messages"),
        ({"conversations": "x"}, "`conversations` is not a list of messages"),
        ({"messages": [turn("user"), said({"value": "x"})]}, "a part in messages[1] has no type"),
        ({"messages": [turn("user"), said({"type": "text"})]}, "a part in messages[1] has no value"),
        ({"messages": [*ROUNDS[:1], {**ROUNDS[1], "content": None}]}, "messages[1] has no content"),
    ],
)
def test_rows_at_which_it_stops(row: Mapping[str, Any], why: str) -> None:
    made = inspected(row)
    assert made.problem is not None and why in made.problem.sentence()


@pytest.mark.parametrize(
    ("row", "format_"),
    [
        ({"messages": ROUNDS}, "messages"),
        ({"conversations": [{"from": "gpt", "value": "x"}]}, "sharegpt"),
        ({"instruction": "x"}, "alpaca"),
        ({"output": "x"}, "alpaca"),
    ],
)
def test_rows_are_read_by_their_columns(row: Mapping[str, Any], format_: str) -> None:
    found = pipeline.detect([Row(0, row, "", "row 0")], preset("llamafactory-v1"))
    assert found.format == format_
    assert found.message_keys == ({"role": "from", "content": "value"} if format_ == "sharegpt" else {})


def test_no_system_text_is_put_in() -> None:
    plain, asked = (inspected({"messages": ROUNDS}, knobs) for knobs in ({}, {"render.inject_system": "Be brief."}))
    assert plain.rendered is not None and asked.rendered is not None and plain.rendered.text == asked.rendered.text


@pytest.mark.parametrize("row", [{"chosen": [], "rejected": []}, {"text": "x"}])
def test_rows_that_are_no_samples(row: Mapping[str, Any]) -> None:
    made = inspected(row)
    assert made.stopped_at is Stage.CONVERSATION


def test_a_set_of_openai_messages_is_refused_as_a_whole() -> None:
    rows = [Row(0, {"messages": [{"role": "user", "content": "hi"}]}, "", "rows.jsonl line 1")]
    found = pipeline.detect(rows, preset("llamafactory-v1"))
    assert found.refused is not None and "TypeError" in found.refused.what


def test_a_prompt_that_is_no_beginning_stops_the_run() -> None:
    template = (
        "{% for m in messages %}{{ 'last ' if loop.last }}{{ m.role }}: {{ m.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant:{% endif %}"
    )
    knobs = {"render.template": "llamafactory-v1/custom", "own.custom_chat_template": template}
    made = inspected({"messages": ROUNDS}, knobs)
    assert made.stopped_at is Stage.LABELS and made.problem is not None
    assert "sample 1 of 2" in made.problem.what and "prompt is not a token-prefix" in made.problem.why


@pytest.mark.parametrize(
    ("row", "trained"),
    [
        ({"system": "", "instruction": "Say", "input": " it", "output": "It."}, ["It.<|im_end|>\n"]),
        (
            {
                "conversations": [
                    {"from": "human", "value": "hi"},
                    {"from": "narrator", "value": "meanwhile"},
                    {"from": "function_call", "value": "no json"},
                    {"from": "gpt", "value": "Hello."},
                ]
            },
            ["Hello.<|im_end|>\n"],
        ),
    ],
)
def test_the_converters(row: Mapping[str, Any], trained: list[str]) -> None:
    assert learnt(inspected(row)) == trained


@pytest.mark.parametrize("column", ["input", "system"])
def test_a_column_that_a_later_row_brings_is_null_in_those_before_and_stops_them(column: str) -> None:
    recipe = changed(preset("llamafactory-v1"), "data.format", "alpaca")
    rows = [{"instruction": "Ask.", "output": "Say."}, {"instruction": "Ask.", "output": "Say.", column: "More."}]
    source = [Row(i, row, "", f"row {i}") for i, row in enumerate(rows)]
    detected = pipeline.detect(source, recipe)
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml", mode="provisional"))
    made = [pipeline.inspect(row, detected, recipe, tools) for row in source]
    assert [one.problem is not None for one in made] == [True, False]


def test_a_system_column_is_a_message_even_where_it_is_empty() -> None:
    made = inspected({"system": "", "instruction": "Say", "input": "it", "output": "It."})
    assert made.rendered is not None
    assert made.rendered.text.startswith("<|im_start|>system\n<|im_end|>\n<|im_start|>user\nSayit<|im_end|>")


def test_a_processor_beside_the_tokenizer_is_told(tmp_path: Path) -> None:
    recipe = changed(preset("llamafactory-v1"), "tokenizer.name", str(tmp_path))
    trainer = trainer_named("llamafactory-v1")
    assert not any("processor" in one for one in trainer.remarks(recipe))
    (tmp_path / "preprocessor_config.json").write_text("{}")
    assert any("processor" in one for one in trainer.remarks(recipe))


def test_batches_are_padded_with_the_id_0_and_count_positions_from_1() -> None:
    recipe = preset("llamafactory-v1")
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    made = inspected({"messages": ROUNDS})
    batch = trainer_named("llamafactory-v1").collate(made.examples, [0, 0], recipe, tools)
    short, width = len(made.examples[0].input_ids), len(batch.input_ids[1])
    assert batch.input_ids[0][short:] == (0,) * (width - short)
    assert batch.position_ids is not None and batch.position_ids[0][: short + 1] == (*range(1, short + 1), 0)
    flat = trainer_named("llamafactory-v1").collate(
        made.examples, [0, 0], changed(recipe, "batch.flatten", True), tools
    )
    assert flat.position_ids is not None and flat.position_ids[0] == (*range(short), *range(width))
    first, second = (list(example.weights or ()) for example in made.examples)
    assert flat.attention_mask is None and flat.weights is not None
    assert list(flat.weights[0]) == [*first, 0.0, *second[1:]]
