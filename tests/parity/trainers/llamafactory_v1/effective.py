"""What training does by the settings that LLaMA-Factory's v1 engine's loader made (see `effective`)."""

from __future__ import annotations

import re

from effective import Effective, Settings, every, length_of, lora_of


def effective(settings: Settings) -> Effective:
    peft, quantized = settings["peft_config"] or {}, settings["quant_config"] or {}
    told: Effective = {
        "learning_rate": settings["learning_rate"],
        "length": length_of(settings["num_train_epochs"], settings["max_steps"]),
        "limit": None,
        "batch_size": settings["micro_batch_size"],
        "max_grad_norm": settings["max_grad_norm"],
        "seed": settings["seed"],
        "bf16": settings["bf16"],
        "fp16": False,
        "gradient_checkpointing": settings["enable_activation_checkpointing"],
        "activation_offloading": False,
        "logging_steps": every(settings["logging_steps"]),
        "save_total_limit": settings["save_total_limit"],
        "output_dir": settings["output_dir"],
        "quantization": quantized.get("quantization_bit"),
        "neftune_alpha": None,
        "label_smoothing": 0,
        "train_embeddings": True,
        "eval": "never",
        **lora_of(
            peft.get("name", "none"),
            peft.get("r", 8),
            peft.get("lora_alpha", 16),
            peft.get("lora_dropout", 0.05),
            peft.get("target_modules", "all"),
            bool(peft.get("use_rslora")),
            bool(peft.get("use_dora")),
        ),
    }
    if re.fullmatch(r"outputs/[0-9a-f]{32}", str(told["output_dir"])):
        del told["output_dir"]
    if not settings["save_epochs"]:
        told["save"] = f"every {settings['save_steps']:g} steps" if settings["save_steps"] else "never"
    if not settings["optim_config"]:
        told |= {"optimizer": "AdamW", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01}
        told["bias_correction"] = True
    if not settings["lr_scheduler_config"]:
        told |= {"schedule": "constant", "warmup": [0, 0], "warmup_start": 0, "decay_steps": None}
    return told
