"""Which configs are mlx-lm's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import keys_among

OWN = frozenset(
    {
        "adapter_path",
        "chat_feature",
        "clear_cache_threshold",
        "completion_feature",
        "fine_tune_type",
        "grad_accumulation_steps",
        "grad_checkpoint",
        "hf_dataset",
        "iters",
        "lora_parameters",
        "lr_schedule",
        "mask_prompt",
        "prompt_feature",
        "resume_adapter_file",
        "save_every",
        "steps_per_eval",
        "steps_per_report",
        "test_batches",
        "text_feature",
        "train",
        "val_batches",
    }
)
BESIDE = frozenset({"batch_size", "data", "max_seq_length", "model"})
"""Keys that others have as well, and that stand beside its own."""


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are mlx-lm's alone, and where there is one those that stand beside them."""
    found = keys_among(OWN, config)
    return (*found, *keys_among(BESIDE, config)) if found else ()
