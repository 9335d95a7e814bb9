"""mlx-lm's fine-tuning with LoRA, DoRA or all weights (`mlx_lm.lora`), on Apple silicon, CUDA and CPU."""

from __future__ import annotations

from functools import partial

from sftui.trainers.traits import Finds, Quirk, Traits, own_keys

TRAITS = Traits(
    name="mlx-lm",
    title="mlx-lm",
    about="mlx-lm's fine-tuning (mlx_lm.lora), configured by its YAML and flags",
    home="sftui.trainers.mlx_lm.trainer:MlxLm",
    versions=("0.32",),
    first=(0, 32),
    finds=Finds.PROMPTS,
    averages="batch",  # 0.32.2, tuner/trainer.py (default_loss, then the mean of the gradients)
    rules={"last": "completion"},
    empty_stop="ValueError: Training set not found or empty. Must provide training set for fine-tuning.",
    data_name="train.jsonl",
    quirks=(Quirk.ENDS_TEXTS_ALONE, Quirk.TEMPLATE_BY_SCRIPT),
    config="sftui.trainers.mlx_lm.config",
    claims=partial(own_keys, __file__),
)
