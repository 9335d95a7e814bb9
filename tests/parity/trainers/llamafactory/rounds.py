"""LLaMA-Factory on the rounds of tokenizers and datasets of our own making (see `rounds` beside `case`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import new_material
import new_material_two
from case import REPO, Case
from rounds import LLAMA, MINI, NEW, PHI, QWEN, THREE, TWO, Keys, Setting, five_each
from trainers.llamafactory.cases import MESSAGES, SHAREGPT


def new() -> Iterator[Case]:
    names = ("qwen", "llama3", "chatml", "phi", "mistral", "gemma", "zephyr", "default")
    templates = cycle(names)
    short = {"cutoff_len": 128}
    settings: tuple[Setting, ...] = (
        ("edges", "edges", {}, MESSAGES),
        ("systems", "systems", {"cutoff_len": 90}, MESSAGES),
        ("sharegpt", "sharegpt", {"mask_history": True}, SHAREGPT),
        ("alpaca", "alpaca", {}, {}),
        ("alpaca_prompt", "alpaca", {"train_on_prompt": True, "cutoff_len": 60}, {}),
        ("packing", "tiny", {**short, "packing": True}, MESSAGES),
        ("packing", "equal", {**short, "packing": True}, MESSAGES),
        ("packing_groups", "chats", {**short, "packing": True, "preprocessing_batch_size": 70}, MESSAGES),
        ("neat", "tiny", {**short, "neat_packing": True}, MESSAGES),
        ("neat", "alpaca", {"cutoff_len": 300, "neat_packing": True}, {}),
        ("pretrain", "texts", {"stage": "pt", "cutoff_len": 64}, {"columns": {"prompt": "text"}}),
    )
    for name, data, config, dataset in settings:
        coming = cycle(new_material.TOKENIZERS[new_material.TOKENIZERS.index("split") + len(name) % 9 :])
        for _ in range(3):
            template = next(templates)
            yield NEW.case(f"{name}_{template}", data, next(coming), {"template": template, **config}, dataset)


def two() -> Iterator[Case]:
    templates = cycle(("qwen", "llama3", "chatml", "mistral", "qwen3", "deepseek3", "gemma", "default"))
    settings: tuple[Setting, ...] = (
        ("long", "long", {"cutoff_len": 100}, MESSAGES),
        ("empty", "empty", {}, MESSAGES),
        ("oddities", "oddities", {"cutoff_len": 40}, MESSAGES),
        ("sharegpt", "sharegpt", {"mask_history": True, "cutoff_len": 300}, SHAREGPT),
        ("alpaca", "alpaca", {"cutoff_len": 120, "train_on_prompt": True}, {}),
        ("packing", "oddities", {"cutoff_len": 200, "packing": True}, MESSAGES),
        ("neat", "alpaca", {"cutoff_len": 512, "neat_packing": True}, {}),
        ("neat", "long", {"cutoff_len": 2000, "neat_packing": True}, MESSAGES),
        ("pretrain", "texts", {"stage": "pt", "cutoff_len": 77}, {"columns": {"prompt": "text"}}),
    )
    coming = cycle(new_material_two.TOKENIZERS)
    for name, data, config, dataset in settings:
        for _ in range(3):
            template = next(templates)
            yield TWO.case(f"{name}_{template}", data, next(coming), {"template": template, **config}, dataset)


def three() -> Iterator[Case]:
    tools = {"formatting": "sharegpt", "columns": {"messages": "conversations", "tools": "tools"}}
    settings: tuple[tuple[str, str, str, Keys, Keys], ...] = (
        ("qwen", "chat", QWEN, {"template": "qwen", "cutoff_len": 4096}, MESSAGES),
        ("llama3", "chat", LLAMA, {"template": "llama3", "cutoff_len": 100}, MESSAGES),
        ("phi", "chat", PHI, {"template": "phi", "cutoff_len": 4096}, MESSAGES),
        ("chatml", "blanks", MINI, {"template": "chatml", "cutoff_len": 512}, MESSAGES),
        ("history", "blanks", QWEN, {"template": "qwen", "mask_history": True, "cutoff_len": 256}, MESSAGES),
        ("prompt", "blanks", LLAMA, {"template": "llama3", "train_on_prompt": True}, MESSAGES),
        ("systems", "systems", QWEN, {"template": "qwen"}, MESSAGES),
        ("mistral", "sharegpt", LLAMA, {"template": "mistral", "cutoff_len": 2048}, SHAREGPT),
        ("gemma", "sharegpt", QWEN, {"template": "gemma", "cutoff_len": 300}, SHAREGPT),
        ("qwen3", "chat", QWEN, {"template": "qwen3", "cutoff_len": 4096}, MESSAGES),
        ("functions", "functions", QWEN, {"template": "qwen", "cutoff_len": 4096}, tools),
        ("functions", "functions", LLAMA, {"template": "llama3", "cutoff_len": 4096}, tools),
        ("alpaca", "alpaca", QWEN, {"template": "qwen", "cutoff_len": 200}, {}),
        ("alpaca", "alpaca", LLAMA, {"template": "llama3"}, {}),
        ("packing", "chat", QWEN, {"template": "qwen", "cutoff_len": 512, "packing": True}, MESSAGES),
        ("neat", "alpaca", LLAMA, {"template": "llama3", "cutoff_len": 512, "neat_packing": True}, {}),
        (
            "pretrain",
            "texts",
            QWEN,
            {"template": "qwen", "stage": "pt", "cutoff_len": 300},
            {"columns": {"prompt": "text"}},
        ),
    )
    for name, data, tokenizer, config, dataset in settings:
        yield THREE.case(name, data, tokenizer, config, dataset)


def five() -> Iterator[Case]:
    tools = {
        "formatting": "sharegpt",
        "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
    }
    templates: dict[str, Any] = json.loads(
        Path(REPO / "sftui" / "trainers" / "llamafactory" / "templates.json").read_text(encoding="utf-8")
    )["templates"]
    yield from five_each(
        (("by_" + name, "talks", {"template": name}, tools) for name in templates if "media" not in templates[name]),
        1,
        ("split", "headers"),
    )
    text = {"columns": {"prompt": "text"}}
    names = cycle(("default", "qwen", "llama3", "gemma"))
    ways: tuple[Keys, ...] = ({}, {"packing": True}, {"packing": False})
    stages: list[Setting] = [
        (
            f"pt_{template}_{cut}_{len(way) and way['packing']}",
            "texts",
            {"stage": "pt", "template": template, **way, "cutoff_len": cut},
            text,
        )
        for way in ways
        for cut in (16, 45, 512)
        for template in (next(names),)
    ]
    stages += [
        ("pt_talks", "talks", {"stage": "pt", "template": "qwen", "cutoff_len": 100, **way}, tools) for way in ways[1:]
    ]
    stages += [("pt_alpaca", "filled", {"stage": "pt", "template": "default", "cutoff_len": 64, **ways[2]}, {})]
    yield from five_each(stages, 2, new_material.TOKENIZERS)
    neat = {"neat_packing": True, "template": "qwen"}
    more: list[Setting] = [
        *((f"neat_{size}", "talks", {**neat, "cutoff_len": size}, tools) for size in (64, 100, 256)),
        *(("alpaca", data, {"template": "llama3"}, {}) for data in ("filled", "columns")),
    ]
    yield from five_each(more, 2)
