"""LLaMA-Factory's v1 engine (USE_V1=1), which shares neither its config nor its labels with the engine of 0.9."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sftui.recipe import Own, knob
from sftui.trainers.traits import Finds, Quirk, Traits, own_keys


@dataclass(frozen=True, slots=True)
class LlamaFactoryV1Options(Own):
    """Keys of its YAML and of its dataset file without an equal elsewhere (0.9.6.dev0, v1/config)."""

    dynamic: bool = knob(False, "a batch is filled up to cutoff_len times micro_batch_size tokens (dynamic_…)")
    custom_chat_template: str | None = knob(None, "the text of the chat template")


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config by which it is one of the v1 engine; none of a config of the other engine, which has
    `model_name_or_path` or `dataset` where this one has `model` and `train_dataset`."""
    if "model_name_or_path" in config or "dataset" in config or "base_model" in config:
        return ()
    if "train_dataset" not in config and "model_class" not in config:
        return ()
    return own_keys(__file__, config)


TRAITS = Traits(
    name="llamafactory-v1",
    title="LLaMA-Factory v1",
    about="LLaMA-Factory's v1 engine (USE_V1), configured by its YAML",
    home="sftui.trainers.llamafactory_v1.trainer:LlamaFactoryV1",
    versions=("0.9.6",),
    first=(0, 9, 6),
    package="llamafactory",
    finds=Finds.PROMPTS,
    averages="step",  # 0.9.6, v1/core/base_trainer.py (step_valid_tokens)
    rules={"assistant": "completion"},
    data_file="dataset_info.yaml",
    empty_stop="",  # it drops while it fills batches, and then trains on none
    endings={"arrow": "arrow", "csv": "csv", "json": "json", "jsonl": "json", "parquet": "parquet", "txt": "text"},
    quirks=(
        Quirk.NAMED_KEYS_ONLY,
        Quirk.RENDERS_WITHOUT_TEMPLATE,  # ChatML stands in for a template that is missing
    ),
    config="sftui.trainers.llamafactory_v1.config",
    claims=claimed,
)
