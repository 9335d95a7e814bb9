"""LLaMA-Factory: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3, TRICKY
from trainers.llamafactory.cases import HISTORY, MESSAGES, SHAREGPT, TOOLS


def case(name: str, data: str, template: str, tokenizer: str = CHATML, dataset: Any = None, **config: Any) -> Case:
    return Case(
        name, data, tokenizer, {"template": template, **config}, dataset=MESSAGES if dataset is None else dataset
    )


OWN = (
    *(
        case(f"template_{name}", TRICKY, name)
        for name in (
            "default",
            "alpaca",
            "chatml",
            "llama3",
            "qwen",
            "qwen3",
            "gemma",
            "mistral",
            "phi",
            "deepseek3",
        )
    ),
    case("llama3_tokenizer", TRICKY, "llama3", LLAMA3),
    case("gemma_tokenizer", TRICKY, "gemma", GEMMA),
    case("alpaca_rows", "sample_alpaca", "qwen", dataset={}),
    case("sharegpt_rows", "sample_sharegpt.calls", "qwen", dataset=SHAREGPT),
    case("call_that_is_not_json", "sample_sharegpt", "qwen", dataset=SHAREGPT),
    case("tools_llama3", "sample_sharegpt.calls", "llama3", LLAMA3, TOOLS),
    case("tools_default", "sample_sharegpt.calls", "default", dataset=TOOLS),
    case("history_rows", "sample_sharegpt.bare.openai.history", "qwen", dataset=HISTORY),
    case("tokenizer_template", TRICKY, None),  # type: ignore[arg-type]
    case("train_on_prompt", TRICKY, "qwen", train_on_prompt=True),
    case("mask_history", TRICKY, "qwen", mask_history=True),
    case("efficient_eos", TRICKY, "breeze", LLAMA3),
    case("efficient_eos_mask_history", TRICKY, "breeze", LLAMA3, mask_history=True),
    case("cut", "sample_sharegpt.bare", "qwen", dataset=SHAREGPT, cutoff_len=32),
    case("cut_mask_history", "sample_sharegpt.bare", "qwen", dataset=SHAREGPT, cutoff_len=32, mask_history=True),
    case("cut_alpaca", "sample_alpaca", "llama3", LLAMA3, {}, cutoff_len=20),
    case("broken_turns", "tricky.broken", "qwen"),
    case("packing", "sample_alpaca", "qwen", dataset={}, packing=True, cutoff_len=128),
    case("neat_packing", "sample_alpaca", "qwen", dataset={}, neat_packing=True, cutoff_len=128),
    case("thinking_off", TRICKY, "qwen3", enable_thinking=False),
    case("default_system", TRICKY, "llama3", LLAMA3, default_system="Be brief."),
    case("pad_labels", "sample_alpaca", "qwen", dataset={}, ignore_pad_token_for_loss=False),
)
