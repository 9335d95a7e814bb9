"""TRL packing whole datasets of ../shared (see `shared_cases`)."""

from __future__ import annotations

from shared_cases import Keys, Packing

PACKING = {"packing": True, "max_length": 256}
PACKINGS: tuple[Packing, ...] = (
    ("bfd", PACKING, {}),
    ("bfd_split", {**PACKING, "packing_strategy": "bfd_split", "max_length": 100}, {}),
    ("wrapped", {**PACKING, "packing_strategy": "wrapped", "max_length": 333}, {}),
    ("bfd_multiple", {**PACKING, "max_length": 1000, "pad_to_multiple_of": 64}, {}),
    ("padding_free", {"padding_free": True, "max_length": None, "pad_to_multiple_of": 8}, {}),
    ("padded", {"max_length": 200, "pad_to_multiple_of": 16}, {}),
)


def keys(config: Keys, more: Keys, tokenizer: str, *, text: bool) -> tuple[Keys, Keys]:
    return config, {}
