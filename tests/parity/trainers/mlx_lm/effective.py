"""What training does by the settings that mlx-lm's loader made (see `effective`)."""

from __future__ import annotations

from effective import Effective, Settings, lora_of, rounded


def effective(settings: Settings) -> Effective:
    schedule, every = settings["lr_schedule"], settings["grad_accumulation_steps"]
    rate = schedule["arguments"][0] if schedule else settings["learning_rate"]
    made, lora = settings["made"], settings["lora_parameters"]
    names = {"cosine_decay": "cosine", "linear_schedule": "linear"}
    named = names.get(schedule["name"], schedule["name"]) if schedule else "constant"
    warmup = schedule.get("warmup", 0) if schedule else 0
    kind = {"lora": "lora", "dora": "lora", "full": "none"}[settings["fine_tune_type"]]
    told: Effective = {
        "learning_rate": rate,
        "schedule": named,
        "schedule_options": None,
        "warmup": [warmup, warmup],
        "warmup_start": (schedule.get("warmup_init", 0) / rate) if schedule else 0,
        "length": ["steps", settings["iters"] / every],
        "limit": None,
        "batch_size": settings["batch_size"],
        "accumulation": every,
        "optimizer": {"adam": "AdamW", "adamw": "AdamW"}.get(settings["optimizer"], settings["optimizer"]),
        "beta1": made["betas"][0] if "betas" in made else None,
        "beta2": made["betas"][1] if "betas" in made else None,
        "epsilon": made.get("eps"),
        "bias_correction": made.get("bias_correction"),
        "weight_decay": made.get("weight_decay", 0),
        "max_grad_norm": None,
        "seed": settings["seed"],
        "gradient_checkpointing": bool(settings["grad_checkpoint"]),
        "activation_offloading": False,
        "logging_steps": settings["steps_per_report"] / every,
        "save": f"every {settings['save_every'] / every:g} steps",
        "save_total_limit": None,
        "output_dir": settings["adapter_path"],
        "neftune_alpha": None,
        "label_smoothing": 0,
        "train_embeddings": False,
    }
    if schedule and named == "cosine":
        arguments = schedule["arguments"]
        told["least_rate"] = rounded(arguments[2] / rate) if len(arguments) > 2 else 0
        told["decay_steps"] = arguments[1]
    if kind == "lora":
        told |= lora_of(
            "lora",
            lora["rank"],
            lora["scale"] * lora["rank"],
            lora["dropout"],
            lora.get("keys") or "all-linear",
            dora=settings["fine_tune_type"] == "dora",
        )
        del told["train_embeddings"]
    else:
        told["adapter"] = "none"
    told["layers"] = "all" if settings["num_layers"] < 1 else settings["num_layers"]
    return told
