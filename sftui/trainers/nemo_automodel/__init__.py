"""NeMo Automodel's fine-tuning of language models (`automodel CONFIG.yaml`), its chat and instruction datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import Finds, Traits, places_named


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of `_target_` keys in a parsed config that name something of NeMo Automodel."""
    return places_named(config, "_target_", "nemo_automodel.")


TRAITS = Traits(
    name="nemo-automodel",
    title="NeMo Automodel",
    about="NVIDIA NeMo Automodel's LLM fine-tuning, as its YAML recipe says",
    home="sftui.trainers.nemo_automodel.trainer:NemoAutomodel",
    versions=("0.7",),
    first=(0, 7),
    names_calls=True,  # ChatDataset (components/datasets/llm/chat_dataset.py)
    between_parts=" ",  # ChatDataset, _normalize_content
    ends_chats=False,
    finds=Finds.PROMPTS,
    assistant_rule="auto",
    auto_trains_answers=True,
    completion_rule="auto",
    masks_opened=(("own.mask_generation_prompt", True),),
    packing="sequential",
    separates=("sequential", "neat"),
    separates_by_numbers=True,
    empty_stop="",
    reads="sftui.trainers.nemo_automodel.config",
    writes="sftui.trainers.nemo_automodel.config",
    claims=claimed,
)
