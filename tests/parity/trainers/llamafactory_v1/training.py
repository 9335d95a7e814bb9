"""A config of LLaMA-Factory's v1 engine that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import LORA

FULL = f"""model: org/model
train_dataset: org/rows
learning_rate: 2.0e-5
num_train_epochs: 2
micro_batch_size: 3
global_batch_size: 15
max_grad_norm: 0.3
seed: 7
bf16: true
enable_activation_checkpointing: true
peft_config: {{name: lora, r: {LORA["r"]}, lora_alpha: {LORA["alpha"]}, lora_dropout: {LORA["dropout"]}}}
logging_steps: 3
save_steps: 40
save_total_limit: 2
output_dir: there
"""
BARE = "model: org/model\ntrain_dataset: org/rows\n"
