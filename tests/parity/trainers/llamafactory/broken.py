"""LLaMA-Factory: settings and data that are wrong (see `broken`)."""

from __future__ import annotations

from broken import NEIGHBOURS, Broken

BROKEN = (
    Broken(
        "llamafactory@0.9",
        "LAB009",
        ("mask.turns",),
        ("answers",),
        {"render.template": "llamafactory/qwen", "mask.turns": "last"},
    ),
    Broken(
        "llamafactory@0.9",
        "LAB002",
        ("mask.rule",),
        ("others",),
        {"render.template": "llamafactory/qwen", "mask.rule": "all"},
    ),
    Broken(
        "llamafactory@0.9",
        "TRU003",
        ("length.max",),
        ("cut",),
        {"render.template": "llamafactory/qwen", "length.max": 30},
    ),
    Broken(
        "llamafactory@0.9",
        "PAC001",
        ("pack.strategy", "pack.isolate"),
        (),
        {"render.template": "llamafactory/qwen", "pack.strategy": "knapsack", "length.max": 128},
    ),
    Broken(
        "llamafactory@0.9",
        "TRU006",
        changes={"render.template": "llamafactory/qwen"},
        rows=NEIGHBOURS,
        repair="merge-neighbours",
    ),
)
