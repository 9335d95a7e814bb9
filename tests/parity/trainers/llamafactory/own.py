"""LLaMA-Factory: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3, TRICKY
from trainers.llamafactory.cases import (
    HISTORY,
    MESSAGES,
    RANKED,
    RANKED_ALL,
    RANKED_OPENAI,
    RANKED_TURNS,
    SHAREGPT,
    TAGGED,
    TOOLS,
)


def case(name: str, data: str, template: str, tokenizer: str = CHATML, dataset: Any = None, **config: Any) -> Case:
    batch = {"size": 4, "count": 2} if "stage" not in config else {"size": 2, "count": 1}
    rows = MESSAGES if dataset is None else dataset
    return Case(name, data, tokenizer, {"template": template, **config}, dataset=rows, batch=batch)


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
    case("pairs", "sample_alpaca.ranked", "qwen", dataset=RANKED, stage="dpo"),
    case("pairs_cut", "sample_alpaca.ranked", "llama3", LLAMA3, RANKED, stage="dpo", cutoff_len=48),
    case("pairs_thoughts", "pairs_of_texts.first_ones", "qwen3", dataset=RANKED_ALL, stage="dpo", enable_thinking=None),
    case("pairs_turns", "pairs_of_turns.first_ones", "qwen", dataset=RANKED_TURNS, stage="dpo", cutoff_len=96),
    case("pairs_openai", "pairs_of_messages.first_ones", "chatml", dataset=RANKED_OPENAI, stage="dpo"),
    case("pairs_scored", "pairs_of_texts.first_ones", "breeze", LLAMA3, RANKED, stage="rm", cutoff_len=96),
    case("kto", "pairs_of_texts.first_ones.tagged", "qwen", dataset=TAGGED, stage="kto", cutoff_len=96),
    case("pad_labels", "sample_alpaca", "qwen", dataset={}, ignore_pad_token_for_loss=False),
)
