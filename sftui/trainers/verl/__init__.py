"""verl's supervised fine-tuning (`python -m verl.trainer.sft_trainer`): MultiTurnSFTDataset under Hydra."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sftui.recipe import Own, knob
from sftui.trainers.traits import Finds, Quirk, Traits, own_keys


@dataclass(frozen=True, slots=True)
class VerlOptions(Own):
    """Keys of its config without an equal elsewhere (0.9.1, trainer/config/sft_trainer_engine.yaml)."""

    ignore_input_ids_mismatch: bool = knob(
        False, "rows are trained even if messages rendered one by one give different ids from the whole row"
    )
    enable_thinking_key: str = knob(
        "enable_thinking", "the column whose value is passed to each template as enable_thinking"
    )
    enable_thinking_default: bool | None = knob(
        True, "the value of enable_thinking if there is no such column; null: none"
    )
    image_key: str = knob("images", "the image column; verl stops on it if no processor is available")
    video_key: str = knob("videos", "the video column; verl stops on it if no processor is available")
    train_max_samples: int | None = knob(None, "rows beyond this number are not read; null: no limit", minimum=1)
    shuffle: bool = knob(False, "those rows are drawn at random, not the first ones")
    seed: int | None = knob(None, "the seed for drawing them; null: a new one each run")
    custom_chat_template: str | None = knob(None, "the text of the chat template")


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are verl's, by their places; none where its section `data` names no rows."""
    data = config.get("data")
    if not isinstance(data, Mapping) or not own_keys(__file__, data, "data"):
        return ()
    sections = [name for name in ("data", "model", "trainer") if isinstance(config.get(name), Mapping)]
    return (
        *(f"{name}.{key}" for name in sections for key in own_keys(__file__, config[name], name)),
        *sections,  # which others have as one value
    )


TRAITS = Traits(
    name="verl",
    title="verl",
    about="verl's SFT (verl.trainer.sft_trainer), configured by its Hydra config or run script",
    home="sftui.trainers.verl.trainer:Verl",
    versions=("0.9",),
    first=(0, 9),
    finds=Finds.MESSAGES,
    averages="step",  # batch_num_tokens of data.train_batch_size rows (0.9.1, workers/utils/losses.py sft_loss)
    empty_stop="ZeroDivisionError: integer division or modulo by zero (no batch of data.train_batch_size is full)",
    quirks=(Quirk.PARQUET_ALONE, Quirk.ENDS_TEXTS_ALONE, Quirk.NAMED_KEYS_ONLY),
    config="sftui.trainers.verl.config",
    script="verl.trainer.sft_trainer",
    claims=claimed,
)
