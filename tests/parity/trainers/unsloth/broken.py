"""Unsloth: settings and data that are wrong (see `broken`)."""

from __future__ import annotations

from broken import APART, SPACES, Broken

BROKEN = (
    Broken("unsloth@2026.10", "LAB002", ("mask.rule",), ("others",)),
    Broken("unsloth@2026.10", "TRU002", ("length.max",), ("cut",), {"length.max": 24}, comes=("EOS008",)),
    Broken("unsloth@2026.10", "PAC001", APART, (), {"pack.strategy": "wrapped", "length.max": 64}),
    Broken("unsloth@2026.10", "CON004", rows=SPACES, repair="trim"),
)
