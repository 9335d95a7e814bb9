"""Every trainer on rows of which one late one brings what those before it lack (see late_rows)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import late_rows
from case import Case
from trainers import module_of

CHATS = tuple(kind for kind in late_rows.KINDS if late_rows.KINDS[kind][0](0).keys() >= {"messages"})
SHAREGPT = ("sharegpt_system", "sharegpt_tools")
ALPACA = ("input", "alpaca_system", "alpaca_history", "alpaca_all")
QUERIES = tuple(kind for kind in late_rows.KINDS if kind.startswith("query_"))
PAIRS = tuple(kind for kind in late_rows.KINDS if kind.startswith("pair_"))
TEXTS = tuple(kind for kind in late_rows.KINDS if kind.startswith("text_") and kind != "text_beside")

Setting = tuple[tuple[str, ...], str, Mapping[str, Any], Mapping[str, Any]]
"""Kinds of rows (verl: those that pandas stores as Parquet), what the setting is called, the trainer's keys, and its
description of the dataset."""


def late_cases(trainer: str) -> tuple[Case, ...]:
    """The cases of a trainer, `LATE` of its `cases`; with `LATE_IN_CI` those of 32 rows before the late one are no
    `long` ones."""
    module = module_of(trainer, "cases")
    short = {32} if getattr(module, "LATE_IN_CI", False) else set[int]()
    return tuple(
        Case(f"late_{name}_{kind}_{n}", f"late_{kind}_{n}", "qwen2.5", config, dataset=dataset, long=n not in short)
        for kinds, name, config, dataset in module.LATE
        for kind in kinds
        for n in late_rows.BEFORE
    )
