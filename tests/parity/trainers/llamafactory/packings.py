"""LLaMA-Factory packing whole datasets of ../shared (see `shared_cases`)."""

from __future__ import annotations

from shared_cases import Keys, Packing
from trainers.llamafactory.cases import MESSAGES

PACKINGS: tuple[Packing, ...] = (
    ("packing", {"packing": True, "cutoff_len": 256}, {}),
    ("neat", {"neat_packing": True, "cutoff_len": 512}, {}),
    ("packing_groups", {"packing": True, "cutoff_len": 300, "preprocessing_batch_size": 64}, {}),
    ("neat_groups", {"neat_packing": True, "cutoff_len": 1024, "preprocessing_batch_size": 100}, {}),
    ("padded", {"cutoff_len": 128, "train_on_prompt": True}, {}),
)
TEMPLATES = {"qwen2.5": "qwen", "llama-3-8b-instruct": "llama3", "minimind": "chatml", "phi-3-mini": "phi"}


def keys(config: Keys, more: Keys, tokenizer: str, *, text: bool) -> tuple[Keys, Keys]:
    if text:
        config = {k: v for k, v in config.items() if k not in ("neat_packing", "train_on_prompt")}
        config = {**config, "stage": "pt", "packing": "packing" in config or "preprocessing_batch_size" in config}
    return {"template": TEMPLATES[tokenizer], **config}, {"columns": {"prompt": "text"}} if text else MESSAGES
