"""Every trainer that packs on every dataset of ../shared, whole, with three tokenizers: all packs, all batches.

A dataset is read into messages (or text, where it has nothing else), so that every trainer takes it. The packings go
round: every dataset meets each of three tokenizers, each under another packing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from case import Case
from trainers import having, module_of

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

Packing = tuple[str, Keys, Keys]
"""A name, the trainer's own keys, and what else its `keys` is told."""

TOKENIZERS = ("qwen2.5", "llama-3-8b-instruct", "minimind")
TRAINERS = having("packings")
"""Those that say how they pack, in `packings.py` of their folders: `PACKINGS` and the `keys` of one."""
ALL = {"size": 5, "count": 1_000_000}


def cases(trainer: str) -> Iterator[Case]:
    """The cases of a trainer: every dataset with every tokenizer under one of its packings."""
    module = module_of(trainer, "packings")
    packings: tuple[Packing, ...] = module.PACKINGS
    for number, name in enumerate((*TEXTS, *CHATS)):
        for place, tokenizer in enumerate(TOKENIZERS):
            label, config, more = packings[(number + 2 * place) % len(packings)]
            config, dataset = module.keys(config, more, tokenizer, text=name in TEXTS)
            title = f"shared_{label}_{name.replace('.', '_')}_{tokenizer}"
            yield Case(title, f"shared:{name}", tokenizer, config, dataset=dataset, batch=ALL)
