"""Unsloth: its dataset preparation, train_on_responses_only, and its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import Finds, Traits, keys_among
from sftui.trainers.trl import BEST_FIT
from sftui.trainers.trl import claimed as of_trl

OWN = frozenset({"responses", "standardize", "text_from", "formatting", "formatting_func", "max_seq_length", "data"})
"""The options that sftui takes for its arguments, and that no other trainer has."""


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are those of no other trainer, and where there is one those of TRL's SFTConfig,
    which the rest of its options are."""
    found = keys_among(OWN, config)
    return (*found, *(key for key in of_trl(config) if not key.startswith("dataset_"))) if found else ()


TRAITS = Traits(
    name="unsloth",
    title="Unsloth",
    about="SFTTrainer as Unsloth changes it, with train_on_responses_only and standardize",
    home="sftui.trainers.unsloth.trainer:Unsloth",
    versions=("2026.10", "2026.8"),
    first=(2026, 8),
    package="unsloth_zoo",  # where its preparation is
    bos_by_first_row=True,
    finds=Finds.MARKERS,
    assistant_rule="markers",
    completion_rule="completion",
    packing="bfd",
    separate=BEST_FIT,
    whole=BEST_FIT,
    training_arguments=(99,),
    names_template=False,
    reads="sftui.trainers.unsloth.options",
    writes="sftui.trainers.unsloth.options",
    claims=claimed,
)
