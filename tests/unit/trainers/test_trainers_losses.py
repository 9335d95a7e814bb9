"""What a trainer's config cannot say is told alike by `losses` and by the config that is written."""

from __future__ import annotations

from typing import Any

import pytest

from sftui import trainers
from sftui.recipe import changed
from sftui.trainers import trainer_named

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
    trainer = trainer_named(preset)
    assert trainer.losses(recipe) == trainer.write_config(recipe, None).losses
