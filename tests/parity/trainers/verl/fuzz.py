"""verl in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = ("verl",)
CONFIGS = (
    {
        "defaults": ["sft_trainer_engine", "_self_"],
        "most": 64,
        "data": {
            "train_files": ["a.parquet", "b.parquet"],
            "max_length": "${most}",
            "truncation": "left",
            "pad_mode": "no_padding",
            "messages_key": "conversations",
            "enable_thinking_default": "none",
            "apply_chat_template_kwargs": {"enable_thinking": False},
            "train_max_samples": 3,
            "ignore_input_ids_mismatch": True,
            "custom_cls": {"path": None, "name": None},
        },
        "model": {"path": "builtin:chatml", "tokenizer_path": None, "custom_chat_template": "{{ messages }}"},
        "trainer": {"project_name": "x", "total_epochs": 1},
    },
)
