"""Unsloth packing whole datasets of ../shared (see `shared_cases`)."""

from __future__ import annotations

from shared_cases import Keys, Packing
from trainers.unsloth.cases import CHATML, LLAMA3

PACKING = {"packing": True, "max_length": 256}
PACKINGS: tuple[Packing, ...] = (
    ("bfd", PACKING, {}),
    ("bfd_split", {**PACKING, "packing_strategy": "bfd_split", "max_length": 100}, {}),
    ("wrapped", {**PACKING, "packing_strategy": "wrapped", "max_length": 300}, {}),
    ("bfd_responses", {**PACKING, "max_length": 1024}, {"responses": True}),
    ("padded", {"max_length": 200}, {"responses": True}),
    ("padding_free", {"padding_free": True, "max_length": None}, {}),
)
MARKERS = {"qwen2.5": CHATML, "llama-3-8b-instruct": LLAMA3, "minimind": CHATML}


def keys(config: Keys, more: Keys, tokenizer: str, *, text: bool) -> tuple[Keys, Keys]:
    if text:
        return config, {}
    return config, {"text_from": "messages", **({"responses": MARKERS[tokenizer]} if more else {})}
