"""torchtune: its dataset builders, message tokenizers, masks, packing and config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import Finds, Traits, places_named


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of `_component_` keys in a parsed config that name something of torchtune."""
    return places_named(config, "_component_", "torchtune.")


TRAITS = Traits(
    name="torchtune",
    title="torchtune",
    about="torchtune's SFT datasets, as its YAML says",
    home="sftui.trainers.torchtune.trainer:Torchtune",
    versions=("0.7", "0.6.1"),
    first=(0, 6),
    repeats_content=True,  # torchtune 0.6.1, data/_messages.py OpenAIToMessages
    renders_templates=False,
    piecewise=True,
    finds=Finds.MESSAGES,
    assistant_rule="turn_full",
    auto_trains_answers=True,  # the default of its dataset builders
    masks_end=True,
    packing="sequential",
    separates=("bfd", "sequential"),
    reads="sftui.trainers.torchtune.config",
    writes="sftui.trainers.torchtune.config",
    claims=claimed,
)
