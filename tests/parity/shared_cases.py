"""Every trainer that packs on every dataset of ../shared, whole, with three tokenizers: all packs, all batches.

A dataset is read into messages (or text, where it has nothing else), so that every trainer takes it. The packings go
round: every dataset meets each of three tokenizers, each under another packing (all of them with `everything`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cases_torchtune as tune
from case import Case

Keys = Mapping[str, Any]

TEXTS = ("c4_demo.jsonl", "mlx_wikisql_text.jsonl")
CHATS = (
    "alpaca_en_demo.json",
    "alpaca_zh_demo.json",
    "axolotl_conversation.json",
    "axolotl_conversation_missingturns.json",
    "derived_dirty_messages.jsonl",
    "fastchat_dummy_conversation.json",
    "glaive_toolcall_en_demo.json",
    "gsm8k_test.jsonl",
    "identity_placeholders.json",
    "mllm_demo.json",
    "mlx_wwdc25_prompt_completion.jsonl",
    "openai_toy_chat_fine_tuning.jsonl",
    "reason_tool_use_demo_50.jsonl",
    "self_instruct_seed_tasks.jsonl",
    "toolset_tool_text_pairs.jsonl",
    "torchtune_alpaca_tiny.json",
    "torchtune_chat_tiny.json",
    "torchtune_hh_rlhf_tiny.json",
    "turkish_daily_test.jsonl",
    "turkish_daily_test.parquet",
    "turkish_daily_train.parquet",
    "v1_sft_demo.jsonl",
)
PACKING = {"packing": True, "max_length": 256}
SAMPLES = {"sequence_len": 512, "sample_packing": True, "excess_length_strategy": "truncate"}
STILL = {**SAMPLES, "curriculum_sampling": True}
TUNE_CHAT = {**tune.CHAT, "packed": True}
TUNE_TEXT = {**tune.TEXT, "packed": True}
OPENAI = {
    "formatting": "sharegpt",
    "columns": {"messages": "messages"},
    "tags": {
        "role_tag": "role",
        "content_tag": "content",
        "user_tag": "user",
        "assistant_tag": "assistant",
        "system_tag": "system",
    },
}
FACTORY_TEMPLATE = {"qwen2.5": "qwen", "llama-3-8b-instruct": "llama3", "minimind": "chatml", "phi-3-mini": "phi"}
LLAMA_PAD = {"special_tokens": {"pad_token": "<|end_of_text|>"}}
MARKERS = {
    "qwen2.5": ("<|im_start|>user\n", "<|im_start|>assistant\n"),
    "llama-3-8b-instruct": (
        "<|start_header_id|>user<|end_header_id|>\n\n",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "minimind": ("<|im_start|>user\n", "<|im_start|>assistant\n"),
}

Setting = tuple[str, Keys, Keys]
"""A name, the trainer's own keys, and its description of the dataset."""

