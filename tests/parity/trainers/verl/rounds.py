"""verl on the rounds of tokenizers and datasets of our own making (see `rounds` beside `case`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import new_material
import new_material_four
from case import Case
from rounds import CHATS, LLAMA, MINI, NEW, PHI, QWEN, THREE, Keys, Setting, five_each, four_each, published, two_each
from trainers.verl import cases


def new() -> Iterator[Case]:
    cut = {"data.max_length": 24, "data.truncation": "right"}
    padded = {"data.max_length": 32, "data.truncation": "left", "data.pad_mode": "right"}
    settings: tuple[Setting, ...] = (
        ("plain", "chats", {}, {}),
        ("ignored", "chats", cases.IGNORE, {}),
        ("edges", "edges", {}, {}),
        ("edges_ignored", "edges", cases.IGNORE, {}),
        ("systems", "systems", {}, {}),
        ("tiny", "tiny", cut, {}),
        ("equal", "equal", padded, {}),
        ("equal_ignored", "equal", {**padded, **cases.IGNORE}, {}),
        ("json", "systems", cases.IGNORE, cases.JSON),
        ("unread", "pairs", {}, {}),
    )
    yield from NEW.each(settings, new_material.TOKENIZERS, 4)


def two() -> Iterator[Case]:
    long: dict[str, Any] = {"data.max_length": 4096}
    ignored = {**long, **cases.IGNORE}
    settings: tuple[Setting, ...] = (
        *((name, name, long, {}) for name in ("long", "empty", "oddities", "roles", "calls", "reasoning")),
        *((f"{name}_ignored", name, ignored, {}) for name in ("oddities", "roles", "calls", "reasoning", "parts")),
        ("json", "calls", ignored, cases.JSON),
        ("cut", "long", {"data.max_length": 100, "data.truncation": "left", "data.pad_mode": "right"}, {}),
    )
    yield from two_each(settings, 3)


def three() -> Iterator[Case]:
    long: dict[str, Any] = {"data.max_length": 4096}
    ignored = {**long, **cases.IGNORE}
    for data in ("chat", "blanks", "systems"):
        for tokenizer in (QWEN, LLAMA, MINI):
            yield THREE.case("plain", data, tokenizer, long, {})
    yield THREE.case("ignored", "chat", PHI, ignored, {})
    yield THREE.case("ignored", "blanks", PHI, ignored, {})
    yield THREE.case("json", "chat", QWEN, long, cases.JSON)
    yield THREE.case("cut", "chat", LLAMA, {"data.max_length": 100, "data.truncation": "right"}, {})
    for data in ("calls", "reasoning"):
        yield THREE.case("ignored", data, QWEN, ignored, {}, "trl_qwen3")
    yield THREE.case("unread", "pairs", QWEN, long, {})


def four() -> Iterator[Case]:
    cut = {"data.max_length": 17}
    padded = {**cut, "data.pad_mode": "right"}
    chats = tuple(name for name in CHATS if name != "images")

    def handed(**kwargs: Any) -> Keys:
        return {**cases.IGNORE, "data.apply_chat_template_kwargs": kwargs}

    settings: tuple[Setting, ...] = (
        *(("plain", data, {}, {}) for data in chats),
        *(("ignored", data, cases.IGNORE, {}) for data in chats),
        ("right", "thoughts", {**cut, **cases.IGNORE, "data.truncation": "right"}, {}),
        ("left", "middle", {**padded, **cases.IGNORE, "data.truncation": "left"}, {}),
        ("left_one", "middle", {**padded, **cases.IGNORE, "data.truncation": "left", "data.max_length": 1}, {}),
        ("padded", "blank", {**padded, **cases.IGNORE, "data.truncation": "right"}, {}),
        ("padded_whole", "lengthy", {**cases.IGNORE, "data.pad_mode": "right", "data.max_length": 600}, {}),
        ("images", "images", {}, {}),
        ("images_unread", "images", {**cases.IGNORE, "data.image_key": "nothing"}, {}),
        ("images_parts", "parts", {**cases.IGNORE, "data.image_key": "images"}, {}),
        ("json", "bare_calls", cases.IGNORE, cases.JSON),
        ("json_nulls", "nulls", {**cases.IGNORE, "data.image_key": "nothing"}, cases.JSON),
        ("json_arguments", "arguments", cases.IGNORE, cases.JSON),
        ("nulls", "nulls", {**cases.IGNORE, "data.image_key": "nothing"}, {}),
        ("schemas", "schemas", cases.IGNORE, {}),
        ("schemas_unread", "schemas", {**cases.IGNORE, "data.tools_key": "nothing"}, {}),
        ("kwargs", "thoughts", handed(add_generation_prompt=True), {}),
        ("kwargs_strict", "middle", {"data.apply_chat_template_kwargs": {"add_generation_prompt": True}}, {}),
        ("kwargs_tools", "blank", handed(tools=[]), {}),
        ("kwargs_messages", "blank", handed(messages=[]), {}),
        ("kwargs_tokenizer", "blank", handed(tokenizer="x"), {}),
        ("kwargs_end", "trained", handed(eos_token="[end]", bos_token="[begin]", unused=[1]), {}),
        ("kwargs_documents", "trained", handed(documents=[]), {}),
        ("kwargs_open", "trained", handed(continue_final_message=False, padding=False), {}),
        ("think_off", "thoughts", {**cases.IGNORE, "data.enable_thinking_default": False}, {}),
        ("think_text", "blank", {**cases.IGNORE, "data.enable_thinking_default": "no"}, {}),
        *(
            (f"think_{key}", "flags", {**cases.IGNORE, "data.enable_thinking_key": key}, {})
            for key in ("count", "on", "word")
        ),
        ("columns", "agents", {"data.messages_key": "conversations"}, {}),
        ("every", "everything", cases.IGNORE, {}),
        ("most_0", "middle", {**cases.IGNORE, "data.train_max_samples": 0}, {}),
        ("most_many", "middle", {**cases.IGNORE, "data.train_max_samples": 5000}, {}),
        ("most_7", "nulls", {**cases.IGNORE, "data.train_max_samples": 7}, {}),
        ("custom", "blank", {**cases.IGNORE, "model.custom_chat_template": new_material_four.CAPITALS}, {}),
        ("custom_tools", "bare_calls", {**cases.IGNORE, "model.custom_chat_template": new_material_four.TOOL_USE}, {}),
        ("custom_opened", "flags", {**cases.IGNORE, "model.custom_chat_template": new_material_four.OPENED}, {}),
    )
    yield from four_each(settings, 3)
    yield from published("published", ((cases.IGNORE, {}), ({}, {})), ("images", "nulls"))


def five() -> Iterator[Case]:
    yield from five_each(
        (("plain", "blanks", {}, {}), ("cut", "blanks", {"data.max_length": 16, "data.truncation": "left"}, {})), 2
    )
