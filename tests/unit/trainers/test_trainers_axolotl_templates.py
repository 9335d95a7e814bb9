"""Every template of Axolotl's registry gives the ids and labels that Axolotl gives, or stops where it stops.

The records are its own (tests/parity/record_axolotl_templates.py, run in its environment).
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
from sftui.trainers import preset
from sftui.trainers.axolotl.templates import REGISTRY, message_keys, source_of

TESTS = Path(__file__).resolve().parents[2]
SHAPES = json.loads((TESTS / "parity" / "axolotl_template_shapes.json").read_text(encoding="utf-8"))
RECORDED = json.loads((TESTS / "golden" / "trainers" / "axolotl_templates.json").read_text(encoding="utf-8"))
GOLDEN = RECORDED["made"]
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "as it is": {},
    "inputs": {"mask.rule": "all"},
    "no thinking": {"render.kwargs": {"enable_thinking": False}},
}


@cache
def tokenizer_named(name: str) -> Any:
    return load_tokenizer(f"builtin:{name}")


def seen(tokenizer: str, template: str, shape: str, setting: str) -> Inspection:
    knobs: dict[str, Any] = {"render.template": f"axolotl/{template}", "render.date": "2026-02-03"}
    recipe = with_knobs(preset("axolotl@0.19"), {**knobs, "length.max": 100_000, **SETTINGS[setting]})
    tools = pipeline.make_toolbox(recipe, tokenizer_named(tokenizer))
    return inspect([SHAPES[shape]], recipe, tools)[0]


def told(found: Inspection) -> list[Any] | None:
    """What the record says of a row; None of one that stops."""
    if found.tokens is None or found.labels is None:
        return None
    return digest(found.tokens.input_ids, found.labels.labels)


def test_the_registry_is_whole() -> None:
    assert len(REGISTRY) == 36
    assert set(REGISTRY) == {place.split("/")[1] for place in GOLDEN}


@pytest.mark.parametrize("template", REGISTRY)
def test_a_template_is_seen_to_read_the_keys_of_messages_that_axolotls_own_is(template: str) -> None:
    seen_read = message_keys(source_of(template), "messages")
    assert seen_read | {"role", "content"} == set(RECORDED["keys"][template])


@pytest.mark.one_of(6)
@pytest.mark.parametrize("template", REGISTRY)
def test_a_template_gives_what_axolotl_gives(template: str) -> None:
    differing, equal = [], 0
    for place, made in GOLDEN.items():
        tokenizer, name, shape, setting = place.split("/")
        if name != template:
            continue
        found = seen(tokenizer, template, shape, setting)
        want = made if isinstance(made, list) else None
        if told(found) != want:
            differing.append((place, made, told(found), found.problem))
        equal += want is not None and told(found) == want
    assert not differing
    assert equal >= 25  # a template that wants a BOS stops with one of the two tokenizers
