"""NeMo Automodel on the rounds of tokenizers and datasets of our own making (see `rounds` beside `case`)."""

from __future__ import annotations

from collections.abc import Iterator

import new_material
import new_material_four
from case import Case
from rounds import CHATS, LLAMA, MINI, NEW, PHI, QWEN, THREE, Setting, five_each, four_each, published, two_each
from trainers.nemo_automodel import cases


def new() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        ("plain", "chats", {}, {}),
        ("edges", "edges", {}, {"mask_history": True}),
        ("systems", "systems", {}, {"mask_generation_prompt": True}),
        ("tiny", "tiny", {}, cases.cut(24)),
        ("equal", "equal", {}, cases.cut(32, padding="max_length")),
        ("strings", "strings", {}, cases.PAIRS),
        ("strings_cut", "strings", {}, {**cases.PAIRS, **cases.cut(33)}),
        ("strings_chat", "strings", {}, {**cases.PAIRS, "use_hf_chat_template": True}),
        ("sharegpt", "sharegpt", {}, {}),
        ("alpaca", "alpaca", {}, cases.ALPACA),
        ("thd", "chats", cases.packed(256, "thd"), {}),
        ("neat", "strings", cases.packed(128, "neat"), cases.PAIRS),
    )
    yield from NEW.each(settings, new_material.TOKENIZERS, 4)


def two() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        *((name, name, {}, {}) for name in ("long", "empty", "oddities", "roles", "calls", "reasoning")),
        ("agents", "calls", {}, cases.AGENT),
        ("thoughts", "reasoning", {}, {"mask_reasoning_content": True, "mask_generation_prompt": True}),
        ("parts", "parts", {}, cases.cut(64)),
        ("strings", "strings", {}, {**cases.PAIRS, **cases.cut(65)}),
    )
    yield from two_each(settings, 3)


def three() -> Iterator[Case]:
    thoughts = {"mask_reasoning_content": True, "mask_generation_prompt": True}
    for tokenizer in (QWEN, LLAMA, PHI):
        yield THREE.case("plain", "chat", tokenizer, {}, {})
        yield THREE.case("plain", "blanks", tokenizer, {}, {})
        yield THREE.case("columns", "strings", tokenizer, {}, cases.PAIRS)
    yield THREE.case("systems", "systems", QWEN, {}, {})
    yield THREE.case("last", "chat", MINI, {}, cases.LAST)
    yield THREE.case("cut", "chat", LLAMA, {}, cases.cut(100))
    yield THREE.case("tags", "chat", QWEN, {}, {**thoughts, **cases.by("trl_qwen3_training")})
    yield THREE.case("thoughts", "reasoning", QWEN, {}, {**thoughts, **cases.by("trl_qwen3_training")})
    yield THREE.case("sharegpt", "sharegpt", MINI, {}, {})
    yield THREE.case("alpaca", "alpaca", LLAMA, {}, {**cases.ALPACA, **cases.cut(200)})
    yield THREE.case("alpaca_chat", "alpaca", QWEN, {}, {**cases.ALPACA, "use_hf_chat_template": True})
    yield THREE.case("calls", "calls", QWEN, {}, {})
    yield THREE.case("agents", "functions", QWEN, {}, cases.AGENT)
    yield THREE.case("agents_fit", "functions", QWEN, {}, {**cases.AGENT, "truncate_history": True, **cases.cut(200)})
    yield THREE.case("thd", "chat", QWEN, cases.packed(1024, "thd"), {})
    yield THREE.case("neat", "strings", LLAMA, cases.packed(512, "neat"), cases.PAIRS)


