"""Axolotl in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = (
    "axolotl@0.19",
    "axolotl@0.18",
)
CONFIGS = (
    {
        "base_model": "builtin:chatml",
        "sequence_len": 64,
        "datasets": [
            {
                "path": "data.jsonl",
                "type": "chat_template",
                "field_messages": "messages",
                "message_property_mappings": {"role": "role", "content": "content"},
                "roles": {"assistant": ["gpt", "model"], "user": ["human"]},
                "roles_to_train": ["assistant"],
                "train_on_eos": "turn",
                "message_field_training": "train",
                "data_files": ["a.jsonl"],
                "name": ["one", "two"],
                "ds_type": "json",
                "split": "train",
            }
        ],
        "chat_template": "chatml",
        "chat_template_jinja": "{{ messages }}",
        "chat_template_kwargs": {"enable_thinking": True},
        "special_tokens": {"pad_token": "<|pad|>", "eos_token": "<|im_end|>"},
        "tokens": ["<a>"],
        "added_tokens_overrides": {"5": "<b>"},
        "eot_tokens": ["<|im_end|>"],
        "sample_packing": True,
        "train_on_inputs": False,
        "attn_implementation": "flash_attention_2",
        "excess_length_strategy": "truncate",
        "pad_to_sequence_len": True,
        "micro_batch_size": 2,
        "wandb_project": "p",
    },
    {
        "base_model": "builtin:chatml",
        "datasets": [
            {
                "path": "data.jsonl",
                "type": {
                    "system_prompt": "s",
                    "field_instruction": "instruction",
                    "field_output": "output",
                    "format": "{instruction}",
                    "no_input_format": "{instruction}",
                },
            }
        ],
        "val_set_size": 0.1,
    },
)
