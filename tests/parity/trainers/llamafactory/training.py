"""A config of LLaMA-Factory that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import HF, LORA

FULL = f"""model_name_or_path: org/model
stage: sft
do_train: true
dataset: rows
dataset_dir: {{rows: {{hf_hub_url: org/rows}}}}
template: qwen
disable_gradient_checkpointing: true
finetuning_type: lora
lora_rank: {LORA["r"]}
lora_alpha: {LORA["alpha"]}
lora_dropout: {LORA["dropout"]}
lora_target: q_proj,v_proj
quantization_bit: 4
{HF}"""
BARE = (
    "model_name_or_path: org/model\nstage: sft\ndo_train: true\ndataset: rows\n"
    "dataset_dir: {rows: {hf_hub_url: org/rows}}\ntemplate: qwen\n"
)
