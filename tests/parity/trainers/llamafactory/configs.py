"""Configs of our own for LLaMA-Factory (see `make_configs`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from make_configs import ANY, FLAG, Deciding, Draw, some

from sftui.trainers.config import KeyUse

RELEASE = "0.9.5"
"""What a config is read as, and put to."""
STOPS = (KeyUse.STOPS, KeyUse.UNKNOWN)
"""By what sftui says that the trainer stops."""
LLAMAFACTORY: Deciding = {
    "stage": ("sft", "sft", "sft", "pt", "dpo", "rm", "kto", "no_such"),
    "template": ("qwen", "llama3", "default", "no_such", None, 3),
    "dataset": ("alpaca_en_demo", "alpaca_en_demo,identity", ["identity"], "no_such", None, "dpo_en_demo", "c4_demo"),
    "cutoff_len": (64, 2048),
    "train_on_prompt": FLAG,
    "mask_history": FLAG,
    "packing": (True, False, None, "true"),
    "neat_packing": FLAG,
    "val_size": (0, 0.1, 100, None),
    "max_samples": (10, None, "10"),
    "tool_format": ("qwen", None, "no_such"),
    "default_system": ("Be brief", None, 3),
    "enable_thinking": FLAG,
    "ignore_pad_token_for_loss": FLAG,
    "preprocessing_batch_size": (1000, 10),
    "per_device_train_batch_size": (1, 4),
    "eval_dataset": ("identity", None),
    "streaming": (True, False),
    "buffer_size": (10,),
    "max_steps": (10,),
    "mix_strategy": ("concat", "interleave_under", "no_such"),
    "interleave_probs": ("0.5,0.5", "1,2,3", None),
    "add_tokens": ("<a>,<b>", ["<a>"], None),
    "add_special_tokens": ("<a>", None),
    "tokenized_path": (None, "/no/such"),
    "finetuning_type": ("lora", "full", "no_such"),
    "do_train": (True, True, False),
    "no_such_key": ANY,
    "quantization_bit": (4,),
    "resize_vocab": (True, False),
    "predict_with_generate": (True, False),
    "dataset_dir": ("data", "/no/such", "ONLINE"),
    "adapter_name_or_path": ("a", None),
    "seed": (1, 42),
}


def make(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    config: dict[str, Any] = {"model_name_or_path": "org/model", "stage": "sft", "do_train": True}
    config |= {"finetuning_type": "lora", "template": "qwen", "dataset": "alpaca_en_demo", "output_dir": "out"}
    return {**config, **some(draw, LLAMAFACTORY, 1, 5)}
