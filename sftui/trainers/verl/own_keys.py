"""Which configs are verl's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OWN: Mapping[str, frozenset[str]] = {
    "data": frozenset(
        {
            "train_files",
            "val_files",
            "train_batch_size",
            "micro_batch_size_per_gpu",
            "max_token_len_per_gpu",
            "use_dynamic_bsz",
            "messages_key",
            "tools_key",
            "enable_thinking_key",
            "enable_thinking_default",
            "pad_mode",
            "truncation",
            "balance_dp_token",
            "ignore_input_ids_mismatch",
            "train_max_samples",
            "val_max_samples",
            "apply_chat_template_kwargs",
        }
    ),
    "model": frozenset({"tokenizer_path", "custom_chat_template", "use_remove_padding", "hf_config_path"}),
    "trainer": frozenset({"default_local_dir", "n_gpus_per_node", "nnodes", "total_epochs", "project_name"}),
}
"""Section → its keys that no other trainer's config has there."""


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are verl's, by their places; none where its section `data` names no rows."""
    data = config.get("data")
    if not isinstance(data, Mapping) or not OWN["data"].intersection(data):
        return ()
    sections = [section for section in OWN if isinstance(config.get(section), Mapping)]
    return (
        *(f"{section}.{key}" for section in sections for key in config[section] if key in OWN[section]),
        *sections,  # which others have as one value
    )