TRL: tuple[Setting, ...] = (
    ("bfd", PACKING, {}),
    ("bfd_split", {**PACKING, "packing_strategy": "bfd_split", "max_length": 100}, {}),
    ("wrapped", {**PACKING, "packing_strategy": "wrapped", "max_length": 333}, {}),
    ("bfd_multiple", {**PACKING, "max_length": 1000, "pad_to_multiple_of": 64}, {}),
    ("padding_free", {"padding_free": True, "max_length": None, "pad_to_multiple_of": 8}, {}),
    ("padded", {"max_length": 200, "pad_to_multiple_of": 16}, {}),
)
AXOLOTL: tuple[Setting, ...] = (
    ("pack_random", SAMPLES, {}),
    ("pack", STILL, {}),
    ("pack_in_order", {**STILL, "sample_packing_sequentially": True}, {}),
    ("pack_real", {**STILL, "multipack_real_batches": True, "micro_batch_size": 3}, {}),
    ("pack_flash", {**STILL, "attn_implementation": "flash_attention_2", "micro_batch_size": 2}, {}),
    ("pack_groups", {**STILL, "sample_packing_group_size": 100, "sample_packing_bin_size": 5}, {}),
    ("pack_short", {**STILL, "pad_to_sequence_len": False, "sequence_len": 1024}, {}),
    ("padded", {"sequence_len": 512, "pad_to_sequence_len": True, "micro_batch_size": 2}, {}),
)
FACTORY: tuple[Setting, ...] = (
    ("packing", {"packing": True, "cutoff_len": 256}, {}),
    ("neat", {"neat_packing": True, "cutoff_len": 512}, {}),
    ("packing_groups", {"packing": True, "cutoff_len": 300, "preprocessing_batch_size": 64}, {}),
    ("neat_groups", {"neat_packing": True, "cutoff_len": 1024, "preprocessing_batch_size": 100}, {}),
    ("padded", {"cutoff_len": 128, "train_on_prompt": True}, {}),
)
UNSLOTH: tuple[Setting, ...] = (
    ("bfd", PACKING, {}),
    ("bfd_split", {**PACKING, "packing_strategy": "bfd_split", "max_length": 100}, {}),
    ("wrapped", {**PACKING, "packing_strategy": "wrapped", "max_length": 300}, {}),
    ("bfd_responses", {**PACKING, "max_length": 1024}, {"responses": True}),
    ("padded", {"max_length": 200}, {"responses": True}),
    ("padding_free", {"padding_free": True, "max_length": None}, {}),
)
TUNE: tuple[Setting, ...] = (
    ("packed", {"max_seq_len": 512}, {}),
    ("packed_short", {"max_seq_len": 333}, {}),
    ("packed_long", {"max_seq_len": 2048}, {}),
    ("packed_split", {"max_seq_len": 200}, {"split_across_pack": True}),
)


TOKENIZERS = ("qwen2.5", "llama-3-8b-instruct", "minimind")
TRAINERS = ("trl", "axolotl", "llamafactory", "unsloth", "torchtune")
ALL = {"size": 5, "count": 1_000_000}


def cases(trainer: str, *, everything: bool = False) -> tuple[Case, ...]:
    """The cases of a trainer: every dataset with every tokenizer under one of its packings, or under every one."""
    return tuple(_cases(trainer, everything))


def _cases(trainer: str, everything: bool) -> Iterator[Case]:
    packings = {"trl": TRL, "axolotl": AXOLOTL, "llamafactory": FACTORY, "unsloth": UNSLOTH, "torchtune": TUNE}[trainer]
    for number, name in enumerate((*TEXTS, *CHATS)):
        for place, tokenizer in enumerate(TOKENIZERS):
            for label, config, more in packings if everything else (packings[(number + 2 * place) % len(packings)],):
                config, dataset = _asked(trainer, config, more, tokenizer, text=name in TEXTS)
                title = f"shared_{label}_{name.replace('.', '_')}_{tokenizer}"
                yield Case(title, f"shared:{name}", tokenizer, config, dataset=dataset, batch=ALL)


def _asked(trainer: str, config: Keys, more: Keys, tokenizer: str, *, text: bool) -> tuple[Keys, Keys]:
    """The trainer's own keys, and its description of the dataset."""
    if trainer == "axolotl":
        pad = LLAMA_PAD if tokenizer == "llama-3-8b-instruct" else {}
        return {**config, **pad}, {"type": "completion"} if text else {}
    if trainer == "llamafactory":
        if text:
            config = {k: v for k, v in config.items() if k not in ("neat_packing", "train_on_prompt")}
            config = {**config, "stage": "pt", "packing": "packing" in config or "preprocessing_batch_size" in config}
        return {"template": FACTORY_TEMPLATE[tokenizer], **config}, {"columns": {"prompt": "text"}} if text else OPENAI
    if trainer == "unsloth":
        if text:
            return config, {}
        ask, reply = MARKERS[tokenizer]
        parts = {"responses": {"instruction_part": ask, "response_part": reply}} if more else {}
        return config, {"text_from": "messages", **parts}
    if trainer == "torchtune":
        model = "llama3.llama3" if tokenizer == "llama-3-8b-instruct" else "qwen2_5.qwen2_5"
        dataset = {**TUNE_TEXT, "split_across_pack": False, **more} if text else TUNE_CHAT
        return {"tokenizer": {"_component_": f"torchtune.models.{model}_tokenizer", **config}}, dataset
    return config, {}
