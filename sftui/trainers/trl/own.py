"""The options that TRL alone has, and those that Unsloth has with it."""

from __future__ import annotations

from dataclasses import dataclass

from sftui.recipe import Own, knob


@dataclass(frozen=True, slots=True)
class SftOptions(Own):
    """Keys of SFTConfig without an equal elsewhere (trl 1.16.0, trl/trainer/sft_config.py)."""

    completion_only_loss: bool | None = knob(
        None, "beside generation tags or markers: whether prompts are masked as well"
    )
    dataset_text_field: str | None = knob(None, "the column of plain text; null: `text`")


@dataclass(frozen=True, slots=True)
class TrlOptions(SftOptions):
    """Those that unsloth_zoo's preparation, which takes the place of TRL's, does not read."""

    shuffle_dataset: bool = knob(False, "rows are shuffled before they are packed, and the packs once more")
    seed: int | None = knob(42, "the seed by which they are shuffled; null: another in each run")
