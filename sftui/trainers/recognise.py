"""Which trainer a config file is for, told by its keys.

A key counts for a trainer if no other trainer has it; keys that several have decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

OWN_KEYS: Mapping[str, frozenset[str]] = {
    "axolotl": frozenset(
        {
            "base_model",
            "base_model_config",
            "tokenizer_config",
            "sequence_len",
            "micro_batch_size",
            "num_epochs",
            "adapter",
            "sample_packing",
            "pad_to_sequence_len",
            "train_on_inputs",
            "dataset_prepared_path",
            "val_set_size",
            "lora_target_linear",
            "special_tokens",
            "eot_tokens",
            "chat_template",
            "excess_length_strategy",
            "flash_attention",
            "shuffle_merged_datasets",
            "wandb_project",
        }
    ),
    "llamafactory": frozenset(
        {
            "stage",
            "finetuning_type",
            "cutoff_len",
            "template",
            "dataset_dir",
            "dataset",
            "lora_target",
            "lora_rank",
            "train_on_prompt",
            "mask_history",
            "neat_packing",
            "enable_thinking",
            "preprocessing_num_workers",
            "overwrite_cache",
            "plot_loss",
            "max_samples",
            "mix_strategy",
            "tokenized_path",
            "eval_dataset",
            "val_size",
            "efficient_eos",
            "default_system",
            "tool_format",
        }
    ),
    "trl": frozenset(
        {
            "dataset_name",
            "dataset_config",
            "dataset_train_split",
            "dataset_test_split",
            "dataset_text_field",
            "dataset_kwargs",
            "assistant_only_loss",
            "completion_only_loss",
            "packing_strategy",
            "truncation_mode",
            "chat_template_path",
            "eval_packing",
            "padding_free",
            "use_peft",
            "max_length",
        }
    ),
    "unsloth": frozenset(
        {"responses", "standardize", "text_from", "formatting", "formatting_func", "max_seq_length", "data"}
    ),
}
"""Keys that only one of the trainers reads (`unsloth`: the options that sftui takes for its arguments)."""

SHOWN = 4


@dataclass(frozen=True, slots=True)
class Recognised:
    """The trainer (None: not decided), and why."""

    trainer: str | None
    reason: str


def recognise(config: Mapping[str, Any]) -> Recognised:
    """The trainer whose own keys a parsed config has; where that is undecided, the reason says why."""
    if "preset" in config:
        return Recognised(None, "it has `preset`, so it is a recipe of sftui")
    found = {name: tuple(key for key in config if key in own) for name, own in OWN_KEYS.items()}
    if isinstance(config.get("dataset"), Mapping):  # a name or a list of names is LLaMA-Factory's
        found["llamafactory"] = tuple(key for key in found["llamafactory"] if key != "dataset")
    if found["unsloth"]:  # the rest of its options are those of TRL's SFTConfig
        found["unsloth"] = (*found["unsloth"], *(key for key in found["trl"] if not key.startswith("dataset_")))
    found["torchtune"] = tuple(_components(config))
    if _axolotl_entries(config):
        found["axolotl"] = ("datasets[].type", *found["axolotl"])
    ranked = sorted((name for name in found if found[name]), key=lambda name: -len(found[name]))
    if not ranked:
        return Recognised(None, "none of its keys belongs to one trainer alone")
    best = ranked[0]
    if len(ranked) > 1 and len(found[ranked[1]]) == len(found[best]):
        tied = [name for name in ranked if len(found[name]) == len(found[best])]
        told = ", ".join(f"{_keys(found[name])} of {name}" for name in tied)
        return Recognised(None, f"it has as many keys of one as of the other: {told}")
    return Recognised(best, f"it has {_keys(found[best])}")


def _keys(keys: tuple[str, ...]) -> str:
    more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return ", ".join(f"`{key}`" for key in keys[:SHOWN]) + more


def _components(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """The paths of torchtune's `_component_` keys that name something of torchtune."""
    if isinstance(value, Mapping) and depth < 4:
        for key, inner in value.items():
            here = f"{path}.{key}" if path else str(key)
            if key == "_component_" and str(inner).startswith("torchtune."):
                yield here
            else:
                yield from _components(inner, here, depth + 1)
    elif isinstance(value, list) and depth < 4:
        for number, inner in enumerate(value[:10]):
            yield from _components(inner, f"{path}[{number}]", depth + 1)


def _axolotl_entries(config: Mapping[str, Any]) -> bool:
    """Whether `datasets` holds entries with a `type`, which TRL's mixture does not have."""
    entries = config.get("datasets")
    return isinstance(entries, list) and any(isinstance(entry, Mapping) and "type" in entry for entry in entries)
