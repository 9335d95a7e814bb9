"""torchtune: its dataset builders with the Qwen2.5 and Llama 3 tokenizers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import late_cases
import sentencepiece_models
from case import Case
from late_cases import Setting

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
GSM8K = {**INSTRUCT, "column_map": {"input": "question", "output": "answer"}}
TEXT = {"_component_": "torchtune.datasets.text_completion_dataset", "column": "text"}


def qwen(**more: Any) -> dict[str, Any]:
    return {"tokenizer": {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer", **more}}


def qwen2(**more: Any) -> dict[str, Any]:
    return {"tokenizer": {"_component_": "torchtune.models.qwen2.qwen2_tokenizer", **more}}


def llama(**more: Any) -> dict[str, Any]:
    return {"tokenizer": {"_component_": "torchtune.models.llama3.llama3_tokenizer", **more}}


def pieces(model: str, **more: Any) -> dict[str, Any]:
    home = {"phi3_mini": "phi3"}.get(model, model)
    name = "gemma_tokenizer" if model == "gemma2" else f"{model}_tokenizer"
    return {"tokenizer": {"_component_": f"torchtune.models.{home}.{name}", **more}}


PIECE_MODELS = ("gemma", "llama2", "mistral", "phi3_mini")
PIECES = tuple(f"pieces:{name}" for name in (*sentencepiece_models.TRAINED, "phi3", "t5") if name != "no_bos")
QA, CHATML_TEMPLATE = "torchtune.data.QuestionAnswerTemplate", "torchtune.data.ChatMLTemplate"
PIECE_SETTINGS: tuple[tuple[str, str, str, dict[str, Any], dict[str, Any]], ...] = (
    # name, data, and for Mistral, which takes no system messages, other data; the tokenizer's block, the dataset's
    ("edges", "new:edges", "new:edges", {}, CHAT),
    ("chats", "new:chats", "new:chats", {}, CHAT),
    ("systems", "new:systems", "new:chats", {}, {**CHAT, "train_on_input": True}),
    ("systems_cut", "new:systems", "new:chats", {"max_seq_len": 40}, {**CHAT, "train_on_input": True}),
    ("sharegpt", "new:sharegpt", "new:sharegpt", {"max_seq_len": 64, "prompt_template": None}, SHAREGPT),
    ("long", "new:chats", "new:chats", {"max_seq_len": 4096}, CHAT),
    ("alpaca", "new:alpaca", "new:alpaca", {"max_seq_len": 90}, ALPACA),
    ("texts", "new:texts", "new:texts", {}, TEXT),
    ("texts_cut", "new:texts", "new:texts", {"max_seq_len": 33}, {**TEXT, "add_eos": False}),
    ("chatml", "new:systems", "new:systems", {"prompt_template": CHATML_TEMPLATE}, CHAT),
    ("tricky", "tricky", "tricky", {"prompt_template": None}, CHAT),
    ("new_system", "turkish.system", "turkish", {}, {**CHAT, "new_system_prompt": "Kısa konuş."}),
    ("parts", "two:parts", "two:parts", {"max_seq_len": 50}, CHAT),
)


def piece_cases() -> Iterator[Case]:
    """Every SentencePiece tokenizer on every model file, the settings going round."""
    coming = cycle(PIECE_SETTINGS)
    for tokenizer in PIECES:
        for model in PIECE_MODELS:
            for name, data, without_system, block, dataset in islice(coming, 3):
                rows = without_system if model == "mistral" else data
                limit = 150 if ":" not in rows else None
                given = {**pieces(model, **block)}
                title = f"pieces_{model}_{tokenizer[7:]}_{name}"
                yield Case(title, rows, tokenizer, given, dataset=dataset, limit=limit)


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
    # SentencePiece models
    *piece_cases(),
    Case("pieces_gemma2", "turkish.system", "pieces:gemma", pieces("gemma2"), dataset=CHAT),
    Case("pieces_mistral_system", "turkish.system", "pieces:llama", pieces("mistral"), dataset=CHAT, limit=40),
    Case(
        "pieces_mistral_system_unset",
        "turkish.system",
        "pieces:llama",
        pieces("mistral", prompt_template=None),
        dataset=CHAT,
    ),
    Case(
        "pieces_llama2_own_template",
        "wwdc.input_output",
        "pieces:phi3",
        pieces("llama2", prompt_template={"user": ["Q: ", " A: "], "assistant": ["", " "]}),
        dataset=INSTRUCT,
        limit=400,
    ),
    Case("pieces_llama2_qa", "gsm8k", "pieces:phi3", pieces("llama2", prompt_template=QA), dataset=GSM8K, limit=400),
    Case(
        "pieces_phi3_special",
        "turkish",
        "pieces:phi3",
        pieces("phi3_mini", special_tokens_path="special.json", max_seq_len=60),
        dataset=CHAT,
    ),
    Case(
        "pieces_phi3_lacks",
        "turkish",
        "pieces:phi3",
        pieces("phi3_mini", special_tokens_path="tokenizer_config.json"),
        dataset=CHAT,
        limit=20,
    ),
    Case("pieces_broken", "turkish.broken", "pieces:llama", pieces("llama2"), dataset=CHAT, limit=40),
    *(
        Case(
            f"pieces_packed_{model}",
            "turkish",
            "pieces:phi3",
            pieces(model, max_seq_len=300),
            dataset={**CHAT, "packed": True},
            batch={"size": 2, "count": 2},
        )
        for model in PIECE_MODELS
    ),
    *(
        Case(f"pieces_{kind}_{model}", rows, "pieces:phi3", pieces(model), dataset=dataset, limit=1000)
        for model in PIECE_MODELS
        for kind, rows, dataset in (("alpaca", "alpaca", ALPACA), ("instruct", "gsm8k", GSM8K), ("text", "c4", TEXT))
    ),
)

LATE_CONFIG: dict[str, Any] = {"tokenizer": {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer"}}
LATE: tuple[Setting, ...] = (
    (
        late_cases.CHATS,
        "chat",
        LATE_CONFIG,
        {
            "_component_": "torchtune.datasets.chat_dataset",
            "conversation_column": "messages",
            "conversation_style": "openai",
        },
    ),
    (late_cases.ALPACA, "alpaca", LATE_CONFIG, {"_component_": "torchtune.datasets.alpaca_dataset"}),
    (
        late_cases.TEXTS,
        "text",
        LATE_CONFIG,
        {"_component_": "torchtune.datasets.text_completion_dataset", "column": "text"},
    ),
)


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as the config of a torchtune recipe."""
    tune = dict(case.config)
    block = {"_component_": "torchtune.models.qwen2_5.qwen2_5_tokenizer", **tune.pop("tokenizer", {})}
    if case.tokenizer.startswith(("pieces:", "kept:")):
        block["path"] = f"{tokenizer}/tokenizer.model"
    else:
        block = {"path": f"{tokenizer}/vocab.json", "merges_file": f"{tokenizer}/merges.txt", **block}
    return {
        "tokenizer": block,
        "dataset": {**case.dataset, "source": "json", "data_files": str(case.data_path()), "split": "train"},
        **tune,
    }
