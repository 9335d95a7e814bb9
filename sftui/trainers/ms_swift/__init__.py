"""ms-swift's supervised fine-tuning, pre-training and preferences (`swift sft`, `swift pt`, `swift rlhf`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sftui.recipe import Own, knob
from sftui.trainers.traits import Finds, MessageKind, Packing, Quirk, Traits, own_keys


@dataclass(frozen=True, slots=True)
class MsSwiftOptions(Own):
    """Arguments of `swift sft` without an equal elsewhere (ms-swift 4.6.0, arguments/)."""

    loss_scale: str | None = knob(
        None, "weights for parts of an answer, e.g. hermes or hermes+ignore_empty_think; null: none"
    )
    is_binary_loss_scale: bool | None = knob(
        None, "whether only labels are kept, without weights; null: if the loss scale has only 0 and 1"
    )
    disable_ignore_empty_think: bool = knob(
        False, "an empty thought is trained; hybrid models' templates otherwise mask it"
    )
    add_non_thinking_prefix: bool = knob(True, "with those templates, an answer without a thought gets an empty one")
    enable_thinking: bool | None = knob(None, "the prefix of an answer yet to be generated; null: from the template")
    preserve_thinking: bool | None = knob(None, "thoughts in earlier answers are kept; null: from the template")
    response_prefix: str | None = knob(None, "what precedes an answer yet to be generated; null: from the template")
    agent_template: str | None = knob(None, "how tools and calls are written; null: from the template")
    model_type: str | None = knob(
        None, "the kind of model, which sets the template; null: from its name or architecture"
    )
    use_chat_template: bool = knob(True, "chats are rendered with the template; `swift pt` uses only their text")
    columns: str | None = knob(None, "columns to rename, as JSON: the dataset's → ms-swift's")
    disable_auto_column_mapping: bool = knob(False, "columns are not renamed automatically")
    strict: bool = knob(False, "the run stops at a row that cannot be prepared, instead of dropping it")
    split_dataset_ratio: float = knob(0.0, "the fraction of rows held out for evaluation")
    data_seed: int = knob(42, "the seed for shuffling and sampling rows")
    dataset_shuffle: bool = knob(True, "rows are shuffled before packing")
    dataset_sample: int | None = knob(None, "rows drawn from the dataset, #N after its name; null: all", minimum=1)
    packing_length: int | None = knob(None, "tokens in a pack; null: max_length")


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are ms-swift's alone, and where there is one those that stand beside them; a
    model and datasets by name are enough, since it alone says both with these keys."""
    found = own_keys(__file__, config)
    if found:
        return found
    model, data = config.get("model"), config.get("dataset")
    named = isinstance(data, str) or (isinstance(data, list) and data and all(isinstance(one, str) for one in data))
    return ("model", "dataset") if isinstance(model, str) and named else ()


TRAITS = Traits(
    name="ms-swift",
    title="ms-swift",
    about="ModelScope's ms-swift (swift sft and swift rlhf), configured by its YAML and flags",
    home="sftui.trainers.ms_swift.trainer:MsSwift",
    versions=("4.6",),
    first=(4, 6),
    own_roles={"tool_call": MessageKind.CALL, "tool_response": MessageKind.RESULT},
    renders_templates=False,
    finds=Finds.SLOTS,
    averages="step",  # num_items_in_batch (4.6.0, trainers/seq2seq_trainer.py compute_loss)
    rules={"assistant": "parts"},
    packing=Packing(
        usual="binpack",
        separates=("binpack", "sequential"),
        separates_by="positions",
        separate=(("pack.strategy", "binpack"), ("pack.isolate", True)),
        places="sftui.trainers.ms_swift.packing:places",
    ),
    empty_stop="TypeError: 'NoneType' object is not iterable, or where it reads none of them ZeroDivisionError",
    endings={"arrow": "arrow", "csv": "csv", "json": "json", "jsonl": "json", "parquet": "parquet", "txt": "text"},
    # 4.6.0, dataset/loader.py _load_dataset_path
    quirks=(Quirk.PARSES_JSON_TEXT, Quirk.KEEPS_BLANK_CELLS, Quirk.NAMED_KEYS_ONLY),
    config="sftui.trainers.ms_swift.config",
    claims=claimed,
)
