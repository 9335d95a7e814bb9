"""LLaMA-Factory in the fuzzer: presets that rows go through, and configs that are bent."""

from __future__ import annotations

PRESETS = ("llamafactory@0.9",)
KNOBS = {"render.template": "llamafactory/qwen"}
CONFIGS = (
    {
        "stage": "sft",
        "model_name_or_path": "builtin:chatml",
        "template": "qwen",
        "dataset": "one,two",
        "dataset_dir": {
            "one": {
                "file_name": "one.json",
                "formatting": "sharegpt",
                "columns": {"messages": "conversations"},
                "tags": {"role_tag": "from", "content_tag": "value", "user_tag": "human", "assistant_tag": "gpt"},
            },
            "two": {"hf_hub_url": "org/two", "subset": "s", "split": "train", "num_samples": 3},
        },
        "cutoff_len": 64,
        "train_on_prompt": False,
        "mask_history": True,
        "packing": True,
        "neat_packing": False,
        "enable_thinking": True,
        "default_system": "s",
        "tool_format": "qwen",
        "val_size": 0.1,
        "max_samples": 10,
        "per_device_train_batch_size": 2,
    },
)
