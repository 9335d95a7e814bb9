"""Configs of our own for Axolotl (see `make_configs`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from make_configs import ANY, COUNT, FLAG, NAME, Deciding, Draw, some, strange

from sftui.trainers.config import KeyUse

RELEASE = "0.19.0"
"""What a config is read as, and put to."""
STOPS = (KeyUse.STOPS,)  # it passes over keys that it does not know
"""By what sftui says that the trainer stops."""
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


def make(draw: Draw, names: Sequence[str]) -> dict[str, Any]:
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
