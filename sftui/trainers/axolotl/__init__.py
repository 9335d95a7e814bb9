"""Axolotl: its dataset types, masks, multipack, templates and config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sftui.recipe import Own, knob
from sftui.trainers.traits import Effect, Finds, Packing, Quirk, Traits, own_keys

TRAIN_ON = {
    "all": "after every turn, trained or not",
    "turn": "after the trained turns",
    "last": "only after the last turn",
    "none": "nowhere",
}
"""Where the token that ends a turn is trained (axolotl 0.19.0, prompt_strategies/chat_template.py)."""


@dataclass(frozen=True, slots=True)
class AxolotlOptions(Own):
    """Top-level keys and keys of a `datasets:` entry without an equal elsewhere (axolotl 0.19.0, utils/schemas)."""

    type: str | Mapping[str, Any] | None = knob(
        None, "the dataset's type by name, or a mapping that describes it; null: from data.format"
    )
    ds_type: str | None = knob(None, "the loader for a local file: json, csv, text, …; null: from its extension")
    field: str | None = knob(None, "the plain-text column; null: `text`")
    train_on_eos: str | None = knob(None, "where EOS is trained; null: after trained turns", choices=TRAIN_ON)
    train_on_eot: str | None = knob(None, "where eot_tokens are trained; null: same as train_on_eos", choices=TRAIN_ON)
    eot_tokens: tuple[str, ...] | None = knob(None, "tokens that end a turn; null: only EOS")
    drop_system_message: bool = knob(False, "a leading system message is dropped")
    split_thinking: bool = knob(False, "reasoning inside the content is split out of it")
    template_thinking_key: str | None = knob(
        None, "the key from which the template reads reasoning; null: reasoning_content"
    )
    field_thinking: str | None = knob(None, "the message key that holds reasoning, which Axolotl ignores")
    field_tools: str | None = knob(None, "the column that holds tools; Axolotl ignores it and reads `tools`")
    message_property_mappings: Mapping[str, str] = knob({}, "the template's name → the message's key")
    chat_template_jinja: str | None = knob(None, "the chat template, as text or a file, for axolotl/jinja")
    special_tokens: Mapping[str, Any] = knob({}, "special tokens other than EOS, BOS and pad, by name")
    tokens: tuple[str, ...] = knob((), "tokens added to the vocabulary")
    added_tokens_overrides: Mapping[int, str] = knob({}, "the id of a reserved token → its new text")
    sample_packing_bin_size: int | None = knob(None, "maximum rows in a pack; null: 200")
    sample_packing_sequentially: bool = knob(False, "rows are packed in dataset order")
    multipack_real_batches: bool | None = knob(None, "a pack is one row in a batch; null: depends on the attention")
    curriculum_sampling: bool = knob(False, "rows are trained in dataset order")
    shuffle_merged_datasets: bool = knob(True, "rows are shuffled once")
    dataset_exact_deduplication: bool = knob(False, "rows that become identical are dropped")
    attn_implementation: str | None = knob(None, "the attention implementation; null: depends on the model type")
    val_set_size: float | None = knob(None, "rows held out for evaluation: a number, or a fraction below 1")
    eval_sample_packing: bool | None = knob(None, "whether the held-out rows are packed; null: same as sample_packing")
    weight: float | None = knob(None, "the fraction of this dataset's rows to use; null: all of them")
    seed: int | None = knob(None, "the seed for shuffling and splitting; null: a new one each run")


def claimed(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a parsed config that are Axolotl's alone; entries of `datasets` with a `type`, which TRL's mixture
    does not have, count first."""
    entries, found = config.get("datasets"), own_keys(__file__, config)
    typed = isinstance(entries, list) and any(isinstance(entry, Mapping) and "type" in entry for entry in entries)
    return ("datasets[].type", *found) if typed else found


TRAITS = Traits(
    name="axolotl",
    title="Axolotl",
    about="Axolotl, configured by its YAML",
    home="sftui.trainers.axolotl.trainer:Axolotl",
    versions=("0.21", "0.20", "0.19", "0.18"),
    first=(0, 18),
    finds=Finds.DUMMY,
    averages="step",  # num_items_in_batch of transformers 5.24.0 (axolotl 0.21.0, core/trainers/base.py)
    rules={"assistant": "turn_content"},
    options={
        Effect.TRAINS_END: "own.eot_tokens",
        Effect.DROPS_SYSTEM: "own.drop_system_message",
        Effect.DROPS_COPIES: "own.dataset_exact_deduplication",
    },
    packing=Packing(
        usual="multipack",
        separates=("multipack",),
        separates_by="numbers",
        places="sftui.trainers.axolotl.packing:places",
    ),
    empty_stop="",  # not the same with and without sample_packing (utils/data/sft.py, utils/trainer.py)
    quirks=(Quirk.PARSES_JSON_TEXT, Quirk.NAMED_KEYS_ONLY, Quirk.FLAG_BY_KEY),
    config="sftui.trainers.axolotl.config",
    claims=claimed,
)
