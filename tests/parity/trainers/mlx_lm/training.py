"""A config of mlx-lm that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import LORA

FULL = f"""model: org/model
train: true
data: org/rows
learning_rate: 1e-5
lr_schedule: {{name: cosine_decay, arguments: [2e-5, 900, 2e-6], warmup: 30}}
iters: 1000
batch_size: 3
grad_accumulation_steps: 5
optimizer: adamw
optimizer_config: {{adamw: {{betas: [0.85, 0.95], eps: 1e-7, weight_decay: 0.02, bias_correction: true}}}}
seed: 7
grad_checkpoint: true
fine_tune_type: dora
num_layers: -1
lora_parameters: {{rank: {LORA["r"]}, scale: 2.0, dropout: {LORA["dropout"]}, keys: [self_attn.q_proj]}}
steps_per_report: 15
save_every: 200
steps_per_eval: 100
report_to: wandb
adapter_path: there
"""
BARE = "model: org/model\ntrain: true\ndata: org/rows\n"
