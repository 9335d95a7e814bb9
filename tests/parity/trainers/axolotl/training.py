"""A config of Axolotl that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import LORA

FULL = f"""base_model: org/model
datasets: [{{path: org/rows, type: chat_template}}]
learning_rate: 2e-5
lr_scheduler: cosine
cosine_min_lr_ratio: 0.1
num_epochs: 2
warmup_ratio: 0.05
micro_batch_size: 3
gradient_accumulation_steps: 5
optimizer: paged_adamw_8bit
adam_beta1: 0.85
adam_beta2: 0.95
adam_epsilon: 1.0e-7
weight_decay: 0.02
max_grad_norm: 0.3
seed: 7
bf16: true
tf32: false
gradient_checkpointing: true
gradient_checkpointing_kwargs: {{use_reentrant: false}}
adapter: qlora
load_in_4bit: true
lora_r: {LORA["r"]}
lora_alpha: {LORA["alpha"]}
lora_dropout: {LORA["dropout"]}
lora_target_linear: true
logging_steps: 3
saves_per_epoch: 4
save_total_limit: 2
wandb_project: mine
output_dir: there
"""
BARE = "base_model: org/model\nlearning_rate: 2.0e-5\ndatasets: [{path: org/rows, type: chat_template}]\n"
