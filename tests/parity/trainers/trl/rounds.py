"""TRL on the rounds of tokenizers and datasets of our own making (see `rounds` beside `case`)."""

from __future__ import annotations

from collections.abc import Iterator

import new_material
from case import Case
from rounds import LLAMA, MINI, NEW, PHI, QWEN, THREE, TOKENIZED, TWO, Setting, five_each, two_each

PACKING = {"packing": True, "max_length": 150}


def new() -> Iterator[Case]:
    packing = {"packing": True, "max_length": 96}
    settings: tuple[Setting, ...] = (
        ("edges", "edges", {}, {}),
        ("systems", "systems", {}, {}),
        ("sharegpt", "sharegpt", {}, {}),
        ("strings", "strings", {}, {}),
        ("pairs", "pairs", {"max_length": 60}, {}),
        ("texts", "texts", {}, {}),
        ("ready", "ready", {"max_length": 64}, {}),
        ("multiple", "chats", {"pad_to_multiple_of": 16}, {}),
        ("padding_free", "chats", {"padding_free": True, "max_length": None}, {}),
        ("padding_free_multiple", "pairs", {"padding_free": True, "max_length": None, "pad_to_multiple_of": 8}, {}),
        ("bfd", "tiny", packing, {}),
        ("bfd", "equal", packing, {}),
        ("bfd", "strings", packing, {}),
        ("bfd", "ready", packing, {}),
        ("bfd_multiple", "chats", {**packing, "pad_to_multiple_of": 64}, {}),
        ("bfd_split", "texts", {**packing, "packing_strategy": "bfd_split"}, {}),
        ("bfd_split", "tiny", {**packing, "packing_strategy": "bfd_split", "max_length": 9}, {}),
        ("wrapped", "texts", {**packing, "packing_strategy": "wrapped"}, {}),
        ("wrapped", "tiny", {**packing, "packing_strategy": "wrapped", "max_length": 101}, {}),
        ("wrapped", "ready", {**packing, "packing_strategy": "wrapped", "max_length": 33}, {}),
    )
    yield from NEW.each(settings, new_material.TOKENIZERS, 3)
    for data in ("chats", "edges", "tiny"):
        yield NEW.case("assistant_only", data, "generation", {"assistant_only_loss": True}, {})
        config = {"assistant_only_loss": True, "packing": True, "max_length": 128}
        yield NEW.case("assistant_only_bfd", data, "generation", config, {})


def two() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        *(
            (name, name, {"max_length": 64}, {})
            for name in ("long", "empty", "oddities", "roles", "calls", "reasoning")
        ),
        ("parts", "parts", {}, {}),
        ("sharegpt", "sharegpt", {"max_length": 2000, "pad_to_multiple_of": 32}, {}),
        ("strings", "strings", {"max_length": 80}, {}),
        ("texts", "texts", {"max_length": 300}, {}),
        ("bfd", "long", PACKING, {}),
        ("bfd", "reasoning", PACKING, {}),
        ("bfd_split", "texts", {**PACKING, "packing_strategy": "bfd_split"}, {}),
        ("wrapped", "strings", {**PACKING, "packing_strategy": "wrapped"}, {}),
        ("padding_free", "oddities", {"padding_free": True, "max_length": None}, {}),
    )
    yield from two_each(settings, 3)
    for data in ("reasoning", "calls", "parts", "empty"):
        yield TWO.case("assistant_only", data, "only_end", {"assistant_only_loss": True, "max_length": 90}, {})


def three() -> Iterator[Case]:
    packing = {"packing": True, "max_length": 512}
    answers = {"assistant_only_loss": True}
    settings: tuple[Setting, ...] = (
        ("plain", "chat", {"max_length": 4096}, {}),
        ("cut", "blanks", {"max_length": 100}, {}),
        ("pairs", "pairs", {"max_length": 300}, {}),
        ("strings", "strings", {"max_length": 256}, {}),
        ("texts", "texts", {"max_length": 700}, {}),
        ("bfd", "chat", packing, {}),
        ("wrapped", "strings", {**packing, "packing_strategy": "wrapped"}, {}),
    )
    yield from THREE.each(settings, (QWEN, LLAMA, PHI, MINI, "two:greedy"), 2)
    yield THREE.case("systems", "systems", QWEN, {}, {})
    for data, template in (
        ("chat", "trl_qwen3_training"),
        ("blanks", "trl_qwen2_5_training"),
        ("calls", "trl_qwen3_training"),
        ("reasoning", "trl_qwen3_5_think_training"),
    ):
        yield THREE.case("answers", data, QWEN, {**answers, "max_length": 1024}, {}, template)
    yield THREE.case("answers", "chat", LLAMA, {**answers, "max_length": 4096}, {}, "trl_llama3_training")
    yield THREE.case("calls", "calls", QWEN, {"max_length": 4096}, {}, "trl_qwen3")
    yield THREE.case("reasoning_pack", "reasoning", QWEN, packing, {}, "trl_qwen3")


def five() -> Iterator[Case]:
    packing = {"packing": True, "max_length": 32}
    settings: list[Setting] = [
        *(("ids", data, {}, {}) for data in TOKENIZED),
        *(("uncut", data, {"max_length": None}, {}) for data in TOKENIZED),
        *(("bfd", data, packing, {}) for data in TOKENIZED),
        *(("wrapped", data, {**packing, "packing_strategy": "wrapped"}, {}) for data in TOKENIZED),
        *(("split", data, {**packing, "packing_strategy": "bfd_split"}, {}) for data in ("ids_empty", "texts")),
        ("free", "ids_empty", {"padding_free": True, "max_length": None}, {}),
        ("completion", "masks_empty", {"completion_only_loss": True}, {}),
        *(("plain", data, {}, {}) for data in ("texts", "pairs", "blanks")),
        *(("bfd", data, packing, {}) for data in ("texts", "pairs", "blanks")),
    ]
    yield from five_each(settings, 1)
