"""A config of NeMo Automodel that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import LORA

FULL = f"""recipe: TrainFinetuneRecipeForNextTokenPrediction
seed: 7
dataset: {{_target_: nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset, path_or_dataset_id: org/rows}}
model: {{pretrained_model_name_or_path: org/model, torch_dtype: bf16}}
step_scheduler: {{global_batch_size: 30, local_batch_size: 3, max_steps: 300, num_epochs: 9, ckpt_every_steps: 40}}
optimizer: {{_target_: torch.optim.Adam, lr: 2.0e-5, betas: [0.85, 0.95], eps: 1e-7, weight_decay: 0}}
lr_scheduler: {{lr_decay_style: cosine, min_lr: 2.0e-6, lr_warmup_steps: 30}}
clip_grad_norm: {{max_norm: 0.3}}
peft:
  _target_: nemo_automodel.components._peft.lora.PeftConfig
  target_modules: [q_proj, v_proj]
  dim: {LORA["r"]}
  alpha: {LORA["alpha"]}
  dropout: {LORA["dropout"]}
distributed: {{activation_checkpointing: true}}
checkpoint: {{checkpoint_dir: there, max_recent_checkpoints: 2}}
"""
BARE = (
    "dataset: {_target_: nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset, path_or_dataset_id: r}\n"
    "model: {pretrained_model_name_or_path: org/model}\n"
)
