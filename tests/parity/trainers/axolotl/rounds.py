"""Axolotl on the rounds of tokenizers and datasets of our own making (see `rounds` beside `case`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import new_material
from case import Case
from rounds import LLAMA, MINI, NEW, PHI, QWEN, THREE, TOKENIZED, Keys, Setting, five_each, two_each
from trainers.axolotl.cases import INSTRUCT, LLAMA_PAD, SHAREGPT

NO_PAD = ("metaspace", "lower")
CUT = {"sequence_len": 64, "excess_length_strategy": "truncate"}
PACK = {"sequence_len": 300, "sample_packing": True, "curriculum_sampling": True, "excess_length_strategy": "truncate"}


def new() -> Iterator[Case]:
    long = {"sequence_len": 2048}
    pack = {"sequence_len": 256, "sample_packing": True, "excess_length_strategy": "truncate"}
    still = {**pack, "curriculum_sampling": True}
    ids = {"type": None}
    settings: tuple[Setting, ...] = (
        ("edges", "edges", long, {}),
        ("systems", "systems", long, {}),
        ("sharegpt", "sharegpt", long, SHAREGPT),
        ("alpaca", "alpaca", long, {"type": "alpaca"}),
        ("completion", "texts", {"sequence_len": 100}, {"type": "completion"}),
        ("ready", "ready", {"sequence_len": 200}, ids),
        ("drop", "chats", {"sequence_len": 80}, {}),
        ("pack_random", "chats", pack, {}),
        ("pack", "tiny", still, {}),
        ("pack_groups", "tiny", {**still, "sample_packing_group_size": 300, "sample_packing_bin_size": 7}, {}),
        ("pack_in_order", "chats", {**still, "sample_packing_sequentially": True}, {}),
        ("pack_real", "tiny", {**still, "multipack_real_batches": True, "micro_batch_size": 3}, {}),
        ("pack_two", "chats", {**still, "micro_batch_size": 2}, {}),
        ("pack_flash", "equal", {**still, "attn_implementation": "flash_attention_2"}, {}),
        ("pack_short", "alpaca", {**still, "pad_to_sequence_len": False}, {"type": "alpaca"}),
        ("pack_completion", "texts", still, {"type": "completion"}),
        ("pack_ready", "ready", still, ids),
    )
    for case in NEW.each(settings, new_material.TOKENIZERS, 2):
        pad = {"special_tokens": {"pad_token": "</s>"}} if case.tokenizer[4:] in NO_PAD else {}
        yield replace(case, config={**case.config, **pad})


def two() -> Iterator[Case]:
    cut = {"sequence_len": 128, "excess_length_strategy": "truncate"}
    thinking = {"split_thinking": True}
    settings: tuple[Setting, ...] = (
        ("long", "long", cut, {}),
        ("drop", "long", {"sequence_len": 700}, {}),
        ("empty", "empty", {"sequence_len": 512}, {}),
        ("oddities", "oddities", {"sequence_len": 512}, {}),
        ("roles", "roles", {"sequence_len": 512}, {}),
        ("calls", "calls", {"sequence_len": 1024}, {}),
        ("reasoning", "reasoning", {"sequence_len": 1024}, {}),
        ("split", "reasoning", {"sequence_len": 1024}, thinking),
        ("parts", "parts", {"sequence_len": 512}, {}),
        ("all", "reasoning", {"sequence_len": 512}, {"roles_to_train": ["user", "assistant"], "train_on_eos": "all"}),
        ("sharegpt", "sharegpt", {"sequence_len": 2048}, SHAREGPT),
        ("alpaca", "alpaca", cut, {"type": "alpaca"}),
        ("completion", "texts", {"sequence_len": 200}, {"type": "completion"}),
        ("pack", "long", PACK, {}),
        ("pack", "oddities", {**PACK, "sample_packing_sequentially": True}, {}),
        ("pack_flash", "reasoning", {**PACK, "attn_implementation": "flash_attention_2"}, {}),
    )
    yield from two_each(settings, 2)


def three() -> Iterator[Case]:
    long = {"sequence_len": 4096}
    cut = {"sequence_len": 128, "excess_length_strategy": "truncate"}
    pack = {**cut, "sequence_len": 512, "sample_packing": True, "curriculum_sampling": True}
    settings: tuple[tuple[str, str, str, Keys, Keys, str | None], ...] = (
        ("chat", "chat", QWEN, long, {}, None),
        ("chat", "chat", LLAMA, {**long, **LLAMA_PAD}, {}, None),
        ("chat", "chat", PHI, long, {}, None),
        ("chat", "chat", MINI, cut, {}, None),
        ("blanks", "blanks", QWEN, cut, {}, None),
        ("blanks", "blanks", LLAMA, {**long, **LLAMA_PAD}, {"train_on_eos": "all"}, None),
        ("systems", "systems", QWEN, long, {}, None),
        ("roles", "systems", QWEN, long, {"roles_to_train": ["user", "system"], "train_on_eos": "last"}, None),
        ("calls", "calls", QWEN, long, {}, "trl_qwen3"),
        ("reasoning", "reasoning", QWEN, long, {}, "trl_qwen3"),
        ("split", "reasoning", QWEN, long, {"split_thinking": True}, "trl_qwen3"),
        ("inputs", "chat", QWEN, {**long, "train_on_inputs": True}, {}, None),
        ("sharegpt", "sharegpt", MINI, long, SHAREGPT, None),
        ("alpaca", "alpaca", LLAMA, {**long, **LLAMA_PAD}, {"type": "alpaca"}, None),
        ("alpaca", "alpaca", PHI, cut, {"type": "alpaca"}, None),
        ("completion", "texts", QWEN, {"sequence_len": 300}, {"type": "completion"}, None),
        ("pack", "chat", QWEN, pack, {}, None),
        ("pack", "alpaca", QWEN, pack, {"type": "alpaca"}, None),
    )
    for name, data, tokenizer, config, dataset, template in settings:
        yield THREE.case(name, data, tokenizer, config, dataset, template)


def five() -> Iterator[Case]:
    long = {"sequence_len": 2048}
    own = {
        "format": "Q: {instruction}\nC: {input}\nA:",
        "no_input_format": "{instruction} =>",
        "system_format": "{system} | ",
    }
    shaped = {"field_instruction": "question", "field_output": "answer", "field_system": "system_prompt", **own}
    names: list[Any] = [
        *(
            "alpaca",
            "alpaca_w_system.load_chat",
            "alpaca_chat.load",
            "gpteacher:chat",
            "oasst:chatml",
            "jeopardy:instruct",
        ),
        *(
            "jeopardy:phi",
            "explainchoice:chat",
            "alpaca:instruct",
            *INSTRUCT,
            shaped,
            {"field_output": "output"},
        ),
    ]

    def called(kind: Any) -> str:
        return str(kind).replace(":", "_as_").replace(".", "_") if isinstance(kind, str) else f"own_{len(kind)}"

    types: list[Setting] = [
        *((called(kind), "columns", long, {"type": kind}) for kind in names),
        *((called(kind), "filled", long, {"type": kind}) for kind in names),
        *((f"inputs_{called(k)}", "filled", {**long, "train_on_inputs": True}, {"type": k}) for k in names[::3]),
        *((f"cut_{called(kind)}", "filled", CUT, {"type": kind}) for kind in names[1::4]),
    ]
    tokenizers = ("split", "headers", "prefix", "turns", "unigram", "letters")
    yield from five_each(types, 1, tokenizers)
    pack = {**CUT, "sample_packing": True, "curriculum_sampling": True}
    real, one = {"multipack_real_batches": True}, {"multipack_real_batches": False}
    flash, sdpa = {"attn_implementation": "flash_attention_2"}, {"attn_implementation": "sdpa"}
    ways: tuple[Keys, ...] = (
        {},
        real,
        one,
        flash,
        sdpa,
        {"sample_packing_sequentially": True},
        {"pad_to_sequence_len": False},
    )
    kinds: tuple[tuple[str, Keys], ...] = (
        ("blanks", {}),
        ("filled", {"type": "alpaca"}),
        ("texts", {"type": "completion"}),
        ("masked", {"type": None}),
    )
    packs = [
        (f"micro_{size}_{number}", data, {**pack, **way, "micro_batch_size": size}, dataset)
        for number, way in enumerate(ways)
        for at, (data, dataset) in enumerate(kinds)
        for size in ((2, 3, 5)[(at + number) % 3],)
    ]
    yield from five_each(packs, 1, tokenizers)
    ids: list[Setting] = [("ids", data, {"sequence_len": 512}, {"type": None}) for data in TOKENIZED]
    ids += [("packed_ids", data, pack, {"type": None}) for data in TOKENIZED]
    ids += [("plain", data, long, {"type": "completion"} if data == "texts" else {}) for data in ("texts", "blanks")]
    yield from five_each(ids, 1)
