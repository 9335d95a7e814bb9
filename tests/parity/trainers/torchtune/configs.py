"""Configs of our own for torchtune (see `make_configs`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from make_configs import ANY, Deciding, Draw, some

from sftui.trainers.config import KeyUse

RELEASE = "0.7.0"
"""What a config is read as, and put to. It was never published: its source, as text in the mirror, runs on the
environment of 0.6.1."""
STOPS = (KeyUse.STOPS,)
"""By what sftui says that the trainer stops."""
TORCHTUNE: Deciding = {
    "batch_size": (1, 8),
    "pad_to_multiple_of": (8,),
    "packed": (True, False),
    "collate_fn": ("torchtune.data.padded_collate_sft", "torchtune.data.no_such", "torchtune.data.left_pad_sequence"),
    "noSuchKey": ANY,
    "nested": ({"x": "${batch_size}"}, {"x": "${nothing}"}),
}
TORCHTUNE_TOKENIZERS: tuple[dict[str, Any], ...] = (
    {"_component_": "torchtune.models.llama3.llama3_tokenizer", "path": "/m/original/tokenizer.model"},
    {
        "_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer",
        "path": "/m/vocab.json",
        "merges_file": "/m/merges.txt",
    },
    {"_component_": "torchtune.models.qwen2.qwen2_tokenizer", "path": "/m/vocab.json", "merges_file": "/m/merges.txt"},
    {"_component_": "torchtune.models.mistral.mistral_tokenizer", "path": "/m/tokenizer.model"},
    {"_component_": "torchtune.models.gemma2.gemma_tokenizer", "path": "/m/gemma.model"},
    {"_component_": "torchtune.models.phi3.phi3_mini_tokenizer", "path": "/m/tokenizer.model"},
    {"_component_": "torchtune.models.llama3.llama3_tokenizer"},
    {"_component_": "torchtune.models.llama3.no_such_tokenizer", "path": "/m/tokenizer.model"},
)
TORCHTUNE_TOKENIZER: Deciding = {
    "max_seq_len": (64, 2048, None),
    "truncation_type": ("right", "left"),
    "merges_file": ("/m/merges.txt",),
    "prompt_template": ("torchtune.data.SummarizeTemplate", "torchtune.data.NoSuchTemplate", {}, None),
    "special_tokens_path": ("/m/tokenizer.json", None),
    "bos_token": (None, "<s>"),
    "no_such": ANY,
}
TORCHTUNE_DATASETS = (
    "chat",
    "chat",
    "instruct",
    "alpaca",
    "alpaca_cleaned",
    "text_completion",
    "slimorca",
    "samsum",
    "grammar",
    "no_such",
)
TORCHTUNE_DATASET: Deciding = {
    "source": ("json", "org/set", "csv", None, "", 3),
    "data_files": ("a.jsonl", ["a.jsonl"]),
    "split": ("train", "train[:10%]", None, 3),
    "name": ("sub", None),
    "conversation_column": ("messages", "conversations"),
    "conversation_style": ("openai", "sharegpt", "no_such"),
    "column_map": (
        {"input": "a", "output": "b"},
        {"input": "a"},
        None,
        {"instruction": "a", "input": "b", "output": "c"},
    ),
    "train_on_input": (True, False, None),
    "masking_strategy": ("train_on_last", "train_on_all"),
    "new_system_prompt": ("Be brief", None),
    "packed": (True, False, "${packed}"),
    "split_across_pack": (True, False),
    "column": ("body",),
    "add_eos": (True, False),
    "field": ("rows",),
    "delimiter": (",",),
    "subset": ("sub",),
    "no_such": ANY,
    "filter_fn": (None,),
    "trust_remote_code": (True,),
}


def make(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    tokenizer: dict[str, Any] = {**draw.choice(TORCHTUNE_TOKENIZERS[:3] * 4 + TORCHTUNE_TOKENIZERS[3:])}
    tokenizer |= some(draw, TORCHTUNE_TOKENIZER, 0, 2)
    kind = draw.choice(TORCHTUNE_DATASETS)
    dataset: dict[str, Any] = {"_component_": f"torchtune.datasets.{kind}_dataset"}
    if kind in ("chat", "instruct", "text_completion"):
        dataset |= {"source": "org/set"}
    if kind == "chat":
        dataset |= {"conversation_column": "messages", "conversation_style": "openai"}
    dataset |= some(draw, TORCHTUNE_DATASET, 0, 3)
    config: dict[str, Any] = {
        "output_dir": "/o",
        "tokenizer": tokenizer,
        "dataset": dataset,
        "seed": None,
        "shuffle": True,
    }
    config |= {"batch_size": 2, "epochs": 1, "packed": False, **some(draw, TORCHTUNE, 0, 2)}
    return config
