"""mlx-lm in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = ("mlx-lm",)
CONFIGS = (
    {
        "model": "builtin:chatml",
        "train": True,
        "data": "data",
        "mask_prompt": True,
        "batch_size": 2,
        "max_seq_length": 64,
        "chat_feature": "conversations",
        "lora_parameters": {"rank": 8, "keys": ["q_proj"]},
        "trust_remote_code": False,
    },
    {
        "model": "builtin:chatml",
        "hf_dataset": [
            {
                "path": "json",
                "train_split": "train[:50%]",
                "config": {"data_files": "a.jsonl", "data_dir": "d", "name": "n"},
            },
            {"path": "x/y", "prompt_feature": "q", "completion_feature": "a", "text_feature": "t", "mask_prompt": True},
        ],
        "fine_tune_type": "lora",
    },
)
