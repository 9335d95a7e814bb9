"""torchtune on the rounds of tokenizers and datasets of our own making (see `rounds` beside `case`)."""

from __future__ import annotations

from collections.abc import Iterator

import new_material
import new_material_two
from case import Case
from rounds import FIVE, LLAMA, NEW, QWEN, THREE, TWO, Setting
from trainers.torchtune import cases


def new() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        ("edges", "edges", {}, cases.CHAT),
        ("systems", "systems", {"max_seq_len": 64}, cases.CHAT),
        ("sharegpt", "sharegpt", {}, cases.SHAREGPT),
        ("alpaca", "alpaca", {"max_seq_len": 90}, cases.ALPACA),
        ("texts", "texts", {}, cases.TEXT),
        ("packed", "tiny", {"max_seq_len": 128}, {**cases.CHAT, "packed": True}),
        ("packed", "equal", {"max_seq_len": 100}, {**cases.CHAT, "packed": True}),
        ("packed", "chats", {"max_seq_len": 200}, {**cases.CHAT, "packed": True}),
        ("packed", "alpaca", {"max_seq_len": 150}, {**cases.ALPACA, "packed": True}),
        ("packed_text", "texts", {"max_seq_len": 77}, {**cases.TEXT, "packed": True, "split_across_pack": True}),
        ("packed_whole", "texts", {"max_seq_len": 800}, {**cases.TEXT, "packed": True, "split_across_pack": False}),
    )
    for name, data, config, dataset in settings:
        for tokenizer in new_material.BYTE_LEVEL:
            model = "llama3.llama3" if tokenizer == "headers" else "qwen2_5.qwen2_5"
            block = {"_component_": f"torchtune.models.{model}_tokenizer", **config}
            yield NEW.case(name, data, tokenizer, {"tokenizer": block}, dataset)


def two() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        *((name, name, {"max_seq_len": 100}, cases.CHAT) for name in ("long", "empty", "oddities", "parts")),
        ("sharegpt", "sharegpt", {}, cases.SHAREGPT),
        ("alpaca", "alpaca", {"max_seq_len": 64}, cases.ALPACA),
        ("packed", "oddities", {"max_seq_len": 400}, {**cases.CHAT, "packed": True}),
        ("packed", "parts", {"max_seq_len": 300}, {**cases.CHAT, "packed": True}),
        ("packed_split", "texts", {"max_seq_len": 100}, {**cases.TEXT, "packed": True, "split_across_pack": True}),
    )
    for name, data, config, dataset in settings:
        for tokenizer in new_material_two.BYTE_LEVEL:
            model = "llama3.llama3" if tokenizer == "bos_twice" else "qwen2_5.qwen2_5"
            block = {"_component_": f"torchtune.models.{model}_tokenizer", **config}
            yield TWO.case(name, data, tokenizer, {"tokenizer": block}, dataset)


def three() -> Iterator[Case]:
    pack = {"packed": True}
    settings: tuple[Setting, ...] = (
        ("chat", "chat", {}, cases.CHAT),
        ("cut", "chat", {"max_seq_len": 100}, cases.CHAT),
        ("inputs", "blanks", {"max_seq_len": 2000}, {**cases.CHAT, "train_on_input": True}),
        ("blanks", "blanks", {}, cases.CHAT),
        ("sharegpt", "sharegpt", {"max_seq_len": 512}, cases.SHAREGPT),
        ("alpaca", "alpaca", {"max_seq_len": 300}, {**cases.ALPACA, "train_on_input": False}),
        ("texts", "texts", {"max_seq_len": 400}, cases.TEXT),
        ("packed", "chat", {"max_seq_len": 600}, {**cases.CHAT, **pack}),
        ("packed", "texts", {"max_seq_len": 300}, {**cases.TEXT, **pack, "split_across_pack": True}),
    )
    for name, data, config, dataset in settings:
        for tokenizer, model in ((QWEN, "qwen2_5.qwen2_5"), (LLAMA, "llama3.llama3")):
            block = {"_component_": f"torchtune.models.{model}_tokenizer", **config}
            yield THREE.case(name, data, tokenizer, {"tokenizer": block}, dataset)


def five() -> Iterator[Case]:
    for data, dataset in (("texts", cases.TEXT), ("blanks", cases.CHAT), ("filled", cases.ALPACA)):
        for config in ({}, {"max_seq_len": 48}):
            for packed in ({}, {"packed": True}) if config else ({},):
                block = {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer", **config}
                name = f"{'packed' if packed else 'plain'}{'_cut' if config else ''}"
                yield FIVE.case(name, data, "split", {"tokenizer": block}, {**dataset, **packed})
