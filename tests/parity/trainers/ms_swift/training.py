"""A config of ms-swift that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import HF, LORA

FULL = f"""model: org/model
dataset: [org/rows]
tuner_type: lora
lora_rank: {LORA["r"]}
lora_alpha: {LORA["alpha"]}
lora_dropout: {LORA["dropout"]}
target_modules: [q_proj, v_proj]
torch_dtype: bfloat16
quant_bits: 4
quant_method: bnb
gradient_checkpointing: false
split_dataset_ratio: 0.1
eval_strategy: steps
eval_steps: 20
push_to_hub: true
{HF}"""
BARE = "model: org/model\ndataset: [org/rows]\n"
