"""What a trainer's config cannot say is told alike by `losses_of` and by the config that is written."""

from __future__ import annotations

from typing import Any

import pytest

from sftui import trainers
from sftui.recipe import changed
from sftui.trainers.own_config import losses_of, write_config

WRITTEN = [name for name in trainers.preset_names() if name not in ("hf-trainer", "manual-shift")]


@pytest.mark.parametrize("preset", WRITTEN)
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("length.max", 4096),
        ("data.role_map", {"bot": "assistant"}),
        ("mask.rule", "generation_tag"),
        ("tokenize.add_special_tokens", False),
        ("pack.strategy", "bfd"),
        ("render.kwargs", {"enable_thinking": False}),
        ("mask.trailing", "mask"),
        ("tokenizer.eos_token", "</s>"),
    ],
)
def test_losses_are_those_of_the_written_config(preset: str, path: str, value: Any) -> None:
    recipe = changed(trainers.preset(preset), path, value)
    assert losses_of(recipe) == write_config(recipe, None).losses


@pytest.mark.parametrize("preset", WRITTEN)
def test_the_preset_of_each_release_loses_nothing(preset: str) -> None:
    """It is held against the preset of its own release, which may do otherwise than the newest."""
    assert trainers.trainer_named(preset).keys_of(trainers.preset(preset))[1] == ()
