"""Configs of our own for TRL (see `make_configs`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from make_configs import ANY, FLAG, Deciding, Draw, some

from sftui.trainers.config import KeyUse

RELEASE = "1.16.0"
"""What a config is read as, and put to."""
STOPS = (KeyUse.STOPS, KeyUse.UNKNOWN)
"""By what sftui says that the trainer stops."""
TRL: Deciding = {
    "max_length": (64, "512", None, "x", True),
    "truncation_mode": ("keep_start", "keep_end", "no_such"),
    "packing": FLAG,
    "packing_strategy": ("bfd", "wrapped", "bfd_split", "bfd-requeue", "no_such"),
    "padding_free": FLAG,
    "pad_to_multiple_of": (8, "8", None, "auto", "none", "x"),
    "eos_token": ("<|im_end|>", None),
    "pad_token": ("<|endoftext|>", None),
    "completion_only_loss": FLAG,
    "assistant_only_loss": FLAG,
    "dataset_text_field": ("body", "text"),
    "chat_template_path": ("a.jinja", "org/model", None),
    "per_device_train_batch_size": (1, "2", 4, "x"),
    "dataset_config": ("sub", None),
    "dataset_train_split": ("train", "train_sft"),
    "datasets": (
        [{"path": "a/b"}],
        [{"path": "json", "data_files": "a.jsonl", "split": "train"}],
        [],
        "x",
        [{"name": "y"}],
        [{"path": "a/b", "no_such": 1}],
        [{"path": "a/b", "fraction": 0.5}],
    ),
    "test_split_size": (0.1, None),
    "shuffle_dataset": FLAG,
    "no_such_key": ANY,
    "num_processes": (2,),
    "mixed_precision": ("bf16", "no_such"),
    "env": ({"A": "1"}, "x"),
    "loss_type": ("nll", "dft", "no_such"),
    "learning_rate": (1e-4, "1e-4", "x"),
    "model_revision": ("main", "x"),
    "eval_packing": FLAG,
}


def make(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    config: dict[str, Any] = {"model_name_or_path": "org/model", "dataset_name": "org/set", "output_dir": "out"}
    return {**config, **some(draw, TRL, 1, 5)}
