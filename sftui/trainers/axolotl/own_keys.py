"""Which configs are Axolotl's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import keys_among

OWN = frozenset(
    {
        "base_model",
        "base_model_config",
        "tokenizer_config",
        "sequence_len",
        "micro_batch_size",
        "num_epochs",
        "adapter",
        "sample_packing",
        "pad_to_sequence_len",
        "train_on_inputs",
        "dataset_prepared_path",
        "val_set_size",
        "lora_target_linear",
        "special_tokens",
        "eot_tokens",
        "chat_template",
        "excess_length_strategy",
        "flash_attention",
        "shuffle_merged_datasets",
        "wandb_project",
    }
)


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are Axolotl's alone; entries of `datasets` with a `type`, which TRL's mixture
    does not have, count first."""
    entries, found = config.get("datasets"), keys_among(OWN, config)
    typed = isinstance(entries, list) and any(isinstance(entry, Mapping) and "type" in entry for entry in entries)
    return ("datasets[].type", *found) if typed else found
