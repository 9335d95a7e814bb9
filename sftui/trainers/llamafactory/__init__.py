"""LLaMA-Factory's supervised stage, 0.9.5 (the v0 engine)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sftui.recipe import Own, knob
from sftui.trainers.traits import Finds, MessageKind, Packing, Quirk, Traits, own_keys


@dataclass(frozen=True, slots=True)
class LlamaFactoryOptions(Own):
    """Keys of its YAML and of dataset_info.json without an equal elsewhere (llamafactory 0.9.5, hparams)."""

    tool_format: str | None = knob(None, "how tools are written; null: from the template")
    max_samples: int | None = knob(None, "only the first N rows are trained")
    preprocessing_num_workers: int | None = knob(None, "number of processes that convert rows; null: 1")
    ignore_pad_token_for_loss: bool = knob(True, "padding is masked")
    add_tokens: str | None = knob(None, "tokens added to the vocabulary, separated by commas")
    add_special_tokens: str | None = knob(None, "special tokens added to the vocabulary, separated by commas")
    val_size: float | None = knob(None, "rows set aside for evaluation: a number, or a fraction below 1")
    seed: int | None = knob(None, "the seed for drawing them; null: 42")
    stage: str = knob(
        "sft",
        "what is trained",
        choices={"sft": "the answers selected by mask.rule", "pt": "the whole text, as in pre-training"},
    )
    packing: bool | None = knob(None, "the value of `packing` in any stage but sft")
    add_bos_token: bool | None = knob(None, "with stage pt: whether the slow tokenizer adds a BOS")
    formatting: str | None = knob(
        None,
        "how chats are read; null: from data.format",
        choices={"openai": "as with `formatting: openai`, which treats tools and the system text differently"},
    )


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are LLaMA-Factory's alone; its `dataset` is a name or a list of names, and the
    model is `model_name_or_path`: what calls it `model` and has no key but shared ones is not its."""
    mapping = isinstance(config.get("dataset"), Mapping)
    found = tuple(key for key in own_keys(__file__, config) if not (mapping and key == "dataset"))
    return () if "model" in config and len(own_keys(__file__, found, "shared")) == len(found) else found


TRAITS = Traits(
    name="llamafactory",
    title="LLaMA-Factory",
    about="LLaMA-Factory's stages sft, pt, dpo, rm and kto, configured by its YAML and dataset_info.json",
    home="sftui.trainers.llamafactory.trainer:LlamaFactory",
    versions=("0.9",),
    first=(0, 9),
    own_roles={  # each with a slot in its templates
        "observation": MessageKind.RESULT,
        "function": MessageKind.CALL,
        "function_call": MessageKind.CALL,
    },
    renders_templates=False,
    finds=Finds.SLOTS,
    averages="step",  # num_items_in_batch where there is no processor (0.9.5, train/sft/trainer.py)
    rules={"assistant": "parts"},
    packing=Packing(
        usual="knapsack",
        separates=("neat",),
        separate=(("pack.strategy", "neat"), ("pack.isolate", True)),
        places="sftui.trainers.llamafactory.trainer:places",
        groups_hold_dropped=True,  # it drops and packs in one step, `preprocessing_batch_size` rows at a time
    ),
    training_arguments=(5, 6, 1),  # llamafactory 0.9.5, extras/misc.py check_dependencies
    endings={"arrow": "arrow", "csv": "csv", "json": "json", "jsonl": "json", "parquet": "parquet", "txt": "text"},
    data_file="dataset_info.json",
    empty_stop="RuntimeError: Cannot find valid samples, check `data/README.md` for the data format.",
    quirks=(
        Quirk.NAMED_KEYS_ONLY,
        Quirk.REPLACES_WORDS,  # data/converter.py OpenAIDatasetConverter
        Quirk.DROPS_TOOL_CALLS,
        Quirk.RENDERS_WITHOUT_TEMPLATE,  # its template `empty`
        Quirk.THINKING_OPTION,
    ),
    config="sftui.trainers.llamafactory.config",
    claims=claimed,
)
