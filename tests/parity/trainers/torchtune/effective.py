"""What training does by the settings that torchtune's loader made (see `effective`)."""

from __future__ import annotations

from typing import Any

from effective import ADAM, Effective, Either, Settings, every, lora_of


def effective(settings: Settings) -> Effective:
    optimizer, schedule, model = settings["optimizer"], settings["lr_scheduler"], settings["model"]
    cosine = schedule is not None
    steps = schedule["num_warmup_steps"] if cosine else 0
    builder = str(model["_component_"]).rpartition(".")[2]
    lora = "lora" in builder
    targets: Any = None
    if lora:
        targets = [{"output_proj": "o_proj"}.get(one, one) for one in model.get("lora_attn_modules", ())]
        if model.get("apply_lora_to_mlp"):
            targets += ["gate_proj", "up_proj", "down_proj"]
        if model.get("apply_lora_to_output"):
            targets += ["lm_head"]
        elif len(targets) == 7:
            targets = Either((sorted(targets), "all-linear"))
    saves = settings["save_every_n_steps"]
    evaluates = settings["run_val_every_n_steps"]
    return {
        "learning_rate": optimizer.get("lr"),
        "schedule": "cosine" if cosine else "constant",
        "least_rate": 0,
        "schedule_options": None,
        "warmup": [steps, steps],
        "warmup_start": 0,
        "decay_steps": None,
        "length": ["epochs", float(settings["epochs"])],
        "limit": settings["max_steps_per_epoch"],
        "batch_size": settings["batch_size"],
        "accumulation": settings["gradient_accumulation_steps"],
        "optimizer": ADAM.get(optimizer["_component_"], optimizer["_component_"]),
        "beta1": optimizer.get("betas", [0.9])[0],
        "beta2": optimizer.get("betas", [0, 0.999])[1],
        "epsilon": optimizer.get("eps", 1e-8),
        "weight_decay": optimizer.get("weight_decay", 0.01),
        "max_grad_norm": settings["clip_grad_norm"],
        "seed": settings["seed"],
        "bf16": False,
        "fp16": False,
        "dtype": {"bf16": "bfloat16", "fp32": "float32"}.get(settings["dtype"], settings["dtype"]),
        "gradient_checkpointing": bool(settings["enable_activation_checkpointing"]),
        "activation_offloading": bool(settings.get("enable_activation_offloading")),
        "logging_steps": every(settings["log_every_n_steps"] or 1),
        "save": f"every {saves} steps" if saves else "each epoch",
        "save_total_limit": None,
        "eval": f"every {evaluates} steps" if evaluates else "never",
        "output_dir": settings["output_dir"],
        "quantization": 4 if "qlora" in builder else None,
        "neftune_alpha": None,
        "label_smoothing": 0,
        "train_embeddings": True,
        "bias_correction": True,
        **lora_of(
            "lora" if lora else "none",
            model.get("lora_rank"),
            model.get("lora_alpha"),
            model.get("lora_dropout"),
            Either((sorted(targets), "all-linear"))
            if lora and len(targets) == 7 and "lm_head" not in targets
            else targets,
            dora=bool(model.get("use_dora")),
        ),
    }
