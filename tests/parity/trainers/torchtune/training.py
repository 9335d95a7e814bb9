"""A config of torchtune that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import LORA

FULL = f"""tokenizer: {{_component_: torchtune.models.llama3.llama3_tokenizer, path: t, max_seq_len: 100}}
dataset: {{_component_: torchtune.datasets.alpaca_dataset, source: org/rows}}
model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_rank: {LORA["r"]}
  lora_alpha: {LORA["alpha"]}
  lora_dropout: {LORA["dropout"]}
  lora_attn_modules: [q_proj, k_proj, v_proj, output_proj]
  apply_lora_to_mlp: true
  apply_lora_to_output: false
optimizer: {{_component_: torch.optim.AdamW, lr: 2e-5, weight_decay: 0.02, betas: [0.85, 0.95], eps: 1e-7, fused: true}}
lr_scheduler: {{_component_: torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup, num_warmup_steps: 30}}
epochs: 2
max_steps_per_epoch: 50
batch_size: 3
gradient_accumulation_steps: 5
clip_grad_norm: 0.3
seed: 7
shuffle: true
dtype: bf16
enable_activation_checkpointing: true
log_every_n_steps: 3
save_every_n_steps: 40
compile: true
output_dir: there
"""
BARE = (
    "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, path: t}\n"
    "dataset: {_component_: torchtune.datasets.alpaca_dataset, source: org/rows}\n"
)
