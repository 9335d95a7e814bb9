"""What the configs share that set everything of training: `FULL` in `training.py` of each trainer's folder."""

from __future__ import annotations

HF = """
learning_rate: 2.0e-5
lr_scheduler_type: cosine_with_min_lr
lr_scheduler_kwargs: {min_lr_rate: 0.1}
num_train_epochs: 2
warmup_steps: 0.05
per_device_train_batch_size: 3
gradient_accumulation_steps: 5
optim: paged_adamw_8bit
adam_beta1: 0.85
adam_beta2: 0.95
adam_epsilon: 1.0e-7
weight_decay: 0.02
max_grad_norm: 0.3
seed: 7
bf16: true
tf32: false
logging_steps: 3
save_strategy: steps
save_steps: 40
save_total_limit: 2
output_dir: there
report_to: wandb
neftune_noise_alpha: 5
"""
LORA = {"r": 24, "alpha": 48, "dropout": 0.1}
