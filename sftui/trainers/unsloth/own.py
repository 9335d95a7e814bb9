"""The options that Unsloth alone has: what its script does before, and arguments of train_on_responses_only."""

from __future__ import annotations

from dataclasses import dataclass

from sftui.recipe import knob
from sftui.trainers.trl.own import SftOptions


@dataclass(frozen=True, slots=True)
class UnslothOptions(SftOptions):
    """Beside those of TRL, whose trainer trains, arguments by their names (unsloth_zoo 2026.10.7, dataset_utils.py) and
    the script's own steps."""

    standardize: bool = knob(False, "the script calls standardize_data_formats")
    text_from: str | None = knob(None, "the column of messages that the script renders to a text column")
    formatting_func: bool = knob(False, "the script hands SFTTrainer a formatting_func")
    trl_version: str | float | None = knob(
        None, "the installed TRL, on which Unsloth before 2026.10 depends for prompt and completion"
    )
    force_match: bool = knob(True, "markers are found with white space around them taken off")
    mask_out_tokens: tuple[str, ...] = knob((), "tokens that are masked inside responses")
