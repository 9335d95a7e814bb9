"""Which configs are ms-swift's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import keys_among

OWN = frozenset(
    {
        "add_non_thinking_prefix",
        "add_version",
        "agent_template",
        "attn_impl",
        "cached_dataset",
        "custom_register_path",
        "data_seed",
        "dataset_num_proc",
        "dataset_shuffle",
        "external_plugins",
        "freeze_aligner",
        "freeze_llm",
        "freeze_vit",
        "is_binary_loss_scale",
        "lazy_tokenize",
        "load_from_cache_file",
        "loss_scale",
        "model_author",
        "model_type",
        "packing_length",
        "packing_num_proc",
        "preserve_thinking",
        "response_prefix",
        "split_dataset_ratio",
        "torch_dtype",
        "truncation_strategy",
        "tuner_type",
        "use_chat_template",
        "use_hf",
        "val_dataset",
    }
)
BESIDE = frozenset({"dataset", "lora_rank", "max_length", "model", "system", "target_modules", "template"})
"""Keys that others have as well, and that stand beside its own."""


NAMES = ("model", "dataset")


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are ms-swift's alone, and where there is one those that stand beside them; a
    model and datasets by name are enough, since it alone says both with these keys."""
    found = keys_among(OWN, config)
    if found:
        return (*found, *keys_among(BESIDE, config))
    model, data = map(config.get, NAMES)
    named = isinstance(data, str) or (isinstance(data, list) and data and all(isinstance(one, str) for one in data))
    return NAMES if isinstance(model, str) and named else ()
