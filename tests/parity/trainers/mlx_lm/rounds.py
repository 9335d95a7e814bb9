"""mlx-lm on the rounds of tokenizers and datasets of our own making (see `rounds` beside `case`)."""

from __future__ import annotations

from collections.abc import Iterator

import new_material
from case import Case
from rounds import CHATS, NEW, Setting, five_each, four_each, published, two_each


def new() -> Iterator[Case]:
    masked = {"mask_prompt": True}
    settings: tuple[Setting, ...] = (
        ("plain", "chats", {}, {}),
        ("edges", "edges", masked, {}),
        ("systems", "systems", masked, {}),
        ("tiny", "tiny", {**masked, "batch_size": 8}, {}),
        ("equal", "equal", {"max_seq_length": 32, "batch_size": 2}, {}),
        ("strings", "strings", masked, {}),
        ("strings_cut", "strings", {**masked, "max_seq_length": 33, "batch_size": 3}, {}),
        ("pairs", "pairs", masked, {}),
        ("texts", "texts", {}, {}),
        ("texts_cut", "texts", {"max_seq_length": 100, "batch_size": 5}, {}),
        ("sharegpt", "sharegpt", {"chat_feature": "conversations"}, {}),
        ("alpaca", "alpaca", {"prompt_feature": "instruction", "completion_feature": "output", **masked}, {}),
    )
    yield from NEW.each(settings, new_material.TOKENIZERS, 4)


def two() -> Iterator[Case]:
    masked = {"mask_prompt": True}
    settings: tuple[Setting, ...] = (
        *((name, name, masked, {}) for name in ("long", "empty", "oddities", "roles", "calls", "reasoning")),
        ("parts", "parts", {"max_seq_length": 64}, {}),
        ("strings", "strings", {**masked, "max_seq_length": 65}, {}),
        ("texts", "texts", {"max_seq_length": 300}, {}),
        ("whole", "reasoning", {"batch_size": 3}, {}),
    )
    yield from two_each(settings, 3)


def four() -> Iterator[Case]:
    masked = {"mask_prompt": True}
    words = {"prompt_feature": "question", "completion_feature": "answer"}
    settings: tuple[Setting, ...] = (
        *(("plain", data, {"batch_size": 2}, {}) for data in CHATS),
        *(("masked", data, masked, {}) for data in CHATS),
        ("kinds", "kinds", masked, {}),
        ("kinds_whole", "kinds", {}, {}),
        ("schemas", "schemas", masked, {}),
        ("questions", "questions", {**masked, "batch_size": 1}, {}),
        ("texts", "texts", {"batch_size": 3}, {}),
        ("cut_1", "middle", {**masked, "max_seq_length": 1, "batch_size": 2}, {}),
        ("cut_2", "texts", {"max_seq_length": 2, "batch_size": 2}, {}),
        ("cut_31", "thoughts", {"mask_prompt": 1, "max_seq_length": 31}, {}),
        ("one_column", "strings", {"prompt_feature": "answer", "completion_feature": "answer", **masked}, {}),
        ("turned", "strings", {"prompt_feature": "answer", "completion_feature": "question", "mask_prompt": "0"}, {}),
        ("context", "strings", {"text_feature": "context"}, {}),
        ("words", "numerals", {**words, **masked}, {}),
        ("counted", "numerals", {"prompt_feature": "count", "completion_feature": "score", "mask_prompt": [0]}, {}),
        ("dates", "dates", {**masked, "batch_size": 60}, {}),
        ("too_few", "dates", {"batch_size": 61}, {}),
        ("every", "everything", masked, {}),
        ("every_turn", "everything", {"prompt_feature": "none", "chat_feature": "conversations"}, {}),
        ("every_text", "everything", {"completion_feature": "none", "chat_feature": "none"}, {}),
        ("every_other", "everything", {"prompt_feature": "text", "completion_feature": "messages"}, {}),
        ("pictures", "pictures", masked, {}),
        ("agents", "agents", {"chat_feature": "conversations"}, {}),
    )
    yield from four_each(settings, 3)
    yield from published("published", (({}, {}), (masked, {})))


def five() -> Iterator[Case]:
    settings: list[Setting] = [
        *(
            (name, data, keys, {})
            for data in ("texts", "pairs", "blanks")
            for name, keys in (("plain", {}), ("masked", {"mask_prompt": True}))
        )
    ]
    yield from five_each(settings, 2)
