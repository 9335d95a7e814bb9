"""Every trainer on tokenizers and datasets of our own making (see `new_material`): all rows, packs and batches.

The datasets go round over the tokenizers, so that every tokenizer meets some and every setting several. Each case sends
all of its rows or packs through the trainer's own collator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import cycle
from typing import Any

import cases_nemo_automodel as nemo
import cases_torchtune as tune
import cases_verl as verl_cases
import new_material
from case import Case

ALL = {"size": 5, "count": 1_000_000}
NO_PAD = ("metaspace", "lower")
SHAREGPT_AXOLOTL = {
    "field_messages": "conversations",
    "message_property_mappings": {"role": "from", "content": "value"},
}
TAGS = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
MESSAGES = {
    "formatting": "sharegpt",
    "columns": {"messages": "messages"},
    "tags": {**TAGS, "system_tag": "system"},
}
SHAREGPT = {"formatting": "sharegpt", "columns": {"messages": "conversations"}}
MARKERS = {
    "bytes": ("<|im_start|>user\n", "<|im_start|>assistant\n"),
    "split": ("<|im_start|>user\n", "<|im_start|>assistant\n"),
    "headers": (
        "<|start_header_id|>user<|end_header_id|>\n\n",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "turns": ("<start_of_turn>user\n", "<start_of_turn>model\n"),
}
Setting = tuple[str, str, Mapping[str, Any], Mapping[str, Any]]
"""A name, the dataset, the trainer's own keys, and its description of the dataset."""


def new_case(name: str, data: str, tokenizer: str, config: Mapping[str, Any], dataset: Mapping[str, Any]) -> Case:
    return Case(f"new_{name}_{data}_{tokenizer}", f"new:{data}", f"new:{tokenizer}", config, dataset=dataset, batch=ALL)


def round_robin(
    settings: tuple[Setting, ...],
    tokenizers: tuple[str, ...],
    each: int,
    made: Callable[[str, str, str, Mapping[str, Any], Mapping[str, Any]], Case] = new_case,
) -> Iterator[Case]:
    """Every setting on `each` tokenizers, going on where the one before ended."""
    coming = cycle(tokenizers)
    for name, data, config, dataset in settings:
        for _ in range(each):
            yield made(name, data, next(coming), config, dataset)


def trl() -> Iterator[Case]:
    packing = {"packing": True, "max_length": 96}
    settings: tuple[Setting, ...] = (
        ("edges", "edges", {}, {}),
        ("systems", "systems", {}, {}),
        ("sharegpt", "sharegpt", {}, {}),
        ("strings", "strings", {}, {}),
        ("pairs", "pairs", {"max_length": 60}, {}),
        ("texts", "texts", {}, {}),
        ("ready", "ready", {"max_length": 64}, {}),
        ("multiple", "chats", {"pad_to_multiple_of": 16}, {}),
        ("padding_free", "chats", {"padding_free": True, "max_length": None}, {}),
        ("padding_free_multiple", "pairs", {"padding_free": True, "max_length": None, "pad_to_multiple_of": 8}, {}),
        ("bfd", "tiny", packing, {}),
        ("bfd", "equal", packing, {}),
        ("bfd", "strings", packing, {}),
        ("bfd", "ready", packing, {}),
        ("bfd_multiple", "chats", {**packing, "pad_to_multiple_of": 64}, {}),
        ("bfd_split", "texts", {**packing, "packing_strategy": "bfd_split"}, {}),
        ("bfd_split", "tiny", {**packing, "packing_strategy": "bfd_split", "max_length": 9}, {}),
        ("wrapped", "texts", {**packing, "packing_strategy": "wrapped"}, {}),
        ("wrapped", "tiny", {**packing, "packing_strategy": "wrapped", "max_length": 101}, {}),
        ("wrapped", "ready", {**packing, "packing_strategy": "wrapped", "max_length": 33}, {}),
    )
    yield from round_robin(settings, new_material.TOKENIZERS, 3)
    for data in ("chats", "edges", "tiny"):
        yield new_case("assistant_only", data, "generation", {"assistant_only_loss": True}, {})
        config = {"assistant_only_loss": True, "packing": True, "max_length": 128}
        yield new_case("assistant_only_bfd", data, "generation", config, {})


def axolotl() -> Iterator[Case]:
    long = {"sequence_len": 2048}
    pack = {"sequence_len": 256, "sample_packing": True, "excess_length_strategy": "truncate"}
    still = {**pack, "curriculum_sampling": True}
    ids = {"type": None}
    settings: tuple[Setting, ...] = (
        ("edges", "edges", long, {}),
        ("systems", "systems", long, {}),
        ("sharegpt", "sharegpt", long, SHAREGPT_AXOLOTL),
        ("alpaca", "alpaca", long, {"type": "alpaca"}),
        ("completion", "texts", {"sequence_len": 100}, {"type": "completion"}),
        ("ready", "ready", {"sequence_len": 200}, ids),
        ("drop", "chats", {"sequence_len": 80}, {}),
        ("pack_random", "chats", pack, {}),
        ("pack", "tiny", still, {}),
        ("pack_groups", "tiny", {**still, "sample_packing_group_size": 300, "sample_packing_bin_size": 7}, {}),
        ("pack_in_order", "chats", {**still, "sample_packing_sequentially": True}, {}),
        ("pack_real", "tiny", {**still, "multipack_real_batches": True, "micro_batch_size": 3}, {}),
        ("pack_two", "chats", {**still, "micro_batch_size": 2}, {}),
        ("pack_flash", "equal", {**still, "attn_implementation": "flash_attention_2"}, {}),
        ("pack_short", "alpaca", {**still, "pad_to_sequence_len": False}, {"type": "alpaca"}),
        ("pack_completion", "texts", still, {"type": "completion"}),
        ("pack_ready", "ready", still, ids),
    )
    for case in round_robin(settings, new_material.TOKENIZERS, 2):
        pad = {"special_tokens": {"pad_token": "</s>"}} if case.tokenizer[4:] in NO_PAD else {}
        yield replace(case, config={**case.config, **pad})


