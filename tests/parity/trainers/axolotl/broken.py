"""Axolotl: settings and data that are wrong (see `broken`)."""

from __future__ import annotations

from broken import BOTS, BRACKETS, FLAGGED, ROWS, Broken, chat

BROKEN = (
    Broken("axolotl@0.19", "EOS004", ("own.eot_tokens",), ("stops",), {"tokenizer.eos_token": "<|endoftext|>"}),
    Broken("axolotl@0.19", "LAB002", ("mask.rule",), ("others",), {"mask.rule": "all"}),
    Broken("axolotl@0.19", "TRU006", ("length.max",), ("cut",), {"length.max": 32}),
    Broken("axolotl@0.19", "LAB010", ("data.message_keys",), ("message",), rows=FLAGGED, comes=("LAB009",)),
    Broken("axolotl@0.19", "ROL001", ("data.role_map",), ("message",), rows=BOTS),
    Broken(
        "axolotl@0.19",
        "EOS012",
        rows=(*ROWS[:2], chat(("user", "Who?"), ("assistant", "Me.</s>"), ("user", "So?"), ("assistant", "Yes."))),
        repair="strip-tokens",
    ),
    Broken("axolotl@0.18", "BND009", ("preset",), ("brackets",), rows=BRACKETS),
)
