"""Configs of our own from a seed: keys of each trainer's real schema with right and wrong values.

A config begins with what every run needs, takes some of the keys that decide rows, ids or labels (`DECIDING`, with
values that are right, odd and wrong), and some keys of the release's own record (known_keys.json) with any value.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import yaml

ANY: tuple[Any, ...] = (True, False, None, 0, 1, 3, 0.5, "1", "true", "x", [], ["a"], {}, {"a": 1})
FLAG: tuple[Any, ...] = (True, False, "true", "no", 1, 0, None, "maybe", 2, [])
COUNT: tuple[Any, ...] = (1, 64, 2048, "128", 16.0, None, 1.5, "many", True, [8], 0, -1)
NAME: tuple[Any, ...] = ("m/one", "two", None, 3, ["a"])

PLAIN: Mapping[str, Sequence[str]] = {
    "'no'": ("no", "off", "No", "n"),
    "'true'": ("yes", "on", "YES", "y"),
    "true": ("yes", "true", "On"),
    "false": ("no", "false", "OFF"),
    "2048": ("2048", "2_048", "04000", "34:08", "2048.", "2.048e3", "2.048e+3", "0x800"),
    "64": ("64", "0100", "1:04"),
    "0.05": ("0.05", "5e-2", "5.0e-2", ".05"),
    "20": ("20", "024", "0_20"),
}
"""What `_plain` writes in the place of a value."""

Draw = random.Random
Deciding = Mapping[str, Sequence[Any]]

AXOLOTL: Deciding = {
    "sequence_len": COUNT[:-2],  # Axolotl takes 0 and -1 and leaves no row; sftui refuses them
    "min_sample_len": COUNT,
    "micro_batch_size": (1, 4, "2", 2.0, 1.5, "x", None),
    "train_on_inputs": FLAG,
    "sample_packing": FLAG,
    "pad_to_sequence_len": FLAG,
    "excess_length_strategy": ("drop", "truncate", "raise", "cut", None, 1),
    "val_set_size": (0, 0.05, 20, "0.1", -1, "x", None, 0.0, 1),
    "seed": (1, 42, "7", 1.5, "x"),
    "chat_template": ("chatml", "llama3", "tokenizer_default", "jinja", "no_such", "tokenizer_default_fallback_chatml"),
    "chat_template_jinja": ("{{ messages }}", None, 3),
    "special_tokens": ({"pad_token": "<|endoftext|>"}, {"bos_token": 3}, {}, [], None, {"strange": "x"}, "x"),
    "tokens": (["<a>"], [], {"a": "b"}, "<a>", None, [1]),
    "eot_tokens": (["<|im_end|>"], "<|im_end|>", [], None),
    "sample_packing_group_size": COUNT,
    "sample_packing_bin_size": COUNT,
    "sample_packing_sequentially": FLAG,
    "curriculum_sampling": FLAG,
    "multipack_real_batches": FLAG,
    "dataset_exact_deduplication": FLAG,
    "shuffle_merged_datasets": FLAG,
    "chat_template_kwargs": ({"enable_thinking": False}, {}, [], "x"),
    "attn_implementation": ("sdpa", "eager", "flash_attention_2", "no_such", 3),
    "tokenizer_config": NAME,
    "tokenizer_type": ("AutoTokenizer", "LlamaTokenizerFast", "NoSuchTokenizer"),
    "model_type": ("AutoModelForCausalLM", "LlamaForCausalLM"),
    "group_by_length": FLAG,
    "noSuchKey": ANY,
}
AXOLOTL_ENTRY: Deciding = {
    "type": (
        "chat_template",
        "alpaca",
        "completion",
        "sharegpt",
        "no_such",
        None,
        "chat_template.default",
        "input_output",
    ),
    "path": ("org/set", "rows.jsonl", "other/set"),
    "split": ("train", "train[:1%]", None, 3),
    "name": ("sub", ["a", "b"], None, 3),
    "data_files": ("a.jsonl", ["a.jsonl", "b.jsonl"], None, 3),
    "field_messages": ("conversations", None, 3),
    "message_property_mappings": ({"role": "from", "content": "value"}, {"role": "from"}, [], None),
    "message_field_role": ("from", 3, None),
    "roles_to_train": (["assistant"], [], "assistant", None, ["user", "assistant"]),
    "train_on_eos": ("all", "turn", "last", "none", "never", None),
    "train_on_eot": ("all", "turn", "never"),
    "roles": ({"user": ["human"]}, {"user": "human"}, []),
    "drop_system_message": FLAG,
    "split_thinking": FLAG,
    "revision": ("main", None, 3),
    "chat_template": ("chatml", "jinja", "no_such", None),
    "field": ("body", None, 3),
    "ds_type": ("json", "no_such", None),
    "shards": (2, "x", None),
    "weight": (1, "x"),
    "conversation": ("llama3",),
}
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
LLAMAFACTORY: Deciding = {
    "stage": ("sft", "sft", "sft", "pt", "dpo", "rm", "kto", "no_such"),
    "template": ("qwen", "llama3", "default", "no_such", None, 3),
    "dataset": ("alpaca_en_demo", "alpaca_en_demo,identity", ["identity"], "no_such", None, "dpo_en_demo", "c4_demo"),
    "cutoff_len": (64, 2048),
    "train_on_prompt": FLAG,
    "mask_history": FLAG,
    "packing": (True, False, None, "true"),
    "neat_packing": FLAG,
    "val_size": (0, 0.1, 100, None),
    "max_samples": (10, None, "10"),
    "tool_format": ("qwen", None, "no_such"),
    "default_system": ("Be brief", None, 3),
    "enable_thinking": FLAG,
    "ignore_pad_token_for_loss": FLAG,
    "preprocessing_batch_size": (1000, 10),
    "per_device_train_batch_size": (1, 4),
    "eval_dataset": ("identity", None),
    "streaming": (True, False),
    "buffer_size": (10,),
    "max_steps": (10,),
    "mix_strategy": ("concat", "interleave_under", "no_such"),
    "interleave_probs": ("0.5,0.5", "1,2,3", None),
    "add_tokens": ("<a>,<b>", ["<a>"], None),
    "add_special_tokens": ("<a>", None),
    "tokenized_path": (None, "/no/such"),
    "finetuning_type": ("lora", "full", "no_such"),
    "do_train": (True, True, False),
    "no_such_key": ANY,
    "quantization_bit": (4,),
    "resize_vocab": (True, False),
    "predict_with_generate": (True, False),
    "dataset_dir": ("data", "/no/such", "ONLINE"),
    "adapter_name_or_path": ("a", None),
    "seed": (1, 42),
}
TRL: Deciding = {
    "max_length": (64, "512", None, "x", True),
    "truncation_mode": ("keep_start", "keep_end", "no_such"),
    "packing": FLAG,
    "packing_strategy": ("bfd", "wrapped", "bfd_split", "bfd-requeue", "no_such"),
    "padding_free": FLAG,
    "pad_to_multiple_of": (8, "8", None, "auto", "none", "x"),
    "eos_token": ("<|im_end|>", None),
    "pad_token": ("<|endoftext|>", None),
    "completion_only_loss": FLAG,
    "assistant_only_loss": FLAG,
    "dataset_text_field": ("body", "text"),
    "chat_template_path": ("a.jinja", "org/model", None),
    "per_device_train_batch_size": (1, "2", 4, "x"),
    "dataset_config": ("sub", None),
    "dataset_train_split": ("train", "train_sft"),
    "datasets": (
        [{"path": "a/b"}],
        [{"path": "json", "data_files": "a.jsonl", "split": "train"}],
        [],
        "x",
        [{"name": "y"}],
        [{"path": "a/b", "no_such": 1}],
        [{"path": "a/b", "fraction": 0.5}],
    ),
    "test_split_size": (0.1, None),
    "shuffle_dataset": FLAG,
    "no_such_key": ANY,
    "num_processes": (2,),
    "mixed_precision": ("bf16", "no_such"),
    "env": ({"A": "1"}, "x"),
    "loss_type": ("nll", "dft", "no_such"),
    "learning_rate": (1e-4, "1e-4", "x"),
    "model_revision": ("main", "x"),
    "eval_packing": FLAG,
}


def some(draw: Draw, pool: Deciding, low: int, high: int) -> dict[str, Any]:
    """Keys of a pool, each with one of its values."""
    names = draw.sample(sorted(pool), min(draw.randint(low, high), len(pool)))
    return {name: draw.choice(list(pool[name])) for name in names}


def strange(draw: Draw, names: Sequence[str], config: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Keys of the schema, outside of what is there, with any value."""
    left = [name for name in names if name not in config]
    return {name: draw.choice(ANY) for name in draw.sample(left, count)}


