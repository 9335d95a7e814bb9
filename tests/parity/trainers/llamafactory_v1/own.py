"""LLaMA-Factory's v1 engine: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3
from trainers.llamafactory_v1.cases import ALPACA, BY_TOKENS, CLOSED, FREE, SHAREGPT, SUFFIXED


def case(name: str, data: str, tokenizer: str = CHATML, dataset: Any = None, **config: Any) -> Case:
    return Case(name, data, tokenizer, config, dataset=dataset or {}, batch={"size": 1, "count": 6})


OWN = (
    case("samples", "v1_made.few"),
    case("samples_llama3", "v1_made.few", LLAMA3),
    case("samples_gemma", "v1_made.few", GEMMA),
    case("cut", "v1_made.few", cutoff_len=60, micro_batch_size=3),
    case("weighted", "tricky.one_of_three.v1_weighted", LLAMA3, micro_batch_size=4),
    case("no_weights", "tricky.one_of_three.v1.v1_unweighted", LLAMA3),
    case("padding_free", "v1_made.few", LLAMA3, cutoff_len=80, micro_batch_size=3, **FREE),
    case("by_tokens", "v1_made.few", LLAMA3, cutoff_len=120, micro_batch_size=2, **BY_TOKENS),
    case("sharegpt", "v1_sharegpt.few", dataset=SHAREGPT),
    case("alpaca", "v1_alpaca.few", LLAMA3, ALPACA),
    case("template_of_the_config", "v1_made.few", LLAMA3, custom_chat_template=SUFFIXED),
    case("unstable_template", "tricky.one_of_three.v1", custom_chat_template=CLOSED),
    case("broken", "v1_broken.few"),
    case("contents_that_are_text", "tricky.one_of_three"),
)
