"""torchtune: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sentencepiece_models
from case import Case
from own import CHATML, TRICKY
from trainers.torchtune.cases import ALPACA, CHAT, CHATML_TEMPLATE, INSTRUCT, PIECE_MODELS, SHAREGPT, TEXT, pieces, qwen


def of_pieces() -> Iterator[Case]:
    """torchtune's SentencePiece tokenizers over each kept model: turns, masks, cuts, prompt templates, texts."""
    block: dict[str, Any]
    both: dict[str, Any] = {**CHAT, "train_on_input": True}
    for model in PIECE_MODELS:
        bare: dict[str, Any] = {} if model != "mistral" else {"prompt_template": None}
        cut = pieces(model, max_seq_len=40, **bare)
        for name in sentencepiece_models.KEPT:
            yield Case(f"{model}_{name}", TRICKY, f"kept:{name}", cut, dataset=both)
        for title, data, block, dataset in (
            ("template", "sample_strings.input_output", {}, INSTRUCT),
            ("chatml", "sample_sharegpt.bare", {"prompt_template": CHATML_TEMPLATE, "max_seq_len": 99}, SHAREGPT),
            ("system", "sample_strings.input_output", {}, {**INSTRUCT, "new_system_prompt": "Be brief. "}),
            ("text", "sample_text", {"max_seq_len": 30}, TEXT),
        ):
            yield Case(f"{model}_{title}", data, "kept:turns", pieces(model, **block), dataset=dataset)


OWN = (
    Case("chat", "sample_chat.plain", CHATML, qwen(), dataset=CHAT),
    Case("chat_tricky", TRICKY, CHATML, qwen(), dataset=CHAT),
    Case("sharegpt", "sample_sharegpt.bare", CHATML, qwen(), dataset=SHAREGPT),
    Case("alpaca", "sample_alpaca", CHATML, qwen(), dataset=ALPACA),
    Case("instruct", "sample_strings.input_output", CHATML, qwen(), dataset=INSTRUCT),
    Case("text", "sample_text", CHATML, qwen(), dataset=TEXT),
    Case("train_on_input", TRICKY, CHATML, qwen(), dataset={**CHAT, "train_on_input": True}),
    Case("new_system", TRICKY, CHATML, qwen(), dataset={**CHAT, "new_system_prompt": "Be brief."}),
    Case("length_not_reached", TRICKY, CHATML, qwen(max_seq_len=2048), dataset=CHAT),
    Case("length_cut", TRICKY, CHATML, qwen(max_seq_len=24), dataset=CHAT),
    Case("text_cut", "sample_text", CHATML, qwen(max_seq_len=16), dataset=TEXT),
    Case("packed", "sample_sharegpt.bare", CHATML, qwen(max_seq_len=256), dataset={**SHAREGPT, "packed": True}),
    *of_pieces(),
)