def four() -> Iterator[Case]:
    masks = {"mask_reasoning_content": True, "mask_generation_prompt": True}
    mapped = {**cases.COLUMNS, "column_mapping": {"question": "question", "answer": "answer"}}
    whole = {**mapped, "column_mapping": {"context": "context", "question": "question", "answer": "answer"}}
    counted = {**cases.COLUMNS, "column_mapping": {"context": "score", "question": "count", "answer": "answer"}}
    packs = {"packing_strategy": "thd", "packed_sequence_size": 64}
    settings: tuple[Setting, ...] = (
        *(("plain", data, {}, {}) for data in CHATS),
        *(("masks", data, {}, {**masks, "mask_history": True}) for data in CHATS),
        ("kinds", "kinds", {}, {}),
        ("kinds_skipped", "kinds", {}, {"skip_invalid_samples": True}),
        ("schemas", "schemas", {}, {}),
        ("tags", "thoughts", {}, {**masks, "chat_template": new_material_four.OPENED}),
        ("tags", "calls", {}, {"chat_template": new_material_four.OPENED}),
        ("tags_last", "marks", {}, {"chat_template": new_material_four.OPENED, "mask_history": True, **cases.cut(60)}),
        ("start", "middle", {}, {"start_of_turn_token": "<|user|>", "shuffle_seed": 3}),
        ("cut", "middle", {}, {**cases.cut(17), **masks}),
        ("cut_1", "trained", {}, cases.cut(1)),
        ("cut_first", "trained", {}, {"seq_length": 20, "truncation": "only_first"}),
        ("uncut", "trained", {}, {"seq_length": 20, "truncation": "do_not_truncate"}),
        ("padded", "blank", {}, cases.cut(40, padding="max_length")),
        ("padded_longest", "blank", {}, cases.cut(40, padding="longest")),
        ("padded_true", "blank", {}, {"padding": True}),
        ("padded_masks", "thoughts", {}, {**cases.cut(50, padding="max_length"), **masks, "mask_history": True}),
        ("mapped", "strings", {}, mapped),
        ("mapped_cut", "strings", {}, {**whole, **cases.cut(9)}),
        ("mapped_context", "strings", {}, whole),
        ("mapped_chat", "strings", {}, {**whole, "use_hf_chat_template": True}),
        ("mapped_chat_cut", "strings", {}, {**whole, "use_hf_chat_template": True, **cases.cut(30)}),
        ("mapped_all", "strings", {}, {**mapped, "answer_only_loss_mask": False}),
        ("mapped_few", "strings", {}, {**mapped, "limit_dataset_samples": 7}),
        ("mapped_words", "numerals", {}, mapped),
        ("mapped_counts", "numerals", {}, counted),
        ("mapped_counts_chat", "numerals", {}, {**counted, "use_hf_chat_template": True}),
        ("agents", "agents", {}, cases.AGENT),
        ("agents_last", "agents", {}, {**cases.AGENT, "train_on_last_turn_only": True, **masks}),
        ("agents_fit", "agents", {}, {**cases.AGENT, "truncate_history": True, **cases.cut(40)}),
        ("agents_trimmed", "agents", {}, {**cases.AGENT, "trim_incomplete_last_turn": True}),
        ("agents_padded", "agents", {}, {**cases.AGENT, **cases.cut(60, padding="max_length"), **masks}),
        ("agents_short", "agents", {}, {**cases.AGENT, "filter_overlong": True, **cases.cut(60)}),
        ("agents_answered", "agents", {}, {**cases.AGENT, "filter_no_assistant": True}),
        ("agents_few", "agents", {}, {**cases.AGENT, "limit_dataset_samples": 9}),
        ("agents_schemas", "schemas", {}, cases.AGENT),
        ("agents_arguments", "arguments", {}, {**cases.AGENT, **masks}),
        ("agents_roles", "roles", {}, cases.AGENT),
        ("agents_every", "everything", {}, cases.AGENT),
        ("agents_chat", "trained", {}, cases.AGENT),
        ("agents_thoughts", "nulls", {}, {**cases.AGENT, "drop_history_reasoning_content": True}),
        ("every", "everything", {}, {}),
        ("thd", "trained", cases.packed(80, "thd"), {}),
        ("thd_short", "lengthy", {"packed_sequence": {**packs, "drop_long_samples": True}}, {}),
        ("thd_split", "strings", {"packed_sequence": {**packs, "split_across_pack": True}}, mapped),
        ("neat", "strings", cases.packed(64, "neat"), mapped),
        ("neat_chats", "marks", cases.packed(200, "neat"), {}),
        ("divisible", "images", {"dataloader": {"collate_fn": {**cases.DIVISIBLE, "pad_seq_len_divisible": 7}}}, {}),
    )
    yield from four_each(settings, 3)
    yield from published("published", (({}, {}), ({}, masks)))


def five() -> Iterator[Case]:
    pairs = {**cases.PAIRS}
    settings: list[Setting] = [
        ("plain", "blanks", {}, {}),
        ("pairs", "pairs", {}, pairs),
        ("cut", "pairs", {}, {**pairs, **cases.cut(12)}),
        ("neat", "pairs", cases.packed(64, "neat"), pairs),
        ("thd", "pairs", cases.packed(64, "thd"), pairs),
    ]
    yield from five_each(settings, 2)
