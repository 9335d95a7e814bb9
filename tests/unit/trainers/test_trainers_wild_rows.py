"""No trainer raises for what a row contains: failures are data, with a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sftui import pipeline
from sftui.model import Row
from sftui.recipe import changed
from sftui.tokens import load_tokenizer
from sftui.trainers import preset, preset_names

SCALAR = st.none() | st.booleans() | st.integers(-3, 2**40) | st.floats(allow_nan=False) | st.text(max_size=8)
VALUE = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "from",
                    "value",
                    "type",
                    "text",
                    "label",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
TURN = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "system", "tool", "human"]) | SCALAR,
        "content": st.text(max_size=12) | VALUE,
        "from": st.sampled_from(["human", "gpt", "function_call", "observation"]) | SCALAR,
        "value": st.text(max_size=12) | VALUE,
        "tool_calls": VALUE,
        "train": SCALAR,
        "weight": SCALAR,
        "reasoning_content": SCALAR,
    },
)
ROW = st.fixed_dictionaries(
    {},
    optional={
        "messages": st.lists(TURN, max_size=4) | VALUE,
        "conversations": st.lists(TURN, max_size=4) | VALUE,
        "prompt": st.text(max_size=9) | VALUE,
        "completion": st.text(max_size=9) | VALUE,
        "text": SCALAR,
        "instruction": SCALAR,
        "input": SCALAR,
        "output": SCALAR,
        "tools": VALUE,
        "chat_template_kwargs": VALUE,
        "system": SCALAR,
        "history": VALUE,
        "segments": VALUE,
        "input_ids": st.lists(st.integers(-2, 5000), max_size=6) | VALUE,
        "labels": st.lists(st.integers(-100, 50), max_size=6) | VALUE,
        "attention_mask": VALUE,
        "question": SCALAR,
        "answer": SCALAR,
    },
)
TOKENIZER = load_tokenizer("builtin:chatml")


@pytest.mark.one_of(4)
@pytest.mark.parametrize("name", preset_names())
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=3))
def test_wild_rows_become_problems(name: str, rows: list[dict[str, Any]]) -> None:
    recipe = preset(name)
    if recipe.trainer == "ms-swift":  # it takes the template by the model's name, which the tokenizer here has not
        recipe = changed(recipe, "render.template", "ms-swift/chatml")
    tools = pipeline.make_toolbox(recipe, TOKENIZER)
    made = [Row(i, row, json.dumps(row), f"row {i}") for i, row in enumerate(rows)]
    detected = pipeline.detect(made, recipe)
    tools = pipeline.survey(made[0], detected, recipe, tools)
    for row in made:
        one = pipeline.inspect(row, detected, recipe, tools)
        if one.problem is not None:
            sentence = one.problem.sentence()
            assert one.stopped_at is not None and sentence and "\n" not in sentence.strip()
        else:
            assert one.labels is not None and one.tokens is not None
            assert len(one.labels.labels) == len(one.labels.reasons) == len(one.tokens)
            if one.example is not None:
                assert len(one.example.input_ids) == len(one.example.attention_mask)
