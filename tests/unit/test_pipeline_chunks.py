"""Rows encoded many at a time: each as it is alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import NO_TEXT, Inspection, Reason, Row
from sftui.recipe import changed
from sftui.tokens import load_tokenizer
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import preset

MARKERS = {
    "mask.rule": "markers",
    "render.template": "builtin:chatml",
    "mask.instruction_marker": "<|im_start|>user",
    "mask.response_marker": "<|im_start|>assistant",
}
RULES: list[tuple[str, dict[str, Any]]] = [
    ("hf-trainer", {}),
    ("hf-trainer", {"mask.rule": "all"}),
    ("hf-trainer", {"mask.rule": "assistant"}),
    ("hf-trainer", {"mask.rule": "completion", "mask.terminator": "mask"}),
    ("hf-trainer", {"mask.boundary": "common_prefix", "length.max": 20}),
    ("hf-trainer", {"tokenize.append_eos": "if_missing_text", "tokenize.add_special_tokens": True}),
    ("hf-trainer", {"tokenize.append_eos": "always", "tokenize.bos": "drop_second"}),
    ("manual-shift", {}),
    ("trl", {}),
    ("trl", {"mask.rule": "completion"}),
    ("unsloth", {}),
    ("unsloth", MARKERS),
    ("unsloth", {**MARKERS, "own.text_from": "messages", "length.max": 60}),
    ("unsloth", {**MARKERS, "own.text_from": "messages", "mask.turns": "last", "length.max": 60}),
    ("axolotl", {}),
    ("llamafactory", {"own.formatting": "openai", "render.template": "llamafactory/llama3"}),
    ("llamafactory-v1", {"length.max": 60}),
    ("torchtune", {}),
    ("mlx-lm", {"mask.rule": "completion"}),
    ("verl", {"own.ignore_input_ids_mismatch": True}),
    ("nemo-automodel", {}),
    ("ms-swift", {"render.template": "ms-swift/chatml"}),
    ("ms-swift", {"render.template": "ms-swift/qwen3", "length.max": 20, "length.over": "cut_right"}),
    ("ms-swift", {"render.template": "ms-swift/chatml", "own.is_binary_loss_scale": False, "mask.turns": "last"}),
]


STOPPED = ("llamafactory", "llamafactory-v1", "verl")
"""By a row that is no list they stop at the file."""


def row(number: int) -> dict[str, Any]:
    asked = {"role": "user", "content": f"Question {number}?" + "\ud800" * (number == 7)}
    if number == 9:
        return {"messages": [asked]}
    if number == 11:
        return {"messages": "no list"}
    return {"messages": [asked, {"role": "assistant", "content": f"\n\nAnswer {number}." * (1 + number % 5)}]}


def samples_of(data: dict[str, Any]) -> dict[str, Any]:
    """The row as LLaMA-Factory's v1 engine has it, without the line feeds at which it stops."""
    if isinstance(data["messages"], str):
        return data
    parts = [{**one, "content": [{"type": "text", "value": one["content"].lstrip()}]} for one in data["messages"]]
    weights = ({"loss_weight": float(one["role"] == "assistant")} for one in parts)
    return {"messages": [{**one, **weight} for one, weight in zip(parts, weights)]}


def alike(one: Inspection) -> Inspection:
    """Without what nobody asked for: places, why each token is trained, and which pieces stand around contents."""
    tokens = one.tokens and replace(one.tokens, starts=(), ends=(), messages=(), parts=())
    labels = one.labels and replace(one.labels, reasons=(Reason.WHOLE,) * len(one.labels.values))
    rendered = one.rendered and replace(one.rendered, spans=(), pieces=None, exact=True, notes=())
    return replace(
        one, tokens=tokens, labels=labels, rendered=rendered, notes=(), token_text=NO_TEXT, prompt_text=NO_TEXT
    )


@pytest.mark.one_of(2)
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("tokenizer", ["builtin:chatml", "builtin:llama3"])
@pytest.mark.parametrize(("trainer", "knobs"), RULES)
def test_a_chunk_gives_what_each_row_gives_alone(
    trainer: str, knobs: dict[str, Any], tokenizer: str, many: bool
) -> None:
    recipe = changed(preset(trainer), "tokenizer.name", tokenizer)
    for path, value in knobs.items():
        recipe = changed(recipe, path, value)
    numbers = [number for number in range(40) if number != 11 or trainer not in STOPPED]
    shaped = samples_of if trainer == "llamafactory-v1" else dict
    rows = [Row(number, shaped(row(number)), "", f"row {number}") for number in numbers]
    detected = pipeline.detect(rows, recipe)
    tools = pipeline.make_toolbox(recipe, load_tokenizer(tokenizer))
    tools = pipeline.survey(rows[0], detected, recipe, tools)
    alone = [pipeline.inspect(one, detected, recipe, tools, text=True) for one in rows]
    bulk = Bulk("soon" if many else "never", at_once=8)
    found = list(pipeline.inspect_all(iter(rows), detected, recipe, tools, bulk))
    assert list(map(alike, found)) == list(map(alike, alone)) and bulk.mismatch is None
    assert list(pipeline.inspect_all(rows, detected, recipe, tools, bulk, spans=True, text=True)) == alone
    assert sum(one.example is not None for one in found) > 20


def test_rows_that_come_in_parts_get_the_faster_engine_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of `check --jobs` takes its rows in parts; where one ends in the middle of a chunk nothing is lost."""
    pytest.importorskip("gigatoken", reason="gigatoken is in the extra `fast`")
    recipe = changed(preset("hf-trainer"), "tokenizer.name", "builtin:chatml")
    rows = [Row(number, row(number), "", f"row {number}") for number in range(20, 40)]
    detected = pipeline.detect(rows, recipe)
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    monkeypatch.setattr("sftui.tokens.shortcuts.bulk.LOADING", 10)
    monkeypatch.setattr("sftui.tokens.shortcuts.bulk.PER_TOKEN", 0.001)
    bulk = Bulk(at_once=8)
    bulk.expected = lambda: 20
    for part in (rows[:10], rows[10:]):
        assert len(list(pipeline.inspect_all(part, detected, recipe, tools, bulk))) == 10
    assert bulk.engine == Bulk.FAST