def _axolotl(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    config: dict[str, Any] = {"base_model": "org/model", "micro_batch_size": 1, "gradient_accumulation_steps": 1}
    config |= {"num_epochs": 1, "learning_rate": 1e-4, "output_dir": "out", "sequence_len": 2048}
    config |= some(draw, AXOLOTL, 1, 5)
    entries = [
        {"path": "org/set", "type": "chat_template", **some(draw, AXOLOTL_ENTRY, 0, 3)}
        for _ in range(draw.choice((1, 1, 2)))
    ]
    config["datasets"] = draw.choice([entries] * 12 + [[], None, entries[0], "x"])
    if draw.random() < 0.3:
        config |= strange(draw, names, config, 1)
    return config


def _torchtune(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
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


def _llamafactory(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    config: dict[str, Any] = {"model_name_or_path": "org/model", "stage": "sft", "do_train": True}
    config |= {"finetuning_type": "lora", "template": "qwen", "dataset": "alpaca_en_demo", "output_dir": "out"}
    return {**config, **some(draw, LLAMAFACTORY, 1, 5)}


def _trl(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
    config: dict[str, Any] = {"model_name_or_path": "org/model", "dataset_name": "org/set", "output_dir": "out"}
    return {**config, **some(draw, TRL, 1, 5)}


MAKERS: Mapping[str, Callable[[Draw, Sequence[str]], dict[str, Any]]] = {
    "axolotl": _axolotl,
    "torchtune": _torchtune,
    "llamafactory": _llamafactory,
    "trl": _trl,
}


def configs(trainer: str, seed: int, count: int) -> Iterator[tuple[str, str]]:
    """`count` configs as (path, text), the same for the same seed."""
    from sftui.trainers.known import known_keys

    names = sorted(known_keys(trainer, trainer, None).config)
    for number in range(count):
        draw = random.Random(f"{trainer} {seed} {number}")
        text = yaml.safe_dump(MAKERS[trainer](draw, names), sort_keys=False)
        yield f"made-{seed}-{number}.yaml", text if number % 3 else _plain(draw, text)


def _plain(draw: Draw, text: str) -> str:
    """The text with values written as people write them, which YAML 1.1 and 1.2 do not read alike."""
    return "".join(f"{draw.choice(PLAIN.get(part, (part,)))}" for part in re.split(r"(?<=: )(\S+)(?=\n)", text))
