"""Which configs are LLaMA-Factory's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import keys_among

OWN = frozenset(
    {
        "stage",
        "finetuning_type",
        "cutoff_len",
        "template",
        "dataset_dir",
        "dataset",
        "lora_target",
        "lora_rank",
        "train_on_prompt",
        "mask_history",
        "neat_packing",
        "enable_thinking",
        "preprocessing_num_workers",
        "overwrite_cache",
        "plot_loss",
        "max_samples",
        "mix_strategy",
        "tokenized_path",
        "eval_dataset",
        "val_size",
        "efficient_eos",
        "default_system",
        "tool_format",
    }
)


SHARED = frozenset({"dataset", "enable_thinking", "eval_dataset", "lora_rank", "template"})
"""Those of them that ms-swift has, too."""


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are LLaMA-Factory's alone; its `dataset` is a name or a list of names, and the
    model is `model_name_or_path`: what calls it `model` and has no key but shared ones is not its."""
    mapping = isinstance(config.get("dataset"), Mapping)
    found = tuple(key for key in keys_among(OWN, config) if not (mapping and key == "dataset"))
    return () if "model" in config and SHARED.issuperset(found) else found
