"""Every template of LLaMA-Factory's registry gives the ids and labels that LLaMA-Factory gives, or stops as it stops.

The records are its own (tests/parity/record_llamafactory_templates.py, run in its environment).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from golden_records import digest, inspect, with_knobs

from sftui import pipeline
from sftui.model import Inspection
from sftui.tokens import load_tokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.llamafactory.registry import NAMES, TEMPLATES

TESTS = Path(__file__).resolve().parents[2]
SHAPES = json.loads((TESTS / "parity" / "template_shapes.json").read_text(encoding="utf-8"))
GOLDEN = json.loads((TESTS / "golden" / "trainers" / "llamafactory_templates.json").read_text(encoding="utf-8"))["made"]
ADDED = "<|user|>,<|assistant|>,<|system|>,<|observation|>,[gMASK],sop,<sep>"
NO_PROCESSOR = ", no processor"
DAY = "2026-02-03"


@cache
def tokenizer_named(name: str) -> Any:
    return load_tokenizer(f"builtin:{name}")


def seen(template: str, shape: str, tokenizer: str) -> Inspection:
    knobs: dict[str, Any] = {"render.template": f"llamafactory/{template}", "render.date": DAY, "length.max": 100_000}
    if tokenizer.endswith("+"):
        knobs["own.add_special_tokens"] = ADDED
    recipe = with_knobs(preset("llamafactory@0.9"), knobs)
    tools = pipeline.make_toolbox(recipe, tokenizer_named(tokenizer.rstrip("+")))
    return inspect([SHAPES[shape]], recipe, tools)[0]


def told(found: Inspection) -> list[Any] | None:
    """What the record says of a row; None of one that stops."""
    if found.tokens is None or found.labels is None or found.example is None:
        return None
    return digest(found.example.input_ids, found.example.labels)


def records(template: str) -> Mapping[tuple[str, str], Any]:
    found = {tuple(place.split(" ", 2)): made for place, made in GOLDEN.items() if not place.endswith(NO_PROCESSOR)}
    return {(tokenizer, shape): made for (tokenizer, name, shape), made in found.items() if name == template}


def test_the_registry_is_whole() -> None:
    assert len(NAMES) == 121
    assert {place.split(" ", 2)[1] for place in GOLDEN} == NAMES


@pytest.mark.one_of(10)
@pytest.mark.parametrize("template", sorted(NAMES))
def test_a_template_gives_what_llamafactory_gives(template: str) -> None:
    differing = []
    equal = 0
    for (tokenizer, shape), made in records(template).items():
        found = seen(template, shape, tokenizer)
        want = made if isinstance(made, list) else None
        if told(found) != want:
            differing.append((tokenizer, shape, made, told(found), found.problem))
        else:
            equal += want is not None
    assert not differing
    assert equal >= 8


def test_a_token_that_the_tokenizer_lacks_refuses_the_row_and_says_what_to_add() -> None:
    problem = seen("chatglm3", "system", "chatml").problem
    assert problem is not None and "inserts the token [gMASK]" in problem.what and "add_special_tokens" in problem.fix


def test_templates_that_see_say_that_they_need_a_processor() -> None:
    stop = {place.split(" ", 2)[1] for place, made in GOLDEN.items() if place.endswith(NO_PROCESSOR) and made[0] == "V"}
    assert stop == {name for name, template in TEMPLATES.items() if template.media}
    for name, template in TEMPLATES.items():
        recipe = with_knobs(preset("llamafactory@0.9"), {"render.template": f"llamafactory/{name}"})
        told = [one for one in trainer_named(recipe.preset).remarks(recipe) if "processor" in one]
        assert len(told) == bool(template.media)
