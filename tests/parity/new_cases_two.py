"""Every trainer on the second round of tokenizers and datasets of our own making (see `new_material_two`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

import cases_nemo_automodel as nemo
import cases_torchtune as tune
import cases_verl as verl_cases
import new_material_two as two
from case import Case
from new_cases import ALL, MESSAGES, SHAREGPT, SHAREGPT_AXOLOTL, Setting

RICH_ONLY = ("roles", "calls", "reasoning", "parts")
"""Datasets that only templates of `two.RICH_ONES` can write."""
PACKING = {"packing": True, "max_length": 150}
PACK = {"sequence_len": 300, "sample_packing": True, "curriculum_sampling": True, "excess_length_strategy": "truncate"}


def _case(name: str, data: str, tokenizer: str, config: Mapping[str, Any], dataset: Mapping[str, Any]) -> Case:
    return Case(f"two_{name}_{data}_{tokenizer}", f"two:{data}", f"two:{tokenizer}", config, dataset=dataset, batch=ALL)


def _each(settings: tuple[Setting, ...], tokenizers: tuple[str, ...], each: int) -> Iterator[Case]:
    """Every setting on `each` tokenizers that can write its rows, going on where the one before ended."""
    plain, rich = cycle(tokenizers), cycle(two.RICH_ONES)
    for name, data, config, dataset in settings:
        for _ in range(each):
            yield _case(name, data, next(rich if data in RICH_ONLY else plain), config, dataset)


def trl() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        *(
            (name, name, {"max_length": 64}, {})
            for name in ("long", "empty", "oddities", "roles", "calls", "reasoning")
        ),
        ("parts", "parts", {}, {}),
        ("sharegpt", "sharegpt", {"max_length": 2000, "pad_to_multiple_of": 32}, {}),
        ("strings", "strings", {"max_length": 80}, {}),
        ("texts", "texts", {"max_length": 300}, {}),
        ("bfd", "long", PACKING, {}),
        ("bfd", "reasoning", PACKING, {}),
        ("bfd_split", "texts", {**PACKING, "packing_strategy": "bfd_split"}, {}),
        ("wrapped", "strings", {**PACKING, "packing_strategy": "wrapped"}, {}),
        ("padding_free", "oddities", {"padding_free": True, "max_length": None}, {}),
    )
    yield from _each(settings, two.TOKENIZERS, 3)
    for data in ("reasoning", "calls", "parts", "empty"):
        yield _case("assistant_only", data, "only_end", {"assistant_only_loss": True, "max_length": 90}, {})


def axolotl() -> Iterator[Case]:
    cut = {"sequence_len": 128, "excess_length_strategy": "truncate"}
    thinking = {"split_thinking": True}
    settings: tuple[Setting, ...] = (
        ("long", "long", cut, {}),
        ("drop", "long", {"sequence_len": 700}, {}),
        ("empty", "empty", {"sequence_len": 512}, {}),
        ("oddities", "oddities", {"sequence_len": 512}, {}),
        ("roles", "roles", {"sequence_len": 512}, {}),
        ("calls", "calls", {"sequence_len": 1024}, {}),
        ("reasoning", "reasoning", {"sequence_len": 1024}, {}),
        ("split", "reasoning", {"sequence_len": 1024}, thinking),
        ("parts", "parts", {"sequence_len": 512}, {}),
        ("all", "reasoning", {"sequence_len": 512}, {"roles_to_train": ["user", "assistant"], "train_on_eos": "all"}),
        ("sharegpt", "sharegpt", {"sequence_len": 2048}, SHAREGPT_AXOLOTL),
        ("alpaca", "alpaca", cut, {"type": "alpaca"}),
        ("completion", "texts", {"sequence_len": 200}, {"type": "completion"}),
        ("pack", "long", PACK, {}),
        ("pack", "oddities", {**PACK, "sample_packing_sequentially": True}, {}),
        ("pack_flash", "reasoning", {**PACK, "attn_implementation": "flash_attention_2"}, {}),
    )
    yield from _each(settings, two.TOKENIZERS, 2)


def llamafactory() -> Iterator[Case]:
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
    coming = cycle(two.TOKENIZERS)
    for name, data, config, dataset in settings:
        for _ in range(3):
            template = next(templates)
            yield _case(f"{name}_{template}", data, next(coming), {"template": template, **config}, dataset)


def unsloth() -> Iterator[Case]:
    text = {"text_from": "messages"}
    settings: tuple[Setting, ...] = (
        *((name, name, {"max_length": 128}, {}) for name in ("long", "empty", "oddities", "roles", "calls", "parts")),
        *((f"{name}_text", name, {"max_length": 300}, text) for name in ("roles", "reasoning", "parts", "oddities")),
        ("strings", "strings", {"max_length": 200}, {}),
        ("texts", "texts", {"max_length": 500}, {}),
        ("bfd", "oddities", PACKING, text),
        ("bfd", "reasoning", PACKING, {}),
        ("wrapped", "strings", {**PACKING, "packing_strategy": "wrapped"}, {}),
    )
    yield from _each(settings, two.TOKENIZERS, 2)
    ask, reply = "<|im_start|>user\n", "<|im_start|>assistant\n"
    responses = {**text, "responses": {"instruction_part": ask, "response_part": reply}}
    for data in ("long", "empty", "oddities"):
        yield _case("responses", data, "bytes_two", {"max_length": 128}, responses)


def torchtune() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        *((name, name, {"max_seq_len": 100}, tune.CHAT) for name in ("long", "empty", "oddities", "parts")),
        ("sharegpt", "sharegpt", {}, tune.SHAREGPT),
        ("alpaca", "alpaca", {"max_seq_len": 64}, tune.ALPACA),
        ("packed", "oddities", {"max_seq_len": 400}, {**tune.CHAT, "packed": True}),
        ("packed", "parts", {"max_seq_len": 300}, {**tune.CHAT, "packed": True}),
        ("packed_split", "texts", {"max_seq_len": 100}, {**tune.TEXT, "packed": True, "split_across_pack": True}),
    )
    for name, data, config, dataset in settings:
        for tokenizer in two.BYTE_LEVEL:
            model = "llama3.llama3" if tokenizer == "bos_twice" else "qwen2_5.qwen2_5"
            block = {"_component_": f"torchtune.models.{model}_tokenizer", **config}
            yield _case(name, data, tokenizer, {"tokenizer": block}, dataset)


def mlx_lm() -> Iterator[Case]:
    masked = {"mask_prompt": True}
    settings: tuple[Setting, ...] = (
        *((name, name, masked, {}) for name in ("long", "empty", "oddities", "roles", "calls", "reasoning")),
        ("parts", "parts", {"max_seq_length": 64}, {}),
        ("strings", "strings", {**masked, "max_seq_length": 65}, {}),
        ("texts", "texts", {"max_seq_length": 300}, {}),
        ("whole", "reasoning", {"batch_size": 3}, {}),
    )
    yield from _each(settings, two.TOKENIZERS, 3)


def ms_swift() -> Iterator[Case]:
    long: dict[str, Any] = {"max_length": 4096}
    settings: tuple[Setting, ...] = (
        *((name, name, {"template": "qwen3", **long}, {}) for name in ("long", "empty", "oddities", "roles")),
        *((name, name, {"template": "qwen2_5", **long, "loss_scale": "hermes"}, {}) for name in ("calls", "reasoning")),
        ("parts", "parts", {"template": "llama3", "max_length": 64, "truncation_strategy": "left"}, {}),
        ("strings", "strings", {"template": "phi3", "max_length": 65}, {}),
        ("texts", "texts", {"template": "default", **long}, {}),
    )
    yield from _each(settings, two.TOKENIZERS, 3)


def nemo_automodel() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        *((name, name, {}, {}) for name in ("long", "empty", "oddities", "roles", "calls", "reasoning")),
        ("agents", "calls", {}, nemo.AGENT),
        ("thoughts", "reasoning", {}, {"mask_reasoning_content": True, "mask_generation_prompt": True}),
        ("parts", "parts", {}, nemo.cut(64)),
        ("strings", "strings", {}, {**nemo.PAIRS, **nemo.cut(65)}),
    )
    yield from _each(settings, two.TOKENIZERS, 3)


def verl() -> Iterator[Case]:
    long: dict[str, Any] = {"data.max_length": 4096}
    ignored = {**long, **verl_cases.IGNORE}
    settings: tuple[Setting, ...] = (
        *((name, name, long, {}) for name in ("long", "empty", "oddities", "roles", "calls", "reasoning")),
        *((f"{name}_ignored", name, ignored, {}) for name in ("oddities", "roles", "calls", "reasoning", "parts")),
        ("json", "calls", ignored, verl_cases.JSON),
        ("cut", "long", {"data.max_length": 100, "data.truncation": "left", "data.pad_mode": "right"}, {}),
    )
    yield from _each(settings, two.TOKENIZERS, 3)


CASES = {
    **{"trl": trl, "axolotl": axolotl, "llamafactory": llamafactory, "unsloth": unsloth, "torchtune": torchtune},
    "mlx-lm": mlx_lm,
    "ms-swift": ms_swift,
    "nemo-automodel": nemo_automodel,
    "verl": verl,
}


def cases(trainer: str) -> tuple[Case, ...]:
    """The cases of a trainer."""
    return tuple(CASES[trainer]())
