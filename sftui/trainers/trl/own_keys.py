"""Which configs are TRL's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sftui.trainers.traits import keys_among

OWN = frozenset(
    {
        "dataset_name",
        "dataset_config",
        "dataset_train_split",
        "dataset_test_split",
        "dataset_text_field",
        "dataset_kwargs",
        "assistant_only_loss",
        "completion_only_loss",
        "packing_strategy",
        "truncation_mode",
        "chat_template_path",
        "eval_packing",
        "padding_free",
        "use_peft",
        "max_length",
    }
)


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are TRL's alone."""
    return keys_among(OWN, config)
