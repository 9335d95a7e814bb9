"""What training does by the settings that verl's loader made (see `effective`)."""

from __future__ import annotations

from effective import ADAM, Effective, Settings, length_of, lora_of, rounded


def effective(settings: Settings) -> Effective:
    data, trainer, optim = settings["data"], settings["trainer"], settings["optim"]
    engine, model = settings["engine"], settings["model"]
    told: Effective = {
        "learning_rate": optim["lr"],
        "warmup": settings["warmup"],
        "warmup_start": 0,
        "decay_steps": None,
        "schedule_options": None,
        "length": length_of(trainer["total_epochs"], trainer["total_training_steps"]),
        "limit": trainer["total_epochs"] if trainer["total_training_steps"] else None,
        "global_batch_size": data["train_batch_size"],
        "beta1": optim["betas"][0],
        "beta2": optim["betas"][1],
        "weight_decay": optim["weight_decay"],
        "max_grad_norm": optim["clip_grad"],
        "logging_steps": 1.0,
        "save_total_limit": trainer["max_ckpt_to_keep"],
        "output_dir": trainer["default_local_dir"],
        "neftune_alpha": None,
        "label_smoothing": 0,
        "train_embeddings": True,
        "bias_correction": True,
    }
    for name, key in (("save", "save_freq"), ("eval", "test_freq")):
        said = trainer[key]
        told[name] = "each epoch" if said == "after_each_epoch" else "never" if said < 1 else f"every {said:g} steps"
    if not data["use_dynamic_bsz"]:
        told["batch_size"] = data["micro_batch_size_per_gpu"]
    if optim["kind"] == "FSDPOptimizerConfig":
        impl = f"{optim['optimizer_impl']}.{optim['optimizer']}"
        told["optimizer"] = ADAM.get(impl, impl)
        told["schedule"], told["least_rate"] = optim["lr_scheduler_type"], rounded(optim["min_lr_ratio"] or 0)
        told["epsilon"] = (optim["override_optimizer_config"] or {}).get("eps", 1e-8)
        told["bf16"], told["fp16"] = engine["dtype"] == "bfloat16", engine["dtype"] == "float16"
        types = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
        told["dtype"] = types.get(engine["model_dtype"], engine["model_dtype"])
        told["gradient_checkpointing"] = bool(model["enable_gradient_checkpointing"])
        told |= lora_of(
            "lora" if model["lora_rank"] > 0 else "none",
            model["lora_rank"],
            model["lora_alpha"],
            0,
            model["target_modules"],
        )
    return told
