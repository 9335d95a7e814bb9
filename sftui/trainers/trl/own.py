"""The options that TRL alone has."""

from __future__ import annotations

from dataclasses import dataclass

from sftui.recipe import Own, knob


@dataclass(frozen=True, slots=True)
class TrlOptions(Own):
    """Keys of SFTConfig without an equal elsewhere (trl 1.16.0, trl/trainer/sft_config.py)."""

    completion_only_loss: bool | None = knob(
        None, "beside generation tags or markers: whether prompts are masked as well"
    )
    dataset_text_field: str | None = knob(None, "the column of plain text; null: `text`")
