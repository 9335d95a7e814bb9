"""TRL in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = (
    "trl@1.16",
    "trl@1.8",
)
CONFIGS = (
    {
        "model_name_or_path": "builtin:chatml",
        "dataset_name": "data.jsonl",
        "dataset_train_split": "train",
        "dataset_config": "s",
        "max_length": 64,
        "packing": True,
        "packing_strategy": "bfd",
        "assistant_only_loss": True,
        "completion_only_loss": None,
        "chat_template_path": "chat.jinja",
        "eos_token": "<|im_end|>",
        "pad_to_multiple_of": 8,
        "truncation_mode": "keep_start",
        "dataset_text_field": "text",
        "learning_rate": 1.0e-5,
        "output_dir": "out",
    },
    {
        "model_name_or_path": "m",
        "max_length": 8,
        "datasets": [
            {"path": "json", "data_files": {"train": "a.jsonl"}, "data_dir": "d", "split": "train", "name": "n"}
        ],
        "use_peft": True,
    },
)