def llamafactory() -> Iterator[Case]:
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
            yield new_case(f"{name}_{template}", data, next(coming), {"template": template, **config}, dataset)


def unsloth() -> Iterator[Case]:
    packing = {"packing": True, "max_length": 96}
    text = {"text_from": "messages"}
    settings: tuple[Setting, ...] = (
        ("edges", "edges", {"max_length": 512}, {}),
        ("systems", "systems", {"max_length": 64}, {}),
        ("text", "chats", {"max_length": 100}, text),
        ("strings", "strings", {"max_length": 100}, {}),
        ("texts", "texts", {"max_length": 200}, {}),
        ("ready", "ready", {"max_length": 4096}, {}),
        ("bfd", "tiny", packing, {}),
        ("bfd", "equal", packing, text),
        ("bfd", "strings", packing, {}),
        ("bfd_split", "texts", {**packing, "packing_strategy": "bfd_split"}, {}),
        ("wrapped", "tiny", {**packing, "packing_strategy": "wrapped"}, text),
    )
    yield from round_robin(settings, new_material.TOKENIZERS, 3)
    for name, (ask, reply) in MARKERS.items():
        responses = {**text, "responses": {"instruction_part": ask, "response_part": reply}}
        for data in ("chats", "edges"):
            yield new_case("responses", data, name, {"max_length": 128}, responses)


def torchtune() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        ("edges", "edges", {}, tune.CHAT),
        ("systems", "systems", {"max_seq_len": 64}, tune.CHAT),
        ("sharegpt", "sharegpt", {}, tune.SHAREGPT),
        ("alpaca", "alpaca", {"max_seq_len": 90}, tune.ALPACA),
        ("texts", "texts", {}, tune.TEXT),
        ("packed", "tiny", {"max_seq_len": 128}, {**tune.CHAT, "packed": True}),
        ("packed", "equal", {"max_seq_len": 100}, {**tune.CHAT, "packed": True}),
        ("packed", "chats", {"max_seq_len": 200}, {**tune.CHAT, "packed": True}),
        ("packed", "alpaca", {"max_seq_len": 150}, {**tune.ALPACA, "packed": True}),
        ("packed_text", "texts", {"max_seq_len": 77}, {**tune.TEXT, "packed": True, "split_across_pack": True}),
        ("packed_whole", "texts", {"max_seq_len": 800}, {**tune.TEXT, "packed": True, "split_across_pack": False}),
    )
    for name, data, config, dataset in settings:
        for tokenizer in new_material.BYTE_LEVEL:
            model = "llama3.llama3" if tokenizer == "headers" else "qwen2_5.qwen2_5"
            block = {"_component_": f"torchtune.models.{model}_tokenizer", **config}
            yield new_case(name, data, tokenizer, {"tokenizer": block}, dataset)


def mlx_lm() -> Iterator[Case]:
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
    yield from round_robin(settings, new_material.TOKENIZERS, 4)


def ms_swift() -> Iterator[Case]:
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
    yield from round_robin(settings, new_material.TOKENIZERS, 4)


def nemo_automodel() -> Iterator[Case]:
    settings: tuple[Setting, ...] = (
        ("plain", "chats", {}, {}),
        ("edges", "edges", {}, {"mask_history": True}),
        ("systems", "systems", {}, {"mask_generation_prompt": True}),
        ("tiny", "tiny", {}, nemo.cut(24)),
        ("equal", "equal", {}, nemo.cut(32, padding="max_length")),
        ("strings", "strings", {}, nemo.PAIRS),
        ("strings_cut", "strings", {}, {**nemo.PAIRS, **nemo.cut(33)}),
        ("strings_chat", "strings", {}, {**nemo.PAIRS, "use_hf_chat_template": True}),
        ("sharegpt", "sharegpt", {}, {}),
        ("alpaca", "alpaca", {}, nemo.ALPACA),
        ("thd", "chats", nemo.packed(256, "thd"), {}),
        ("neat", "strings", nemo.packed(128, "neat"), nemo.PAIRS),
    )
    yield from round_robin(settings, new_material.TOKENIZERS, 4)


def verl() -> Iterator[Case]:
    cut = {"data.max_length": 24, "data.truncation": "right"}
    padded = {"data.max_length": 32, "data.truncation": "left", "data.pad_mode": "right"}
    settings: tuple[Setting, ...] = (
        ("plain", "chats", {}, {}),
        ("ignored", "chats", verl_cases.IGNORE, {}),
        ("edges", "edges", {}, {}),
        ("edges_ignored", "edges", verl_cases.IGNORE, {}),
        ("systems", "systems", {}, {}),
        ("tiny", "tiny", cut, {}),
        ("equal", "equal", padded, {}),
        ("equal_ignored", "equal", {**padded, **verl_cases.IGNORE}, {}),
        ("json", "systems", verl_cases.IGNORE, verl_cases.JSON),
        ("unread", "pairs", {}, {}),
    )
    yield from round_robin(settings, new_material.TOKENIZERS, 4)


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "trl": trl,
    "axolotl": axolotl,
    "llamafactory": llamafactory,
    "unsloth": unsloth,
    "torchtune": torchtune,
    "mlx-lm": mlx_lm,
    "ms-swift": ms_swift,
    "nemo-automodel": nemo_automodel,
    "verl": verl,
}


def cases(trainer: str) -> tuple[Case, ...]:
    """The cases of a trainer."""
    return tuple(CASES[trainer]())
