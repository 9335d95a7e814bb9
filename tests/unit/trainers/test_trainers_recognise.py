"""A config is taken for its own trainer's, or for nobody's: never for another's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from sftui.errors import SftuiError
from sftui.recipe import get, knobs_of
from sftui.recipe_io import parse_yaml, set_knob_to
from sftui.trainers import TRAINERS, preset, traits_of
from sftui.trainers.config import Facts
from sftui.trainers.own_config import write_config
from sftui.trainers.recognise import recognise

WRITING = [name for name in TRAINERS if traits_of(name).config and name != "unsloth"]  # which has no config file
FACTS = Facts(data="rows.jsonl", tokenizer="Qwen/Qwen3-8B", fields={})


@cache
def taken_for(text: str) -> str | None:
    found = parse_yaml(text, "config.yaml", "pyyaml")
    return recognise(found if isinstance(found, Mapping) else {}).trainer


@pytest.mark.parametrize("name", WRITING)
def test_a_config_that_sftui_writes_is_never_anothers(name: str) -> None:
    usual, seen = preset(name), 0
    for knob in knobs_of(usual):
        for value in (*knob.choices, 64, True, False, "x"):
            try:
                recipe = set_knob_to(usual, knob.path, value)
            except SftuiError:
                continue
            if get(recipe, knob.path) == get(usual, knob.path):
                continue
            files = write_config(recipe, None, FACTS).files
            text = next(file.content for file in files if file.name.endswith((".yaml", ".yml")))
            assert taken_for(text) in (None, name), (knob.path, value)
            seen += 1
    assert seen > 20


@pytest.mark.parametrize(
    ("text", "trainer"),
    [
        ("model: m\ndataset: [a.jsonl]\n", "ms-swift"),
        ("model: m\ndataset: a.jsonl#500\ntemplate: chatml\nlora_rank: 8\n", "ms-swift"),
        ("model: m\ndataset: [a]\nenable_thinking: false\n", "ms-swift"),
        ("model_name_or_path: m\ndataset: [a]\ntemplate: qwen\n", "llamafactory"),
        ("dataset: a\ntemplate: qwen\n", "llamafactory"),
        ("model: m\ndataset: a\ntemplate: qwen\nstage: sft\nfinetuning_type: lora\ncutoff_len: 9\n", "llamafactory"),
        ("model: m\n", None),
    ],
)
def test_models_and_datasets_by_name(text: str, trainer: str | None) -> None:
    """LLaMA-Factory's model is model_name_or_path, ms-swift's `model`; `dataset` and `template` are of both."""
    assert recognise(parse_yaml(text, "config.yaml", "pyyaml")).trainer == trainer
