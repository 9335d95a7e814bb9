"""Unsloth in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = ("unsloth@2026.10",)
CONFIGS = (
    {
        "tokenizer": "builtin:chatml",
        "data": ["data.jsonl"],
        "split": "train",
        "max_seq_length": 64,
        "responses": {
            "instruction_part": "<|im_start|>user\n",
            "response_part": "<|im_start|>assistant\n",
            "last_response_only": False,
        },
        "standardize": True,
        "text_from": "conversations",
        "formatting": True,
        "packing": False,
        "trl_version": "1.15.0",
        "chat_template": "x.jinja",
    },
)
