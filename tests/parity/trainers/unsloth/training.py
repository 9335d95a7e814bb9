"""A config of Unsloth that sets all of training, and one that sets nothing that need not be set."""

from __future__ import annotations

from full_configs import HF, LORA

FULL = f"""tokenizer: org/model
data: org/rows
from_pretrained: {{model_name: org/model, load_in_4bit: true, use_gradient_checkpointing: unsloth}}
get_peft_model:
  {{r: {LORA["r"]}, lora_alpha: {LORA["alpha"]}, lora_dropout: {LORA["dropout"]}, target_modules: [q_proj]}}
{HF}"""
BARE = "tokenizer: org/model\ndata: org/rows\nfrom_pretrained: {model_name: org/model}\n"
