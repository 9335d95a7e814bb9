"""Every trainer on the third round of datasets (see `new_material_three`): settings × real tokenizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cases_nemo_automodel as nemo
import cases_torchtune as tune
import cases_verl as verl_cases
from case import Case
from cases_unsloth import CHATML, LLAMA3
from new_cases import MESSAGES, SHAREGPT, SHAREGPT_AXOLOTL, Setting, round_robin

QWEN, LLAMA, PHI, MINI = "qwen2.5", "llama-3-8b-instruct", "phi-3-mini", "minimind"
LLAMA_PAD = {"special_tokens": {"pad_token": "<|end_of_text|>"}}
BATCHES = {"size": 4, "count": 20}
Keys = Mapping[str, Any]


def _case(name: str, data: str, tokenizer: str, config: Keys, dataset: Keys, template: str | None = None) -> Case:
    title = f"three_{name}_{data}_{tokenizer.replace(':', '_')}"
    return Case(title, f"three:{data}", tokenizer, config, template, dataset=dataset, batch=BATCHES)


def trl() -> Iterator[Case]:
    packing = {"packing": True, "max_length": 512}
    answers = {"assistant_only_loss": True}
    settings: tuple[Setting, ...] = (
        ("plain", "chat", {"max_length": 4096}, {}),
        ("cut", "blanks", {"max_length": 100}, {}),
        ("pairs", "pairs", {"max_length": 300}, {}),
        ("strings", "strings", {"max_length": 256}, {}),
        ("texts", "texts", {"max_length": 700}, {}),
        ("bfd", "chat", packing, {}),
        ("wrapped", "strings", {**packing, "packing_strategy": "wrapped"}, {}),
    )
    yield from round_robin(settings, (QWEN, LLAMA, PHI, MINI, "two:greedy"), 2, _case)
    yield _case("systems", "systems", QWEN, {}, {})
    for data, template in (
        ("chat", "trl_qwen3_training"),
        ("blanks", "trl_qwen2_5_training"),
        ("calls", "trl_qwen3_training"),
        ("reasoning", "trl_qwen3_5_think_training"),
    ):
        yield _case("answers", data, QWEN, {**answers, "max_length": 1024}, {}, template)
    yield _case("answers", "chat", LLAMA, {**answers, "max_length": 4096}, {}, "trl_llama3_training")
    yield _case("calls", "calls", QWEN, {"max_length": 4096}, {}, "trl_qwen3")
    yield _case("reasoning_pack", "reasoning", QWEN, packing, {}, "trl_qwen3")


def unsloth() -> Iterator[Case]:
    text = {"text_from": "messages"}
    long = {"max_length": 2048}
    last = {"last_response_only": True}
    for tokenizer, marks in ((QWEN, CHATML), (LLAMA, LLAMA3), (MINI, CHATML)):
        yield _case("responses", "chat", tokenizer, long, {**text, "responses": marks})
    yield _case("responses_cut", "blanks", QWEN, {"max_length": 90}, {**text, "responses": CHATML})
    yield _case("responses_last", "blanks", LLAMA, long, {**text, "responses": {**LLAMA3, **last}})
    yield _case("responses_systems", "systems", QWEN, long, {**text, "responses": CHATML})
    yield _case("responses_think", "reasoning", QWEN, long, {**text, "responses": CHATML}, "trl_qwen3")
    yield _case("responses_messages", "calls", QWEN, long, {"responses": CHATML}, "trl_qwen3")
    yield _case("text", "chat", PHI, long, text)
    yield _case("messages", "blanks", QWEN, long, {})
    yield _case("pairs", "pairs", LLAMA, {"max_length": 300}, {})
    yield _case("strings", "strings", MINI, {"max_length": 256}, {})
    yield _case("strings", "strings", PHI, long, {})
    yield _case("texts", "texts", LLAMA, {"max_length": 700}, {})
    yield _case("bfd", "chat", QWEN, {"packing": True, "max_length": 512}, {**text, "responses": CHATML})
    yield _case("wrapped", "strings", LLAMA, {"packing": True, "packing_strategy": "wrapped", "max_length": 300}, {})


def torchtune() -> Iterator[Case]:
    pack = {"packed": True}
    settings: tuple[Setting, ...] = (
        ("chat", "chat", {}, tune.CHAT),
        ("cut", "chat", {"max_seq_len": 100}, tune.CHAT),
        ("inputs", "blanks", {"max_seq_len": 2000}, {**tune.CHAT, "train_on_input": True}),
        ("blanks", "blanks", {}, tune.CHAT),
        ("sharegpt", "sharegpt", {"max_seq_len": 512}, tune.SHAREGPT),
        ("alpaca", "alpaca", {"max_seq_len": 300}, {**tune.ALPACA, "train_on_input": False}),
        ("texts", "texts", {"max_seq_len": 400}, tune.TEXT),
        ("packed", "chat", {"max_seq_len": 600}, {**tune.CHAT, **pack}),
        ("packed", "texts", {"max_seq_len": 300}, {**tune.TEXT, **pack, "split_across_pack": True}),
    )
    for name, data, config, dataset in settings:
        for tokenizer, model in ((QWEN, "qwen2_5.qwen2_5"), (LLAMA, "llama3.llama3")):
            block = {"_component_": f"torchtune.models.{model}_tokenizer", **config}
            yield _case(name, data, tokenizer, {"tokenizer": block}, dataset)


def axolotl() -> Iterator[Case]:
    long = {"sequence_len": 4096}
    cut = {"sequence_len": 128, "excess_length_strategy": "truncate"}
    pack = {**cut, "sequence_len": 512, "sample_packing": True, "curriculum_sampling": True}
    settings: tuple[tuple[str, str, str, Keys, Keys, str | None], ...] = (
        ("chat", "chat", QWEN, long, {}, None),
        ("chat", "chat", LLAMA, {**long, **LLAMA_PAD}, {}, None),
        ("chat", "chat", PHI, long, {}, None),
        ("chat", "chat", MINI, cut, {}, None),
        ("blanks", "blanks", QWEN, cut, {}, None),
        ("blanks", "blanks", LLAMA, {**long, **LLAMA_PAD}, {"train_on_eos": "all"}, None),
        ("systems", "systems", QWEN, long, {}, None),
        ("roles", "systems", QWEN, long, {"roles_to_train": ["user", "system"], "train_on_eos": "last"}, None),
        ("calls", "calls", QWEN, long, {}, "trl_qwen3"),
        ("reasoning", "reasoning", QWEN, long, {}, "trl_qwen3"),
        ("split", "reasoning", QWEN, long, {"split_thinking": True}, "trl_qwen3"),
        ("inputs", "chat", QWEN, {**long, "train_on_inputs": True}, {}, None),
        ("sharegpt", "sharegpt", MINI, long, SHAREGPT_AXOLOTL, None),
        ("alpaca", "alpaca", LLAMA, {**long, **LLAMA_PAD}, {"type": "alpaca"}, None),
        ("alpaca", "alpaca", PHI, cut, {"type": "alpaca"}, None),
        ("completion", "texts", QWEN, {"sequence_len": 300}, {"type": "completion"}, None),
        ("pack", "chat", QWEN, pack, {}, None),
        ("pack", "alpaca", QWEN, pack, {"type": "alpaca"}, None),
    )
    for name, data, tokenizer, config, dataset, template in settings:
        yield _case(name, data, tokenizer, config, dataset, template)


def llamafactory() -> Iterator[Case]:
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
        yield _case(name, data, tokenizer, config, dataset)


def verl() -> Iterator[Case]:
    long: dict[str, Any] = {"data.max_length": 4096}
    ignored = {**long, **verl_cases.IGNORE}
    for data in ("chat", "blanks", "systems"):
        for tokenizer in (QWEN, LLAMA, MINI):
            yield _case("plain", data, tokenizer, long, {})
    yield _case("ignored", "chat", PHI, ignored, {})
    yield _case("ignored", "blanks", PHI, ignored, {})
    yield _case("json", "chat", QWEN, long, verl_cases.JSON)
    yield _case("cut", "chat", LLAMA, {"data.max_length": 100, "data.truncation": "right"}, {})
    for data in ("calls", "reasoning"):
        yield _case("ignored", data, QWEN, ignored, {}, "trl_qwen3")
    yield _case("unread", "pairs", QWEN, long, {})


def nemo_automodel() -> Iterator[Case]:
    thoughts = {"mask_reasoning_content": True, "mask_generation_prompt": True}
    for tokenizer in (QWEN, LLAMA, PHI):
        yield _case("plain", "chat", tokenizer, {}, {})
        yield _case("plain", "blanks", tokenizer, {}, {})
        yield _case("columns", "strings", tokenizer, {}, nemo.PAIRS)
    yield _case("systems", "systems", QWEN, {}, {})
    yield _case("last", "chat", MINI, {}, nemo.LAST)
    yield _case("cut", "chat", LLAMA, {}, nemo.cut(100))
    yield _case("tags", "chat", QWEN, {}, {**thoughts, **nemo.by("trl_qwen3_training")})
    yield _case("thoughts", "reasoning", QWEN, {}, {**thoughts, **nemo.by("trl_qwen3_training")})
    yield _case("sharegpt", "sharegpt", MINI, {}, {})
    yield _case("alpaca", "alpaca", LLAMA, {}, {**nemo.ALPACA, **nemo.cut(200)})
    yield _case("alpaca_chat", "alpaca", QWEN, {}, {**nemo.ALPACA, "use_hf_chat_template": True})
    yield _case("calls", "calls", QWEN, {}, {})
    yield _case("agents", "functions", QWEN, {}, nemo.AGENT)
    yield _case("agents_fit", "functions", QWEN, {}, {**nemo.AGENT, "truncate_history": True, **nemo.cut(200)})
    yield _case("thd", "chat", QWEN, nemo.packed(1024, "thd"), {})
    yield _case("neat", "strings", LLAMA, nemo.packed(512, "neat"), nemo.PAIRS)


def ms_swift() -> Iterator[Case]:
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
        yield _case(template, data, tokenizer, {"template": template, **config}, {})
    pack = {"packing": True, "max_length": 2048, "dataset_shuffle": False}
    yield _case("packs", "chat", QWEN, {"template": "qwen2_5", **pack}, {})


CASES = {
    **{"trl": trl, "axolotl": axolotl, "llamafactory": llamafactory, "unsloth": unsloth, "torchtune": torchtune},
    "verl": verl,
    "ms-swift": ms_swift,
    "nemo-automodel": nemo_automodel,
}


def cases(trainer: str) -> tuple[Case, ...]:
    """The cases of a trainer."""
    return tuple(CASES[trainer]())
