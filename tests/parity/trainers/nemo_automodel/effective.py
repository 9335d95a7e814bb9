"""What training does by the settings that NeMo Automodel's loader made (see `effective`)."""

from __future__ import annotations

from typing import Any

from effective import ADAM, Effective, Settings, length_of, lora_of, rounded


def effective(settings: Settings) -> Effective:
    steps, optimizer, schedule, peft = (settings[key] for key in ("scheduler", "optimizer", "lr_scheduler", "peft"))
    rate = optimizer.get("lr")
    kind = optimizer["class"].replace("torch.optim.adamw.", "torch.optim.").replace("torch.optim.adam.", "torch.optim.")
    kind = kind.replace("torch.optim.sgd.", "torch.optim.")
    if kind == "torch.optim.Adam" and not float(optimizer["weight_decay"]):
        kind = "torch.optim.AdamW"
    told: Effective = {
        "learning_rate": rate,
        "length": length_of(steps["num_epochs"], steps["max_steps"]),
        "limit": steps["num_epochs"] if steps["max_steps"] else None,
        "batch_size": steps["local_batch_size"],
        "global_batch_size": steps["global_batch_size"],
        "optimizer": ADAM.get(kind, kind),
        "weight_decay": optimizer.get("weight_decay"),
        "max_grad_norm": settings["max_grad_norm"],
        "seed": settings["seed"],
        "gradient_checkpointing": bool(settings["activation_checkpointing"]),
        "activation_offloading": False,
        "logging_steps": 1.0,
        "save_total_limit": settings["checkpoint"]["max_recent_checkpoints"],
        "output_dir": settings["checkpoint"]["checkpoint_dir"],
        "neftune_alpha": None,
        "label_smoothing": 0,
        "train_embeddings": True,
        "bias_correction": True,
        "schedule": "constant",
        "schedule_options": None,
        "warmup": [0, 0],
        "warmup_start": 0,
        "decay_steps": None,
    }
    told["save_total_limit"] = None if told["save_total_limit"] == "None" else int(told["save_total_limit"])
    for name in ("learning_rate", "weight_decay"):  # of an optimizer that the loader leaves to its own package
        if told[name] is None:
            del told[name]
    if isinstance(optimizer.get("betas"), (list, tuple)):
        told["beta1"], told["beta2"] = optimizer["betas"]
    if "eps" in optimizer:
        told["epsilon"] = optimizer["eps"]
    if schedule is not None:
        told |= {"schedule": schedule["lr_decay_style"], "warmup": settings["warmup"]}
        least, start = schedule["min_lr"], schedule["init_lr"]
        if least is None or rate:
            told["least_rate"] = rounded(least / rate) if least is not None else 0.01
        told["decay_steps"] = schedule["lr_decay_steps"]
        if any(settings["warmup"]) and (start is None or rate):
            told["warmup_start"] = rounded(start / rate) if start is not None else 0.1
    saves, ends = steps["ckpt_every_steps"], steps["save_checkpoint_every_epoch"]
    if settings["checkpoint"]["enabled"] == "False":
        told["save"] = "never"
    elif saves is None:
        told["save"] = "each epoch"
    else:
        told["save"] = " and ".join([f"every {saves} steps"] * bool(saves) + ["each epoch"] * bool(ends)) or "never"
    tests = steps["val_every_steps"]
    told["eval"] = f"every {tests} steps" if tests and settings["validation"] else "never"
    told["dtype"] = {"bf16": "bfloat16"}.get(settings["torch_dtype"], settings["torch_dtype"].removeprefix("torch."))
    targets: Any = peft and peft["target_modules"]
    if peft and peft["match_all_linear"] in (True, "True"):
        targets = "all-linear"
    told |= lora_of(
        "lora" if peft else "none",
        peft and peft["dim"],
        peft and peft["alpha"],
        peft and peft["dropout"],
        targets,
        dora=bool(peft and peft["use_dora"] in (True, "True")),
    )
    return told
