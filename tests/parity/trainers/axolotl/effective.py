"""What training does by the settings that Axolotl's loader made (see `effective`)."""

from __future__ import annotations

from effective import Effective, Settings, arguments, lora_of, rounded


def effective(settings: Settings) -> Effective:
    lora = settings["lora"]
    bits = 4 if lora["load_in_4bit"] else 8 if lora["load_in_8bit"] else None
    targets = lora["lora_target_modules"] or []
    if lora["lora_target_linear"]:
        targets = "all-linear"
    told = arguments({**settings, "optim": settings["optimizer"], "logging_steps": settings["logging_steps"][0]})
    if settings["logging_steps"][0] != settings["logging_steps"][1]:
        del told["logging_steps"]
    if settings["other_schedule"]:
        told["schedule"] = settings["other_schedule"]
    if settings["cosine_min_lr_ratio"] and told["schedule"] == "cosine":
        told["least_rate"] = rounded(settings["cosine_min_lr_ratio"])
    if settings["seed"] is None:
        del told["seed"]
    kind = {"lora": "lora", "qlora": "lora", None: "none"}.get(lora["adapter"], lora["adapter"])
    return {
        **told,
        "quantization": bits,
        **lora_of(
            kind,
            lora["lora_r"],
            lora["lora_alpha"] or 0,
            lora["lora_dropout"],
            targets,
            bool(lora["peft_use_rslora"]),
            bool(lora["peft_use_dora"]),
        ),
    }
