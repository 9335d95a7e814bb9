"""ms-swift in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = ("ms-swift",)
CONFIGS = (
    {
        "model": "builtin:chatml",
        "dataset": ["a.jsonl", "hf::x/y:default#100"],
        "template": "qwen3",
        "max_length": 64,
        "truncation_strategy": "delete",
        "loss_scale": "last_round+hermes",
        "packing": True,
        "packing_strategy": "sequential",
        "system": "Be kind.",
        "columns": {"question": "query"},
        "split_dataset_ratio": 0.1,
        "per_device_train_batch_size": 2,
        "tuner_type": "lora",
    },
)
