"""What training does by a config, told alike for every trainer: from the objects that its own loader made (`settings`
of an answer of `loader.py`), read by each trainer's own meaning of them, `effective.py` of its folder. Nothing of
sftui's is used.

A value is what acts: the schedule with its least rate, the warm-up of a run of 1,000 and one of 10,000 steps, when it
is saved in words. What a loader leaves open (rows, devices) is not among the values.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from trainers import module_of

Settings = Mapping[str, Any]
Effective = dict[str, Any]

SAID_BY = {
    "schedule": ("scheduler", "scheduler_kwargs"),
    "least_rate": ("min_lr_ratio", "scheduler"),
    "warmup": ("warmup", "scheduler"),
    "length": ("epochs", "max_steps", "epochs_limit", "steps_per_epoch"),
    "limit": ("epochs", "max_steps", "epochs_limit", "steps_per_epoch"),
    "save": ("save_strategy", "save_steps"),
    "eval": ("eval_strategy", "eval_steps"),
    "optimizer": ("optimizer",),
    "lora_scale": ("lora_alpha", "lora_r", "rslora"),
    "lora_dora": ("dora",),
    "precision": ("bf16", "fp16"),
}
"""The neutral settings by which one of these is listed as not exported, where it is not of the same name."""
ADAM = {
    "adamw_torch": "AdamW",
    "adamw_torch_fused": "AdamW",
    "adamw_8bit": "AdamW8bit",
    "adamw_bnb_8bit": "AdamW8bit",
    "paged_adamw_8bit": "PagedAdamW8bit",
    "paged_adamw_32bit": "PagedAdamW",
    "adamw_torch_8bit": "AdamW8bit of torchao",
    "torch.optim.AdamW": "AdamW",
    "bitsandbytes.optim.PagedAdamW8bit": "PagedAdamW8bit",
    "bitsandbytes.optim.PagedAdamW": "PagedAdamW",
    "bitsandbytes.optim.AdamW8bit": "AdamW8bit",
    "torch.optim.SGD": "sgd",
}
"""Names of optimizers → what they compute."""


def effective(trainer: str, settings: Settings) -> Effective:
    """What training does by the settings that a trainer's loader made."""
    told: Effective = module_of(trainer, "effective").effective(settings)
    if told.get("output_dir"):
        told["output_dir"] = os.path.normpath(told["output_dir"])
    if told.get("schedule") in ("constant", "constant_with_warmup"):
        told["schedule"] = "constant"
        told.pop("least_rate", None)
    if told.get("schedule") == "constant" and settings.get("lr_scheduler_type") == "constant":
        told["warmup"] = [0, 0]
    if "output_dir" in told:
        told["output_dir"] = os.path.normpath(str(told["output_dir"]))
    if told.get("adapter") == "none":
        for name in [name for name in told if name.startswith("lora_")]:
            del told[name]
    for name in ("beta1", "beta2", "epsilon", "bias_correction"):
        if "adam" not in str(told.get("optimizer", "adam")).lower():
            told.pop(name, None)
    return told


def arguments(settings: Settings) -> Effective:
    """What transformers' TrainingArguments mean."""
    told: Effective = {
        "learning_rate": settings["learning_rate"],
        **schedule_of(settings["lr_scheduler_type"], settings["lr_scheduler_kwargs"] or {}, settings["learning_rate"]),
        "warmup": settings["warmup"],
        "length": length_of(settings["num_train_epochs"], settings["max_steps"]),
        "limit": None,
        "batch_size": settings["per_device_train_batch_size"],
        "accumulation": settings["gradient_accumulation_steps"],
        "optimizer": ADAM.get(settings["optim"], settings["optim"]),
        "optimizer_args": settings["optim_args"],
        "beta1": settings["adam_beta1"],
        "beta2": settings["adam_beta2"],
        "epsilon": settings["adam_epsilon"],
        "weight_decay": settings["weight_decay"],
        "max_grad_norm": settings["max_grad_norm"] or None,
        "seed": settings["seed"],
        "bf16": bool(settings["bf16"]),
        "fp16": bool(settings["fp16"]),
        "gradient_checkpointing": bool(settings["gradient_checkpointing"]),
        "logging_steps": every(settings["logging_steps"]) if settings["logging_strategy"] == "steps" else None,
        "save": when(settings["save_strategy"], settings["save_steps"]),
        "save_total_limit": settings["save_total_limit"] if (settings["save_total_limit"] or 0) > 0 else None,
        "eval": when(settings["eval_strategy"], settings["eval_steps"]),
        "output_dir": settings["output_dir"],
        "neftune_alpha": settings["neftune_noise_alpha"],
        "label_smoothing": settings["label_smoothing_factor"],
        "train_embeddings": True,
        "bias_correction": True,
        "decay_steps": None,
        "warmup_start": 0,
    }
    if "activation_offloading" in settings:
        told["activation_offloading"] = settings["activation_offloading"]
    if told["eval"] != "never":
        told["eval_batch_size"] = settings["per_device_eval_batch_size"]
    return told


def schedule_of(name: str, options: Mapping[str, Any], rate: float) -> Effective:
    if name in ("cosine_with_min_lr",):
        least = options.get("min_lr_rate")
        least = least if least is not None else (options.get("min_lr") or 0) / rate
        return {"schedule": "cosine", "least_rate": rounded(least), "schedule_options": None}
    left = dict(options) or None
    return {"schedule": name, "least_rate": 0, "schedule_options": left}


def rounded(value: Any) -> Any:
    return round(float(value), 9) if isinstance(value, (int, float)) else value


def every(steps: Any) -> Any:
    return float(steps) if isinstance(steps, (int, float)) else steps


def length_of(epochs: Any, steps: Any) -> list[Any]:
    return ["steps", steps] if steps is not None and steps > 0 else ["epochs", float(epochs)]


def when(strategy: str, steps: Any) -> str:
    named = {"no": "never", "epoch": "each epoch", "best": "best"}
    return named.get(str(strategy)) or f"every {every(steps):g} steps"


class Either(tuple[Any, ...]):
    """Values that come to the same: these seven layers are all linear ones of torchtune's models."""


def lora_of(
    kind: str, rank: Any, alpha: Any, dropout: Any, targets: Any, rs: bool = False, dora: bool = False
) -> Effective:
    if kind != "lora":
        return {"adapter": "none" if kind in ("full", "none") else kind}
    if isinstance(targets, (list, tuple)) and not isinstance(targets, Either):
        targets = sorted(targets)
    return {
        "adapter": "lora",
        "lora_r": rank,
        "lora_scale": rounded(alpha / (rank**0.5 if rs else rank)),
        "lora_dropout": float(dropout or 0),
        "lora_targets": "all-linear" if targets in (["all-linear"], ["all"], "all") else targets,
        "lora_dora": bool(dora),
        "layers": "all",
    }


def differing(source: Effective, target: Effective) -> dict[str, tuple[Any, Any]]:
    """What two trainers do otherwise, of what both are known to do."""
    return {
        name: (source[name], target[name])
        for name in source
        if name in target and not _alike(source[name], target[name])
    }


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Either) or isinstance(other, Either):
        ones, others = ([*side] if isinstance(side, Either) else [side] for side in (one, other))
        return any(_alike(left, right) for left in ones for right in others)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)) and not isinstance(one, bool):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one)) if one > 1e-6 or other > 1e-6 else abs(one - other) < 1e-12
    return bool(one == other)
