"""LLaMA-Factory's v1 engine in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = ("llamafactory-v1",)
CONFIGS = (
    {
        "model": "builtin:chatml",
        "model_class": "llm",
        "train_dataset": "data.jsonl",
        "custom_chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}",
        "cutoff_len": 64,
        "micro_batch_size": 2,
        "global_batch_size": 4,
        "batching_strategy": "padding_free",
        "flash_attn": "flash_attention_2",
        "max_steps": 3,
        "peft_config": {"name": "lora", "r": 8},
    },
)
