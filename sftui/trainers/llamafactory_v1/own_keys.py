"""Which configs are those of LLaMA-Factory's v1 engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import keys_among

OWN = frozenset(
    {
        "train_dataset",
        "model_class",
        "kernel_config",
        "dist_config",
        "init_config",
        "quant_config",
        "optim_config",
        "lr_scheduler_config",
        "custom_chat_template",
        "micro_batch_size",
        "global_batch_size",
        "cutoff_len",
        "batching_strategy",
        "batching_workers",
        "sample_backend",
    }
)


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config by which it is one of the v1 engine; none of a config of the other engine, which has
    `model_name_or_path` or `dataset` where this one has `model` and `train_dataset`."""
    if "model_name_or_path" in config or "dataset" in config or "base_model" in config:
        return ()
    if "train_dataset" not in config and "model_class" not in config:
        return ()
    return keys_among(OWN, config)
