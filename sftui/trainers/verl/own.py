"""The options that verl alone has."""

from __future__ import annotations

from dataclasses import dataclass

from sftui.recipe import Own, knob


@dataclass(frozen=True, slots=True)
class VerlOptions(Own):
    """Keys of its config without an equal elsewhere (0.9.1, trainer/config/sft_trainer_engine.yaml)."""

    ignore_input_ids_mismatch: bool = knob(
        False, "rows whose messages rendered one by one give other ids than the whole are trained all the same"
    )
    enable_thinking_key: str = knob("enable_thinking", "the column whose value each template gets as enable_thinking")
    enable_thinking_default: bool | None = knob(
        True, "what templates get as enable_thinking where there is no such column; null: nothing"
    )
    image_key: str = knob("images", "the column of images, at which verl stops without a processor")
    video_key: str = knob("videos", "the column of videos, at which verl stops without a processor")
    train_max_samples: int | None = knob(None, "rows behind so many are not read; null: all are", minimum=1)
    shuffle: bool = knob(False, "those rows are drawn instead of the first ones")
    seed: int | None = knob(None, "the seed by which they are drawn; null: others in each run")
    custom_chat_template: str | None = knob(None, "the chat template itself, as the config holds it")
