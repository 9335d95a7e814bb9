"""torchtune: its dataset builders, message tokenizers, masks, packing and config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sftui.recipe import Own, knob
from sftui.trainers.traits import Finds, Packing, Quirk, Traits, places_named


@dataclass(frozen=True, slots=True)
class TorchtuneOptions(Own):
    """Keys of the `tokenizer` and `dataset` blocks without an equal elsewhere (torchtune 0.6.1, torchtune/datasets)."""

    prompt_template: str | Mapping[str, Any] | None = knob(
        None,
        "text around each role's messages: a torchtune template, or a mapping of roles to [before, after]; null is"
        " the tokenizer's own, {} none",
    )
    special_tokens_path: str | None = knob(None, "a file of special tokens to build the tokenizer with")
    tokenizer_path: str | None = knob(
        None, "the SentencePiece model, if it is not tokenizer.model in the tokenizer's folder"
    )
    split_across_pack: bool = knob(False, "a text continues in the next pack")
    builder: str | None = knob(
        None,
        "a dataset builder with its own rules",
        choices={"gsm8k_sft": "the question as the prompt, the worked answer as trained text"},
    )
    partition: str | None = knob(None, "which part of the rows gsm8k_sft trains on, e.g. 1-10/10")


TRAITS = Traits(
    name="torchtune",
    title="torchtune",
    about="torchtune's SFT datasets, configured by its YAML",
    home="sftui.trainers.torchtune.trainer:Torchtune",
    versions=("0.7", "0.6.1"),
    first=(0, 6),
    renders_templates=False,
    finds=Finds.MESSAGES,
    averages="step",  # 0.7.0, recipes/full_finetune_single_device.py (scale_grads by num_tokens)
    rules={"assistant": "turn_full"},
    moves_labels=(0, 7),
    packing=Packing(
        usual="sequential", separates=("bfd", "sequential"), places="sftui.trainers.torchtune.trainer:places"
    ),
    quirks=(
        Quirk.REPEATS_CONTENT,  # torchtune 0.6.1, data/_messages.py OpenAIToMessages
        Quirk.AUTO_TRAINS_ANSWERS,  # the default of its dataset builders
        Quirk.MASKS_END,
        Quirk.NAMED_KEYS_ONLY,
    ),
    config="sftui.trainers.torchtune.config",
    claims=partial(places_named, key="_component_", package="torchtune."),
)
