"""A config of TRL that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import HF, LORA

FULL = f"""model_name_or_path: org/model
dataset_name: org/rows
gradient_checkpointing: false
use_peft: true
lora_r: {LORA["r"]}
lora_alpha: {LORA["alpha"]}
lora_dropout: {LORA["dropout"]}
lora_target_modules: [q_proj, v_proj]
load_in_4bit: true
push_to_hub: true
{HF}"""
BARE = "model_name_or_path: org/model\ndataset_name: org/rows\n"
