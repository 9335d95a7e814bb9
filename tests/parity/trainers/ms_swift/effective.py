"""What training does by the settings that ms-swift's loader made (see `effective`)."""

from __future__ import annotations

from effective import Effective, Settings, arguments, lora_of


def effective(settings: Settings) -> Effective:
    tuner = settings["tuner"]
    told = {
        **arguments(settings),
        "dtype": settings["torch_dtype"].removeprefix("torch."),
        "quantization": tuner["quant_bits"],
        **lora_of(
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
