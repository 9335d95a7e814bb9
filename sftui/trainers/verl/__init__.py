"""verl's supervised fine-tuning (`python -m verl.trainer.sft_trainer`): MultiTurnSFTDataset under Hydra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import Finds, Traits, own_keys


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
    about="verl's SFT (verl.trainer.sft_trainer), as its Hydra config or run script says",
    home="sftui.trainers.verl.trainer:Verl",
    versions=("0.9",),
    first=(0, 9),
    stored_as_parquet=True,
    tools_in_each_row=True,
    ends_chats=False,
    piecewise=True,
    finds=Finds.MESSAGES,
    empty_stop="ZeroDivisionError: integer division or modulo by zero (no batch of data.train_batch_size is full)",
    reads="sftui.trainers.verl.config",
    writes="sftui.trainers.verl.config",
    script="verl.trainer.sft_trainer",
    claims=claimed,
)
