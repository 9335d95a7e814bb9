"""Every trainer on rows of which one late one brings what those before it lack (see late_rows)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import late_rows
from case import Case

from sftui.trainers.nemo_automodel.config import TARGETS

CHATS = tuple(kind for kind in late_rows.KINDS if late_rows.KINDS[kind][0](0).keys() >= {"messages"})
SHAREGPT = ("sharegpt_system", "sharegpt_tools")
ALPACA = ("input", "alpaca_system", "alpaca_history", "alpaca_all")
QUERIES = tuple(kind for kind in late_rows.KINDS if kind.startswith("query_"))
PAIRS = tuple(kind for kind in late_rows.KINDS if kind.startswith("pair_"))
TEXTS = tuple(kind for kind in late_rows.KINDS if kind.startswith("text_") and kind != "text_beside")
_TAGS = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"} | {
    "system_tag": "system"
}
_ALL = {"prompt": "instruction", "query": "input", "response": "output", "system": "system", "history": "history"}
_LF_CHAT = {
    "formatting": "sharegpt",
    "columns": {"messages": "messages", "system": "system", "tools": "tools"},
    "tags": _TAGS,
}
_LF_PLAIN = {"formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": _TAGS}
_LF_SHARE = {"formatting": "sharegpt", "columns": {"messages": "conversations", "system": "system", "tools": "tools"}}
_TUNE: dict[str, Any] = {"tokenizer": {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer"}}
_CHAT = {
    "_component_": "torchtune.datasets.chat_dataset",
    "conversation_column": "messages",
    "conversation_style": "openai",
}
_CHATML = {"instruction_part": "<|im_start|>user\n", "response_part": "<|im_start|>assistant\n"}

Setting = tuple[tuple[str, ...], str, Mapping[str, Any], Mapping[str, Any]]
"""Kinds of rows (verl: those that pandas stores as Parquet), what the setting is called, the trainer's keys, and its
description of the dataset."""


def _settings() -> dict[str, tuple[Setting, ...]]:
    swift = {"template": "qwen2_5", "max_length": 4096}
    qwen = {"template": "qwen"}
    return {
        "trl": (
            ((*CHATS, *PAIRS, *TEXTS, *SHAREGPT), "default", {}, {}),
            (CHATS, "answers", {"assistant_only_loss": True}, {}),
        ),
        "axolotl": (
            (CHATS, "chat", {"sequence_len": 2048}, {}),
            (
                SHAREGPT,
                "sharegpt",
                {"sequence_len": 2048},
                {
                    "field_messages": "conversations",
                    "message_property_mappings": {"role": "from", "content": "value"},
                },
            ),
            (ALPACA, "alpaca", {"sequence_len": 2048}, {"type": "alpaca"}),
            (TEXTS, "completion", {"sequence_len": 2048}, {"type": "completion"}),
        ),
        "llamafactory": (
            (("tools_text", "system", "nested"), "named", qwen, _LF_CHAT),
            (CHATS, "plain", qwen, _LF_PLAIN),
            (SHAREGPT, "named", qwen, _LF_SHARE),
            (ALPACA, "default", qwen, {}),
            (ALPACA, "named", qwen, {"columns": _ALL}),
        ),
        "llamafactory-v1": (
            (ALPACA, "alpaca", {}, {"converter": "alpaca"}),
            (SHAREGPT, "share", {}, {"converter": "sharegpt"}),
        ),
        "unsloth": (
            (CHATS, "script", {"max_length": 2048}, {"text_from": "messages", "responses": _CHATML}),
            ((*CHATS, *PAIRS, *TEXTS), "default", {"max_length": 2048}, {}),
        ),
        "torchtune": (
            (CHATS, "chat", _TUNE, _CHAT),
            (ALPACA, "alpaca", _TUNE, {"_component_": "torchtune.datasets.alpaca_dataset"}),
            (TEXTS, "text", _TUNE, {"_component_": "torchtune.datasets.text_completion_dataset", "column": "text"}),
        ),
        "mlx-lm": (((*CHATS, *PAIRS, *TEXTS), "default", {}, {}),),
        "verl": ((tuple(kind for kind in CHATS if kind not in ("parts", "number")), "default", {}, {}),),
        "ms-swift": (((*CHATS, *SHAREGPT, *ALPACA, *QUERIES, *PAIRS, "rejected"), "default", swift, {}),),
        "nemo-automodel": (
            (CHATS, "chat", {}, {}),
            (CHATS, "agent", {}, {"_target_": TARGETS["agent"]}),
        ),
    }


def late_cases(trainer: str) -> tuple[Case, ...]:
    """The cases of a trainer; those of 32 rows before the late one are for CI under some."""
    short = {32} if trainer in ("ms-swift", "nemo-automodel", "mlx-lm") else set[int]()
    found = [
        Case(f"late_{name}_{kind}_{n}", f"late_{kind}_{n}", "qwen2.5", config, dataset=dataset, long=n not in short)
        for kinds, name, config, dataset in _settings().get(trainer, ())
        for kind in kinds
        for n in late_rows.BEFORE
    ]
    if trainer == "ms-swift":
        config = {"template": "qwen2_5", "max_length": 4096}
        sets = [name for name in late_rows.SETS if name.startswith("rejected_")]
        found += [Case(name, name, "qwen2.5", config) for name in sets]
        found += [Case(f"{name}_strict", name, "qwen2.5", {**config, "strict": True}) for name in sets]
    return tuple(found)
