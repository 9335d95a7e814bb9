"""A config of verl that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import LORA

FULL = f"""data:
  {{train_files: rows.parquet, train_batch_size: 30, micro_batch_size_per_gpu: 3, use_dynamic_bsz: false}}
model:
  path: org/model
  enable_gradient_checkpointing: false
  lora_rank: {LORA["r"]}
  lora_alpha: {LORA["alpha"]}
  target_modules: [q_proj, v_proj]
optim:
  lr: 2.0e-5
  lr_scheduler_type: cosine
  min_lr_ratio: 0.1
  lr_warmup_steps_ratio: 0.05
  betas: [0.85, 0.95]
  weight_decay: 0.02
  clip_grad: 0.3
  override_optimizer_config: {{eps: 1.0e-7}}
engine: {{model_dtype: bf16, dtype: bfloat16}}
trainer: {{total_training_steps: 300, total_epochs: 9, save_freq: 40, max_ckpt_to_keep: 2, default_local_dir: there}}
"""
BARE = "data: {train_files: rows.parquet}\nmodel: {path: org/model}\n"
