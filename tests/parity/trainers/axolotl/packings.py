"""Axolotl packing whole datasets of ../shared (see `shared_cases`)."""

from __future__ import annotations

from shared_cases import Keys, Packing
from trainers.axolotl.cases import LLAMA_PAD

SAMPLES = {"sequence_len": 512, "sample_packing": True, "excess_length_strategy": "truncate"}
STILL = {**SAMPLES, "curriculum_sampling": True}
PACKINGS: tuple[Packing, ...] = (
    ("pack_random", SAMPLES, {}),
    ("pack", STILL, {}),
    ("pack_in_order", {**STILL, "sample_packing_sequentially": True}, {}),
    ("pack_real", {**STILL, "multipack_real_batches": True, "micro_batch_size": 3}, {}),
    ("pack_flash", {**STILL, "attn_implementation": "flash_attention_2", "micro_batch_size": 2}, {}),
    ("pack_groups", {**STILL, "sample_packing_group_size": 100, "sample_packing_bin_size": 5}, {}),
    ("pack_short", {**STILL, "pad_to_sequence_len": False, "sequence_len": 1024}, {}),
    ("padded", {"sequence_len": 512, "pad_to_sequence_len": True, "micro_batch_size": 2}, {}),
)


def keys(config: Keys, more: Keys, tokenizer: str, *, text: bool) -> tuple[Keys, Keys]:
    pad = LLAMA_PAD if tokenizer == "llama-3-8b-instruct" else {}
    return {**config, **pad}, {"type": "completion"} if text else {}
