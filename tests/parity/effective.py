"""What training does by a config, told alike for every trainer: from the objects that its own loader made (`settings`
of an answer of `open_<trainer>.py`), read here by each trainer's own meaning of them. Nothing of sftui's is used.

A value is what acts: the schedule with its least rate, the warm-up of a run of 1,000 and one of 10,000 steps, when it
is saved in words. What a loader leaves open (rows, devices) is not among the values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

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
"""The neutral settings by which one of these is listed as not carried, where it is not of the same name."""
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
    told = _OF[trainer](settings)
    if told.get("output_dir"):
        told["output_dir"] = os.path.normpath(told["output_dir"])
    if told.get("schedule") in ("constant", "constant_with_warmup"):
        told["schedule"] = "constant"
        told.pop("least_rate", None)
    if told.get("schedule") == "constant" and trainer in _ARGUMENTS and settings["lr_scheduler_type"] == "constant":
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


def _arguments(settings: Settings) -> Effective:
    """What transformers' TrainingArguments mean."""
    told: Effective = {
        "learning_rate": settings["learning_rate"],
        **_schedule(settings["lr_scheduler_type"], settings["lr_scheduler_kwargs"] or {}, settings["learning_rate"]),
        "warmup": settings["warmup"],
        "length": _length(settings["num_train_epochs"], settings["max_steps"]),
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
        "logging_steps": _every(settings["logging_steps"]) if settings["logging_strategy"] == "steps" else None,
        "save": _when(settings["save_strategy"], settings["save_steps"]),
        "save_total_limit": settings["save_total_limit"] if (settings["save_total_limit"] or 0) > 0 else None,
        "eval": _when(settings["eval_strategy"], settings["eval_steps"]),
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


def _schedule(name: str, options: Mapping[str, Any], rate: float) -> Effective:
    if name in ("cosine_with_min_lr",):
        least = options.get("min_lr_rate")
        least = least if least is not None else (options.get("min_lr") or 0) / rate
        return {"schedule": "cosine", "least_rate": _round(least), "schedule_options": None}
    left = dict(options) or None
    return {"schedule": name, "least_rate": 0, "schedule_options": left}


def _round(value: Any) -> Any:
    return round(float(value), 9) if isinstance(value, (int, float)) else value


def _every(steps: Any) -> Any:
    return float(steps) if isinstance(steps, (int, float)) else steps


def _length(epochs: Any, steps: Any) -> list[Any]:
    return ["steps", steps] if steps is not None and steps > 0 else ["epochs", float(epochs)]


def _when(strategy: str, steps: Any) -> str:
    named = {"no": "never", "epoch": "each epoch", "best": "best"}
    return named.get(str(strategy)) or f"every {_every(steps):g} steps"


class Either(tuple[Any, ...]):
    """Values that come to the same: these seven layers are all linear ones of torchtune's models."""


def _lora(
    kind: str, rank: Any, alpha: Any, dropout: Any, targets: Any, rs: bool = False, dora: bool = False
) -> Effective:
    if kind != "lora":
        return {"adapter": "none" if kind in ("full", "none") else kind}
    if isinstance(targets, (list, tuple)) and not isinstance(targets, Either):
        targets = sorted(targets)
    return {
        "adapter": "lora",
        "lora_r": rank,
        "lora_scale": _round(alpha / (rank**0.5 if rs else rank)),
        "lora_dropout": float(dropout or 0),
        "lora_targets": "all-linear" if targets in (["all-linear"], ["all"], "all") else targets,
        "lora_dora": bool(dora),
        "layers": "all",
    }


def _trl(settings: Settings) -> Effective:
    model = settings["model"]
    bits = 4 if model["load_in_4bit"] else 8 if model["load_in_8bit"] else None
    return {
        **_arguments(settings),
        "dtype": model["dtype"],
        "quantization": bits,
        **_lora(
            "lora" if model["use_peft"] else "none",
            model["lora_r"],
            model["lora_alpha"],
            model["lora_dropout"],
            model["lora_target_modules"],
            model["use_rslora"],
            model["use_dora"],
        ),
    }


def _llamafactory(settings: Settings) -> Effective:
    tuning, model = settings["tuning"], settings["model"]
    told = {
        **_arguments(settings),
        "quantization": model["quantization_bit"],
        "gradient_checkpointing": not model["disable_gradient_checkpointing"],
        "activation_offloading": False,
        **_lora(
            tuning["finetuning_type"],
            tuning["lora_rank"],
            tuning["lora_alpha"],
            tuning["lora_dropout"],
            tuning["lora_target"],
            tuning["use_rslora"],
            tuning["use_dora"],
        ),
    }
    if any(tuning[name] for name in ("use_galore", "use_apollo", "use_badam", "use_adam_mini", "use_muon")):
        told["optimizer"] = next(
            name for name in ("use_galore", "use_apollo", "use_badam", "use_adam_mini", "use_muon") if tuning[name]
        )
    return told


def _axolotl(settings: Settings) -> Effective:
    lora = settings["lora"]
    bits = 4 if lora["load_in_4bit"] else 8 if lora["load_in_8bit"] else None
    targets = lora["lora_target_modules"] or []
    if lora["lora_target_linear"]:
        targets = "all-linear"
    told = _arguments({**settings, "optim": settings["optimizer"], "logging_steps": settings["logging_steps"][0]})
    if settings["logging_steps"][0] != settings["logging_steps"][1]:
        del told["logging_steps"]
    if settings["other_schedule"]:
        told["schedule"] = settings["other_schedule"]
    if settings["cosine_min_lr_ratio"] and told["schedule"] == "cosine":
        told["least_rate"] = _round(settings["cosine_min_lr_ratio"])
    if settings["seed"] is None:
        del told["seed"]
    kind = {"lora": "lora", "qlora": "lora", None: "none"}.get(lora["adapter"], lora["adapter"])
    return {
        **told,
        "quantization": bits,
        **_lora(
            kind,
            lora["lora_r"],
            lora["lora_alpha"] or 0,
            lora["lora_dropout"],
            targets,
            bool(lora["peft_use_rslora"]),
            bool(lora["peft_use_dora"]),
        ),
    }


def _ms_swift(settings: Settings) -> Effective:
    tuner = settings["tuner"]
    told = {
        **_arguments(settings),
        "dtype": settings["torch_dtype"].removeprefix("torch."),
        "quantization": tuner["quant_bits"],
        **_lora(
            tuner["tuner_type"],
            tuner["lora_rank"],
            tuner["lora_alpha"],
            tuner["lora_dropout"],
            tuner["target_modules"],
            tuner["use_rslora"],
            tuner["use_dora"],
        ),
    }
    if settings["optimizer"] not in (
        None,
        "multimodal",
    ):  # that one gives parts rates of their own, by keys of their own
        told["optimizer"] = settings["optimizer"]
    return told


def _torchtune(settings: Settings) -> Effective:
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
        "logging_steps": _every(settings["log_every_n_steps"] or 1),
        "save": f"every {saves} steps" if saves else "each epoch",
        "save_total_limit": None,
        "eval": f"every {evaluates} steps" if evaluates else "never",
        "output_dir": settings["output_dir"],
        "quantization": 4 if "qlora" in builder else None,
        "neftune_alpha": None,
        "label_smoothing": 0,
        "train_embeddings": True,
        "bias_correction": True,
        **_lora(
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


def _mlx_lm(settings: Settings) -> Effective:
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
        told["least_rate"] = _round(arguments[2] / rate) if len(arguments) > 2 else 0
        told["decay_steps"] = arguments[1]
    if kind == "lora":
        told |= _lora(
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


def _verl(settings: Settings) -> Effective:
    data, trainer, optim = settings["data"], settings["trainer"], settings["optim"]
    engine, model = settings["engine"], settings["model"]
    told: Effective = {
        "learning_rate": optim["lr"],
        "warmup": settings["warmup"],
        "warmup_start": 0,
        "decay_steps": None,
        "schedule_options": None,
        "length": _length(trainer["total_epochs"], trainer["total_training_steps"]),
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
        told["schedule"], told["least_rate"] = optim["lr_scheduler_type"], _round(optim["min_lr_ratio"] or 0)
        told["epsilon"] = (optim["override_optimizer_config"] or {}).get("eps", 1e-8)
        told["bf16"], told["fp16"] = engine["dtype"] == "bfloat16", engine["dtype"] == "float16"
        types = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
        told["dtype"] = types.get(engine["model_dtype"], engine["model_dtype"])
        told["gradient_checkpointing"] = bool(model["enable_gradient_checkpointing"])
        told |= _lora(
            "lora" if model["lora_rank"] > 0 else "none",
            model["lora_rank"],
            model["lora_alpha"],
            0,
            model["target_modules"],
        )
    return told


def _nemo_automodel(settings: Settings) -> Effective:
    steps, optimizer, schedule, peft = (settings[key] for key in ("scheduler", "optimizer", "lr_scheduler", "peft"))
    rate = optimizer.get("lr")
    kind = optimizer["class"].replace("torch.optim.adamw.", "torch.optim.").replace("torch.optim.adam.", "torch.optim.")
    kind = kind.replace("torch.optim.sgd.", "torch.optim.")
    if kind == "torch.optim.Adam" and not float(optimizer["weight_decay"]):
        kind = "torch.optim.AdamW"
    told: Effective = {
        "learning_rate": rate,
        "length": _length(steps["num_epochs"], steps["max_steps"]),
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
            told["least_rate"] = _round(least / rate) if least is not None else 0.01
        told["decay_steps"] = schedule["lr_decay_steps"]
        if any(settings["warmup"]) and (start is None or rate):
            told["warmup_start"] = _round(start / rate) if start is not None else 0.1
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
    told |= _lora(
        "lora" if peft else "none",
        peft and peft["dim"],
        peft and peft["alpha"],
        peft and peft["dropout"],
        targets,
        dora=bool(peft and peft["use_dora"] in (True, "True")),
    )
    return told


def _llamafactory_v1(settings: Settings) -> Effective:
    peft, quantized = settings["peft_config"] or {}, settings["quant_config"] or {}
    told: Effective = {
        "learning_rate": settings["learning_rate"],
        "length": _length(settings["num_train_epochs"], settings["max_steps"]),
        "limit": None,
        "batch_size": settings["micro_batch_size"],
        "max_grad_norm": settings["max_grad_norm"],
        "seed": settings["seed"],
        "bf16": settings["bf16"],
        "fp16": False,
        "gradient_checkpointing": settings["enable_activation_checkpointing"],
        "activation_offloading": False,
        "logging_steps": _every(settings["logging_steps"]),
        "save_total_limit": settings["save_total_limit"],
        "output_dir": settings["output_dir"],
        "quantization": quantized.get("quantization_bit"),
        "neftune_alpha": None,
        "label_smoothing": 0,
        "train_embeddings": True,
        "eval": "never",
        **_lora(
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


_OF = {
    "llamafactory-v1": _llamafactory_v1,
    "trl": _trl,
    "unsloth": _trl,
    "llamafactory": _llamafactory,
    "axolotl": _axolotl,
    "ms-swift": _ms_swift,
    "torchtune": _torchtune,
    "mlx-lm": _mlx_lm,
    "verl": _verl,
    "nemo-automodel": _nemo_automodel,
}
_ARGUMENTS = ("trl", "unsloth", "llamafactory", "axolotl", "ms-swift")


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
