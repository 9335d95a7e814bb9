"""What training does by the settings that TRL's loader made (see `effective`)."""

from __future__ import annotations

from effective import Effective, Settings, arguments, lora_of


def effective(settings: Settings) -> Effective:
    model = settings["model"]
    bits = 4 if model["load_in_4bit"] else 8 if model["load_in_8bit"] else None
    return {
        **arguments(settings),
        "dtype": model["dtype"],
        "quantization": bits,
        **lora_of(
            "lora" if model["use_peft"] else "none",
            model["lora_r"],
            model["lora_alpha"],
            model["lora_dropout"],
            model["lora_target_modules"],
            model["use_rslora"],
            model["use_dora"],
        ),
    }
