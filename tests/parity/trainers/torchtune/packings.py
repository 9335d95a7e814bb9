"""torchtune packing whole datasets of ../shared (see `shared_cases`)."""

from __future__ import annotations

from shared_cases import Keys, Packing
from trainers.torchtune.cases import CHAT, TEXT

PACKINGS: tuple[Packing, ...] = (
    ("packed", {"max_seq_len": 512}, {}),
    ("packed_short", {"max_seq_len": 333}, {}),
    ("packed_long", {"max_seq_len": 2048}, {}),
    ("packed_split", {"max_seq_len": 200}, {"split_across_pack": True}),
)


def keys(config: Keys, more: Keys, tokenizer: str, *, text: bool) -> tuple[Keys, Keys]:
    model = "llama3.llama3" if tokenizer == "llama-3-8b-instruct" else "qwen2_5.qwen2_5"
    dataset = {**TEXT, "packed": True, "split_across_pack": False, **more} if text else {**CHAT, "packed": True}
    return {"tokenizer": {"_component_": f"torchtune.models.{model}_tokenizer", **config}}, dataset
