"""ms-swift on the rounds of tokenizers and datasets of our own making (see `rounds` beside `case`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import new_material
from case import Case
from rounds import CHATS, LLAMA, MINI, NEW, PHI, QWEN, REAL, THREE, Keys, Setting, five_each, four_each, two_each
from trainers.ms_swift import cases

from sftui.trainers.ms_swift import registry


def new() -> Iterator[Case]:
    long: dict[str, Any] = {"max_length": 4096}
    settings: tuple[Setting, ...] = (
        ("chatml", "chats", {"template": "chatml", **long}, {}),
        ("llama3", "edges", {"template": "llama3", **long}, {}),
        ("qwen3", "systems", {"template": "qwen3", **long}, {}),
        ("phi4", "tiny", {"template": "phi4", **long, "per_device_train_batch_size": 8}, {}),
        ("cut", "equal", {"template": "chatml", "max_length": 32, "truncation_strategy": "right"}, {}),
        ("strings", "strings", {"template": "gemma", **long}, {}),
        ("deleted", "strings", {"template": "default", "max_length": 33}, {}),
        ("pairs", "pairs", {"template": "qwen2_5", **long}, {}),
        ("texts", "texts", {"template": "chatml", **long, "use_chat_template": False, "loss_scale": "all"}, {}),
        ("sharegpt", "sharegpt", {"template": "glm4", **long, "loss_scale": "last_round"}, {}),
        ("alpaca", "alpaca", {"template": "deepseek_v3_1", **long}, {}),
    )
    yield from NEW.each(settings, new_material.TOKENIZERS, 4)


def two() -> Iterator[Case]:
    long: dict[str, Any] = {"max_length": 4096}
    settings: tuple[Setting, ...] = (
        *((name, name, {"template": "qwen3", **long}, {}) for name in ("long", "empty", "oddities", "roles")),
        *((name, name, {"template": "qwen2_5", **long, "loss_scale": "hermes"}, {}) for name in ("calls", "reasoning")),
        ("parts", "parts", {"template": "llama3", "max_length": 64, "truncation_strategy": "left"}, {}),
        ("strings", "strings", {"template": "phi3", "max_length": 65}, {}),
        ("texts", "texts", {"template": "default", **long}, {}),
    )
    yield from two_each(settings, 3)


def three() -> Iterator[Case]:
    long: dict[str, Any] = {"max_length": 8192}
    settings: tuple[tuple[str, str, str, Keys], ...] = (
        ("qwen2_5", "chat", QWEN, long),
        ("llama3", "chat", LLAMA, long),
        ("phi3", "chat", PHI, long),
        ("chatml", "chat", MINI, {"max_length": 100, "truncation_strategy": "right"}),
        ("qwen3", "blanks", QWEN, long),
        ("llama3", "blanks", LLAMA, {**long, "loss_scale": "last_round"}),
        ("qwen2_5", "systems", QWEN, long),
        ("qwen3", "reasoning", QWEN, long),
        ("deepseek_r1", "reasoning", QWEN, {**long, "loss_scale": "last_round"}),
        ("qwen2_5", "calls", QWEN, {**long, "loss_scale": "hermes"}),
        ("qwen2_5", "functions", QWEN, long),
        ("llama3", "functions", LLAMA, {**long, "loss_scale": "all"}),
        ("glm4", "functions", QWEN, long),
        ("gemma", "strings", MINI, long),
        ("phi4", "alpaca", LLAMA, {"max_length": 200, "truncation_strategy": "left"}),
        ("qwen2_5", "alpaca", QWEN, long),
        ("deepseek_v2_5", "sharegpt", QWEN, long),
        ("qwen2_5", "pairs", QWEN, long),
        ("qwen2_5", "texts", QWEN, {**long, "use_chat_template": False, "loss_scale": "all"}),
    )
    for template, data, tokenizer, config in settings:
        yield THREE.case(template, data, tokenizer, {"template": template, **config}, {})
    pack = {"packing": True, "max_length": 2048, "dataset_shuffle": False}
    yield THREE.case("packs", "chat", QWEN, {"template": "qwen2_5", **pack}, {})


def four() -> Iterator[Case]:
    long: dict[str, Any] = {"max_length": 4096}
    tried = {name for name, _ in cases.TEMPLATES}

    def rows_for(template: str) -> str:
        """Chats without tools where the template writes tools by code that sftui does not have, and says so."""
        return next(spoken if registry.TEMPLATES[template].agent_template in registry.OTHER_AGENTS else data)

    names = cycle(("chatml", "qwen3", "llama3", "qwen2_5", "glm4", "gemma3_text", "phi4", "deepseek_r1", "default"))
    data = cycle((*CHATS, "agents", "schemas", "shouted", "paired", "asked"))
    spoken = cycle(("blank", "thoughts", "marks", "middle"))
    asked = {"columns": '{"question": "query", "answer": "response"}'}
    yield from four_each(
        [(f"in_{one}", rows_for(one), {"template": one, **long}, {}) for one in registry.TEMPLATES if one not in tried],
        1,
    )
    rows = cycle(("schemas", "arguments", "bare_calls", "agents", "calls"))
    yield from four_each(
        [
            (f"by_{one}", next(rows), {"template": "qwen3", **long, "agent_template": one}, {})
            for one in registry.AGENTS
        ],
        1,
    )
    settings: list[Setting] = [
        *((template := next(names), data, {"template": template, **long}, {}) for data in (*CHATS, "agents", "kinds")),
        ("asked", "asked", {"template": "qwen2_5", **long}, {}),
        ("asked_last", "asked", {"template": "llama3", **long, "loss_scale": "last_round"}, {}),
        ("scaled", "scaled", {"template": "qwen2_5", **long}, {}),
        ("schemas", "schemas", {"template": "qwen2_5", **long}, {}),
        ("shouted", "shouted", {"template": "qwen2_5", **long}, {}),
        ("shouted_as_is", "shouted", {"template": "qwen2_5", **long, "disable_auto_column_mapping": True}, {}),
        ("paired", "paired", {"template": "chatml", **long}, {}),
        ("every", "everything", {"template": "chatml", **long}, {}),
        ("words", "numerals", {"template": "chatml", **long, **asked}, {}),
        ("counts", "numerals", {"template": "chatml", **long, "columns": '{"count": "query"}'}, {}),
        ("questions", "strings", {"template": "chatml", **long}, {}),
        ("turned", "strings", {"template": "qwen3", **long, "columns": {"context": "system"}}, {}),
        ("texts", "texts", {"template": "chatml", **long, "use_chat_template": False, "loss_scale": "all"}, {}),
        (
            "bare_last",
            "marks",
            {"template": "qwen3", **long, "use_chat_template": False, "loss_scale": "last_round"},
            {},
        ),
        ("hermes", "calls", {"template": "qwen2_5", **long, "loss_scale": "hermes"}, {}),
        ("scales", "marks", {"template": "qwen3", **long, "loss_scale": "all+hermes+ignore_empty_think"}, {}),
        ("scales_react", "marks", {"template": "chatml", **long, "loss_scale": "react+ignore_think_prefix"}, {}),
        (
            "scales_binary",
            "schemas",
            {"template": "qwen3", **long, "loss_scale": "qwen", "is_binary_loss_scale": True},
            {},
        ),
        ("react", "bare_calls", {"template": "chatml", **long, "agent_template": "react_en"}, {}),
        ("thinks", "thoughts", {"template": "qwen3", **long, "loss_scale": "ignore_empty_think"}, {}),
        ("thinks_not", "thoughts", {"template": "qwen3", **long, "enable_thinking": False}, {}),
        ("thinks_last", "thoughts", {"template": "deepseek_v3_1", **long, "loss_scale": "last_round"}, {}),
        ("kept", "thoughts", {"template": "qwen3", **long, "preserve_thinking": True, "loss_scale": "all"}, {}),
        ("system", "middle", {"template": "qwen2_5", **long, "system": ""}, {}),
        ("system_lines", "thoughts", {"template": "qwen2_5", **long, "system": " {{SYSTEM}}\\n{{QUERY}} "}, {}),
        ("right", "middle", {"template": "chatml", "max_length": 17, "truncation_strategy": "right"}, {}),
        ("left", "trained", {"template": "qwen3", "max_length": 17, "truncation_strategy": "left"}, {}),
        ("left_3", "thoughts", {"template": "chatml", "max_length": 3, "truncation_strategy": "left"}, {}),
        ("deleted", "lengthy", {"template": "chatml", "max_length": 300}, {}),
        ("packs", "lengthy", {"template": "qwen2_5", "max_length": 900, "packing": True, "dataset_shuffle": False}, {}),
        ("free", "trained", {"template": "llama3", **long, "padding_free": True}, {}),
        ("prefix", "blank", {"template": "qwen3", **long, "response_prefix": "<think>\\n"}, {}),
        ("prefix_none", "roles", {"template": "qwen3_thinking", **long, "response_prefix": ""}, {}),
        ("workers", "nulls", {"template": "qwen2_5", **long, "dataset_num_proc": 2, "strict": True}, {}),
    ]
    yield from four_each(settings, 2)
    several = (*CHATS, "schemas", "asked")
    yield from four_each([("real", one, {"template": next(names), **long}, {}) for one in several], 1, REAL)


def five() -> Iterator[Case]:
    long: dict[str, Any] = {"max_length": 4096}
    settings: list[Setting] = [
        *(
            (f"batch_{size}", data, {"template": template, **long, "per_device_train_batch_size": size, **more}, {})
            for size, template, more in (
                (2, "chatml", {}),
                (3, "qwen3", {"loss_scale": "last_round"}),
                (7, "llama3", {"loss_scale": "all"}),
                (4, "qwen2_5", {"padding_free": True}),
                (5, "gemma", {"max_length": 24, "truncation_strategy": "left"}),
            )
            for data in ("blanks", "pairs", "filled")
        ),
        ("texts", "texts", {"template": "chatml", **long, "use_chat_template": False, "loss_scale": "all"}, {}),
        ("packs", "blanks", {"template": "qwen2_5", "max_length": 64, "packing": True, "dataset_shuffle": False}, {}),
    ]
    yield from five_each(settings, 1)
