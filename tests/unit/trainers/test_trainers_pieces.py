"""Trainers that encode rows piece by piece: without places a row trains the very tokens that it trains with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sftui import pipeline
from sftui.model import NOWHERE, Example, Inspection, Row
from sftui.recipe import Recipe, changed
from sftui.tokens import LoadedTokenizer, load_tokenizer
from sftui.tokens.loaded import FastEngine, TextEncoding
from sftui.tokens.shortcuts.bulk import Bulk
from sftui.trainers import preset
from sftui.trainers.llamafactory.registry import TEMPLATES
from sftui.trainers.pieces import cut_by_tokenizer

TOOLS = json.dumps([{"name": "look_up", "description": "Look.", "parameters": {"type": "object", "properties": {}}}])
CALL = json.dumps({"name": "look_up", "arguments": {"city": "Łódź"}})
LF: list[Mapping[str, Any]] = [
    {},
    {"mask.rule": "all"},
    {"mask.turns": "last"},
    {"mask.terminator": "mask"},
    {"mask.trailing": "mask"},
    {"length.max": 24},
    {"length.max": 40, "mask.turns": "last", "pack.strategy": "knapsack"},
    {"render.kwargs": {"enable_thinking": False}, "render.inject_system": "Be brief."},
    {"tokenize.append_eos": "always"},
]
TT: list[Mapping[str, Any]] = [
    {},
    {"mask.rule": "all"},
    {"mask.rule": "turn_full", "mask.turns": "last"},
    {"mask.terminator": "mask"},
    {"length.max": 24},
    {"length.max": 24, "length.over": "cut_left"},
    {"own.prompt_template": {"user": ["Q: ", "\nA: "], "assistant": ["", " "]}},
    {"render.inject_system": "Be brief."},
]
SAID = [
    ("Be kind.", "Hi", " Hello there. ", "And {{idx}} now?\n", "Now, <think>\nwell\n</think>\n\nas before."),
    (None, "Grüße, 东京!", "<|im_end|> is text", "", ""),
    (None, "  two  spaces ", "long answer " * 12),
    ("", "tab\tand\n\nlines\n", "\n\nyes<|eot_id|>", "é" * 30, "no"),
]


def of_llamafactory(number: int) -> dict[str, Any]:
    system, *said = SAID[number % len(SAID)]
    turns = [{"from": ("human", "gpt")[i % 2], "value": text} for i, text in enumerate(said)]
    if number % 3 == 1:
        turns[1:1] = [{"from": "function_call", "value": CALL}, {"from": "observation", "value": '{"people": 3}'}]
    if number == 6:
        turns.append({"from": "human", "value": "nobody answers"})
    return {"conversations": turns, "system": system or "", "tools": TOOLS if number % 3 == 1 else ""}


def of_torchtune(number: int) -> dict[str, Any]:
    system, *said = SAID[number % len(SAID)]
    turns: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)
    ]
    if number % 5 == 2:
        turns[0]["content"] = [{"type": "text", "text": "one"}, {"type": "text", "text": " two"}]
    if number == 6:
        turns[1]["content"] = 7
    return {"messages": [{"role": "system", "content": system}] * (system is not None) + turns}


def prepared(
    recipe: Recipe, rows: list[Row], tokenizer: str, bulk: Bulk | None = None
) -> tuple[list[Inspection], list[Inspection]]:
    """Each row alone as the screen shows it, and all of them as `encode` writes them."""
    bulk = bulk or Bulk("never", at_once=8)
    detected = pipeline.detect(rows, recipe)
    assert detected.refused is None, detected.refused
    tools = pipeline.make_toolbox(recipe, load_tokenizer(tokenizer))
    tools = pipeline.survey(rows[0], detected, recipe, tools)
    alone = [pipeline.inspect(row, detected, recipe, tools) for row in rows]
    return alone, list(pipeline.inspect_all(rows, detected, recipe, tools, bulk))


def received(inspection: Inspection) -> tuple[Example | None, str | None, object]:
    return inspection.example, inspection.dropped, inspection.problem


def setting(trainer: str, tokenizer: str, *knobs: Mapping[str, Any]) -> Recipe:
    recipe = changed(preset(trainer), "tokenizer.name", tokenizer)
    for path, value in (pair for some in knobs for pair in some.items()):
        recipe = changed(recipe, path, value)
    return recipe


@pytest.mark.one_of(3)
@pytest.mark.parametrize("at", range(len(LF)))
def test_llamafactory_trains_the_same_tokens_with_places_and_without(at: int) -> None:
    rows = [Row(number, of_llamafactory(number), "", f"row {number}") for number in range(12)]
    trained = 0
    for name in sorted(TEMPLATES)[at % 3 :: 3]:
        tokenizer = f"builtin:{('chatml', 'llama3')[at % 2]}"
        recipe = setting("llamafactory", tokenizer, {"render.template": f"llamafactory/{name}"}, LF[at])
        alone, many = prepared(recipe, rows, tokenizer)
        assert list(map(received, many)) == list(map(received, alone)), name
        placed = LF[at].keys() & {"mask.terminator", "mask.trailing"}
        assert all(one.tokens.placed == bool(placed) for one in many if one.example is not None and one.tokens)
        trained += sum(one.trained for one in many)
    assert trained > 500


@pytest.mark.parametrize("trainer", ["torchtune@0.6.1", "torchtune@0.7"])
@pytest.mark.parametrize("model", ["qwen2", "qwen2_5", "llama3"])
@pytest.mark.parametrize("at", range(len(TT)))
def test_torchtune_trains_the_same_tokens_with_places_and_without(trainer: str, model: str, at: int) -> None:
    rows = [Row(number, of_torchtune(number), "", f"row {number}") for number in range(12)]
    tokenizer = f"builtin:{'llama3' if model == 'llama3' else 'chatml'}"
    recipe = setting(trainer, tokenizer, {"render.template": f"torchtune/{model}"}, TT[at])
    alone, many = prepared(recipe, rows, tokenizer)
    assert list(map(received, many)) == list(map(received, alone))
    if trainer == "torchtune@0.7" or "length.over" not in TT[at]:
        assert sum(one.trained for one in many) > 50


@pytest.mark.parametrize("model", ["qwen2_5", "llama3"])
def test_torchtunes_own_special_tokens_lie_over_the_faster_engine(model: str) -> None:
    """The texts of special tokens stay text, or stay tokens, when gigatoken encodes what is between them."""
    pytest.importorskip("gigatoken", reason="gigatoken is in the extra `fast`")
    tokenizer = f"builtin:{'llama3' if model == 'llama3' else 'chatml'}"
    rows = [Row(number, of_torchtune(number), "", f"row {number}") for number in range(24)]
    bulk = Bulk("soon", at_once=8)
    recipe = setting("torchtune", tokenizer, {"render.template": f"torchtune/{model}"})
    alone, many = prepared(recipe, rows, tokenizer, bulk)
    assert list(map(received, many)) == list(map(received, alone))
    assert bulk.engine == Bulk.FAST and bulk.mismatch is None


class Unplaced(FastEngine):
    """An engine that cannot tell where its tokens stand, as a slow tokenizer whose pieces do not spell the text."""

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]:
        nowhere = [(NOWHERE,) * len(one) for one in super().encode_batch(texts, add_special_tokens)]
        ids = self.ids_batch(texts, add_special_tokens)
        return [TextEncoding(own, places, places) for own, places in zip(ids, nowhere)]


def test_llamafactory_trains_answers_of_a_tokenizer_that_tells_no_places() -> None:
    recipe = setting("llamafactory", "builtin:chatml", {"render.template": "llamafactory/qwen"})
    rows = [Row(number, of_llamafactory(number), "", f"row {number}") for number in range(6)]
    detected = pipeline.detect(rows, recipe)
    tools = pipeline.make_toolbox(recipe, load_tokenizer("builtin:chatml"))
    tools = pipeline.survey(rows[0], detected, recipe, tools)
    right = [pipeline.inspect(row, detected, recipe, tools) for row in rows]
    assert isinstance(tools.tokenizer.engine, FastEngine)
    unplaced = LoadedTokenizer(tools.tokenizer.facts, Unplaced(tools.tokenizer.engine.backend))
    told = [pipeline.inspect(row, detected, recipe, replace(tools, tokenizer=unplaced)) for row in rows]
    assert list(map(received, told)) == list(map(received, right))
    assert sum(one.trained for one in told) > 50


@pytest.mark.parametrize(
    ("count", "limit", "side", "special", "kept"),
    [
        (10, None, "right", True, ((0, 10),)),
        (10, 10, "right", True, ((0, 10),)),
        (10, 9, "right", True, ((0, 8), (9, 10))),  # two in front and one behind stay
        (10, 9, "left", True, ((0, 2), (3, 10))),
        (10, 9, "right", False, ((0, 9),)),
        (10, 9, "left", False, ((1, 10),)),
    ],
)
def test_what_a_tokenizer_puts_around_a_text_outlives_its_cut(
    count: int, limit: int | None, side: str, special: bool, kept: tuple[tuple[int, int], ...]
) -> None:
    plain = load_tokenizer("builtin:chatml", mode="provisional")
    facts = replace(plain.facts, front=(1, 2), back=(3,), truncation_side=side)
    assert cut_by_tokenizer(count, LoadedTokenizer(facts, plain.engine), limit, special) == kept
