"""Unsloth: its dataset preparation, train_on_responses_only, and its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sftui.recipe import knob
from sftui.trainers.traits import Finds, Packing, Quirk, Traits, keys_among
from sftui.trainers.trl import BEST_FIT, SftOptions
from sftui.trainers.trl import TRAITS as TRL


@dataclass(frozen=True, slots=True)
class UnslothOptions(SftOptions):
    """Beside those of TRL, whose trainer trains, arguments by their names (unsloth_zoo 2026.10.7, dataset_utils.py) and
    the script's own steps."""

    standardize: bool = knob(False, "the script calls standardize_data_formats")
    text_from: str | None = knob(None, "the messages column that the script renders to a text column")
    formatting_func: bool = knob(False, "the script passes a formatting_func to SFTTrainer")
    trl_version: str | float | None = knob(
        None, "the installed TRL version; Unsloth before 2026.10 depends on it for prompt and completion"
    )
    force_match: bool = knob(True, "whitespace around the markers is stripped before searching")
    mask_out_tokens: tuple[str, ...] = knob((), "tokens to mask inside responses")


OBJECTIVES = {
    "dpo": "sftui.trainers.unsloth.preference:UnslothDpo",
    "kto": "sftui.trainers.unsloth.preference:UnslothKto",
    "reward": "sftui.trainers.unsloth.preference:UnslothReward",
    **dict.fromkeys(("orpo", "cpo"), "sftui.trainers.unsloth.preference:UnslothOdds"),
}
OWN = frozenset({"responses", "standardize", "text_from", "formatting", "formatting_func", "max_seq_length", "data"})
"""The options that sftui takes for its arguments, and that no other trainer has."""


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are those of no other trainer, and where there is one those of TRL's SFTConfig,
    which the rest of its options are."""
    found = keys_among(OWN, config)
    return (*found, *(key for key in TRL.claims(config) if not key.startswith("dataset_"))) if found else ()


TRAITS = Traits(
    name="unsloth",
    title="Unsloth",
    about="SFTTrainer as patched by Unsloth, with train_on_responses_only and standardize",
    home="sftui.trainers.unsloth.trainer:Unsloth",
    versions=("2026.10", "2026.8"),
    first=(2026, 8),
    package="unsloth_zoo",  # where its preparation is
    finds=Finds.MARKERS,
    averages="step",  # num_items_in_batch (unsloth_zoo 2026.10.9, loss_utils.py)
    rules={"assistant": "markers", "completion": "completion"},
    packing=Packing(usual="bfd", separate=BEST_FIT, whole=BEST_FIT, places="sftui.trainers.unsloth.trainer:places"),
    training_arguments=(99,),
    quirks=(Quirk.BOS_BY_FIRST_ROW, Quirk.TEMPLATE_BY_SCRIPT),
    config="sftui.trainers.unsloth.options",
    claims=claimed,
)
