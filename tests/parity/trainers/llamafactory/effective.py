"""What training does by the settings that LLaMA-Factory's loader made (see `effective`)."""

from __future__ import annotations

from effective import Effective, Settings, arguments, lora_of


def effective(settings: Settings) -> Effective:
    tuning, model = settings["tuning"], settings["model"]
    told = {
        **arguments(settings),
        "quantization": model["quantization_bit"],
        "gradient_checkpointing": not model["disable_gradient_checkpointing"],
        "activation_offloading": False,
        **lora_of(
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
