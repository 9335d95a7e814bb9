"""What a config says of a knob is what the knob is written as: one table a trainer, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from trainers import having, module_of

from sftui.errors import RecipeError
from sftui.recipe import KnobInfo, Recipe, changed, get, knobs_of
from sftui.trainers import preset
from sftui.trainers.table import Form, Keys, key_of, read_into

FACTS = {facts.preset: facts for facts in (module_of(trainer, "facts").FACTS for trainer in having("facts"))}
TYPED: Mapping[str, tuple[Any, ...]] = {
    "int": (7,),
    "number": (0.25, 7),
    "str": ("x", "<|im_start|>user\n", "\n", "\ta b ", '"a"', "a\\n"),
    "str|number": ("0.24",),
    "str|mapping": ("x", {"user": ["Q: ", "\n"]}),
    "bool": (True, False),
    "list": (("x", "y"), (" x", "y\n")),
    "names": ({"text": "body"}, {"text": " body "}),
    "ids": ({7: "x"},),
    "mapping": ({"enable_thinking": False},),
}
ONE_WAY = (
    *("data.fields", "data.format", "mask.terminator", "batch.attention", "pack.strategy"),
    *("own.completion_only_loss", "own.packing", "own.seed", "own.eval_sample_packing"),
)
"""Knobs that are said by a key that stands for another one, or by one that says nothing without a second."""
BY_TEXT = frozenset({("verl@0.9", "render.template"), ("llamafactory-v1@0.9.6", "render.template")})
"""Knobs that name a file whose text is written into the config by whoever has it."""


def config_of(keys: Keys) -> dict[str, Any]:
    config: dict[str, Any] = {"tokenizer": {}, "dataset": {}, "datasets": {}}
    for place, value in keys.items():
        block = config
        for step in place[:-1]:
            block = block.setdefault(str(step), {})
        block[str(place[-1])] = value
    return config


def values(info: KnobInfo) -> tuple[Any, ...]:
    if info.path == "render.template":
        return ("file:t.jinja",)
    return info.choices or TYPED.get(info.type.removesuffix("?"), ())


@pytest.mark.parametrize("name", FACTS)
def test_a_knob_that_is_written_is_read_back(name: str) -> None:
    table, usual, back = FACTS[name].table, preset(name), set()
    for info in knobs_of(usual):
        for value in values(info):
            recipe: Recipe = changed(usual, info.path, value)
            keys, losses = Form(name, "", table, lambda draft: {}).keys_of(recipe, usual)
            read = read_into(usual, table, config_of(keys), "config")
            if value == get(usual, info.path) or losses or not keys:
                continue
            if get(read, info.path) == value:
                back.add(info.path)
            else:
                assert info.path in ONE_WAY or (name, info.path) in BY_TEXT, info.path
    assert len(back) >= FACTS[name].back, sorted(back)


@pytest.mark.parametrize("name", FACTS)
def test_every_option_of_a_trainers_own_has_an_entry(name: str) -> None:
    told = {path for entry in FACTS[name].table for path in entry.knobs}
    paths = {info.path for info in knobs_of(preset(name))}
    assert told <= paths and {path for path in paths if path.startswith("own.")} <= told


@pytest.mark.parametrize("name", FACTS)
def test_a_recipe_as_the_trainer_has_it_needs_no_key(name: str) -> None:
    form = Form(name, "", FACTS[name].table, lambda draft: {})
    assert form.keys_of(preset(name), preset(name)) == ({}, [])


def test_the_keys_of_a_knob_are_told() -> None:
    assert key_of(FACTS["trl@1.16"].table, "length.max") == "max_length"
    assert key_of(FACTS["llamafactory@0.9"].table, "mask.rule") == "train_on_prompt"
    assert key_of(FACTS["trl@1.16"].table, "mask.roles") == ""


@pytest.mark.parametrize(
    ("name", "key", "value", "fix"),
    [
        ("llamafactory@0.9", "cutoff_len", "2048", "write a number without quotes"),
        ("llamafactory-v1@0.9.6", "cutoff_len", None, "write a number without quotes"),
        ("mlx-lm@0.32", "model", 7, "write it as text"),
        ("verl@0.9", "train_batch_size", True, "write a number without quotes"),
    ],
)
def test_a_value_that_a_trainer_does_not_convert_is_refused(name: str, key: str, value: Any, fix: str) -> None:
    config = {"data": {key: value}} if name == "verl@0.9" else {key: value}
    with pytest.raises(RecipeError, match=f"{key} is `{value}`") as refused:
        read_into(preset(name), FACTS[name].table, config, "sft.yaml")
    assert (refused.value.where, refused.value.fix) == ("sft.yaml", fix)
