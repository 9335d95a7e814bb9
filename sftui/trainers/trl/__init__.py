"""TRL: its formats, masks, packing, training templates and config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import Changes, Finds, Traits, own_keys

BEST_FIT: Changes = (("pack.strategy", "bfd"), ("pack.isolate", True), ("batch.flatten", True))
"""packing_strategy: bfd, whose collator is told padding_free (trl 1.16.0, sft_trainer.py)."""


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are TRL's alone."""
    return own_keys(__file__, config)


TRAITS = Traits(
    name="trl",
    title="TRL",
    about="TRL's SFTTrainer, as its SFTConfig says",
    home="sftui.trainers.trl.trainer:Trl",
    versions=("1.16", "1.14", "1.8"),
    first=(1, 0),
    reads_mask_columns=True,
    ends_chats=False,
    finds=Finds.TAGS,
    assistant_rule="generation_tag",
    completion_rule="completion",
    crosses_masks=True,
    packing="bfd",
    separates=("bfd", "bfd_split"),
    separates_by_positions=True,
    separate=BEST_FIT,
    whole=BEST_FIT,
    training_arguments=(99,),
    reads="sftui.trainers.trl.config",
    writes="sftui.trainers.trl.config",
    claims=claimed,
)
