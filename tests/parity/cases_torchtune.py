"""torchtune: its dataset builders with the Qwen2.5 and Llama 3 tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from case import Case

QWEN, LLAMA = "qwen2.5", "llama-3-8b-instruct"
SPECIAL = {"special_tokens_path": "tokenizer.json"}
CHAT = {
    "_component_": "torchtune.datasets.chat_dataset",
    "conversation_column": "messages",
    "conversation_style": "openai",
}
SHAREGPT = {**CHAT, "conversation_column": "conversations", "conversation_style": "sharegpt"}
INSTRUCT = {"_component_": "torchtune.datasets.instruct_dataset"}
ALPACA = {"_component_": "torchtune.datasets.alpaca_dataset"}
TEXT = {"_component_": "torchtune.datasets.text_completion_dataset", "column": "text"}


def qwen(**more: Any) -> dict[str, Any]:
    return {"tokenizer": {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer", **more}}


def qwen2(**more: Any) -> dict[str, Any]:
    return {"tokenizer": {"_component_": "torchtune.models.qwen2.qwen2_tokenizer", **more}}


def llama(**more: Any) -> dict[str, Any]:
    return {"tokenizer": {"_component_": "torchtune.models.llama3.llama3_tokenizer", **more}}


CASES = (
    Case("default_chat_qwen", "turkish", QWEN, qwen(), dataset=CHAT, default=True),
    Case("default_chat_llama", "turkish.system", LLAMA, llama(), dataset=CHAT, default=True),
    Case("default_instruct_qwen", "wwdc.input_output", QWEN, qwen(), dataset=INSTRUCT, default=True),
    Case("default_alpaca_llama", "alpaca", LLAMA, llama(), dataset=ALPACA, default=True),
    Case("default_alpaca_qwen", "alpaca", QWEN, qwen(), dataset=ALPACA, default=True),
    Case("default_sharegpt_llama", "turkish.sharegpt", LLAMA, llama(), dataset=SHAREGPT, default=True),
    Case("default_tricky_qwen", "tricky", QWEN, qwen(), dataset=CHAT, default=True),
    Case("default_tricky_llama", "tricky", LLAMA, llama(), dataset=CHAT, default=True),
    Case("default_text_qwen", "wikisql", QWEN, qwen(), dataset=TEXT, default=True),
    # special tokens: torchtune's own, or those of a tokenizer.json
    Case("own_special_tokens", "special_texts", QWEN, qwen(), dataset=CHAT),
    Case("own_special_tokens_thinking", "special_texts", "made:qwen3", qwen(), dataset=CHAT),
    Case("own_special_tokens_qwen2", "special_texts", "made:qwen3", qwen2(), dataset=CHAT),
    Case("own_special_tokens_llama", "special_texts", LLAMA, llama(), dataset=CHAT),
    Case("own_special_tokens_other", "special_texts", "minimind", qwen(), dataset=CHAT),
    Case("special_tokens_path", "special_texts", QWEN, qwen(**SPECIAL), dataset=CHAT),
    Case("special_tokens_path_thinking", "special_texts", "made:qwen3", qwen(**SPECIAL), dataset=CHAT),
    Case("special_tokens_path_qwen2", "special_texts", "made:qwen3", qwen2(**SPECIAL), dataset=CHAT),
    Case("special_tokens_path_text", "special_texts.joined", "made:qwen3", qwen(**SPECIAL), dataset=TEXT),
    Case("special_tokens_path_lacks_llama", "special_texts", LLAMA, llama(**SPECIAL), dataset=CHAT),
    Case("special_tokens_path_lacks", "special_texts", "minimind", qwen(**SPECIAL), dataset=CHAT),
    # masks
    Case("train_on_input_qwen", "turkish.system", QWEN, qwen(), dataset={**CHAT, "train_on_input": True}),
    Case("train_on_input_llama", "turkish.system", LLAMA, llama(), dataset={**CHAT, "train_on_input": True}),
    Case("alpaca_answers_only", "alpaca", QWEN, qwen(), dataset={**ALPACA, "train_on_input": False}),
    Case(
        "instruct_train_on_input",
        "wwdc.input_output",
        LLAMA,
        llama(),
        dataset={**INSTRUCT, "train_on_input": True},
        limit=300,
    ),
    Case(
        "instruct_columns",
        "gsm8k",
        QWEN,
        qwen(),
        dataset={**INSTRUCT, "column_map": {"input": "question", "output": "answer"}},
        limit=300,
    ),
    # system
    Case(
        "new_system_qwen", "turkish.system", QWEN, qwen(), dataset={**CHAT, "new_system_prompt": "Be brief."}, limit=200
    ),
    Case(
        "new_system_instruct",
        "wwdc.input_output",
        LLAMA,
        llama(),
        dataset={**INSTRUCT, "new_system_prompt": "Be brief."},
        limit=200,
    ),
    # length
    Case("length_set_not_reached_qwen", "turkish", QWEN, qwen(max_seq_len=4096), dataset=CHAT),
    Case("length_set_not_reached_llama", "turkish", LLAMA, llama(max_seq_len=4096), dataset=CHAT),
    Case("length_cut_qwen", "turkish.system", QWEN, qwen(max_seq_len=64), dataset=CHAT),
    Case("length_cut_llama", "turkish.system", LLAMA, llama(max_seq_len=64), dataset=CHAT),
    Case("length_cut_text", "c4", QWEN, qwen(max_seq_len=100), dataset=TEXT),
    Case("text_without_eos", "wikisql", LLAMA, llama(), dataset={**TEXT, "add_eos": False}, limit=200),
    # prompt templates
    Case(
        "prompt_template_chatml",
        "turkish.system",
        LLAMA,
        llama(prompt_template="torchtune.data.ChatMLTemplate"),
        dataset=CHAT,
        limit=200,
    ),
    Case(
        "prompt_template_qa",
        "wwdc.input_output",
        QWEN,
        qwen(prompt_template="torchtune.data.QuestionAnswerTemplate"),
        dataset=INSTRUCT,
        limit=200,
    ),
    Case(
        "prompt_template_own",
        "wwdc.input_output",
        QWEN,
        qwen(prompt_template={"user": ["Q: ", "\nA: "], "assistant": ["", ""]}),
        dataset=INSTRUCT,
        limit=200,
    ),
    # packing and the collator
    Case(
        "packed_qwen",
        "turkish",
        QWEN,
        qwen(max_seq_len=512),
        dataset={**CHAT, "packed": True},
        batch={"size": 2, "count": 2},
    ),
    Case(
        "packed_text",
        "c4",
        LLAMA,
        llama(max_seq_len=256),
        dataset={**TEXT, "packed": True},
        batch={"size": 2, "count": 2},
    ),
    Case("packed_too_long", "turkish", QWEN, qwen(max_seq_len=64), dataset={**CHAT, "packed": True}),
    # refused rows
    Case("broken_turns", "turkish.broken", QWEN, qwen(), dataset=CHAT, limit=40),
    Case("tools", "glaive.openai", QWEN, qwen(), dataset=CHAT, limit=20),
)


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as the config of a torchtune recipe."""
    tune = dict(case.config)
    files = {"path": f"{tokenizer}/vocab.json", "merges_file": f"{tokenizer}/merges.txt"}
    block = {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer", **files, **tune.pop("tokenizer", {})}
    return {
        "tokenizer": block,
        "dataset": {**case.dataset, "source": "json", "data_files": str(case.data_path()), "split": "train"},
        **tune,
    }
