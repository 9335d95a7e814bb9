"""mlx-lm: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3, TRICKY
from trainers.mlx_lm.cases import BARE, OPEN, THINKS


def case(name: str, data: str, tokenizer: str = CHATML, template: str | None = None, **config: Any) -> Case:
    return Case(name, data, tokenizer, config, template, batch={"size": 4, "count": 6})


OWN = (
    case("messages", "sample_chat"),
    case("messages_masked", TRICKY, mask_prompt=True),
    case("messages_masked_llama3", TRICKY, LLAMA3, mask_prompt=True, batch_size=3),
    case("messages_masked_gemma", "sample_completion.messages_of", GEMMA, mask_prompt=True),
    case("pairs", "sample_strings"),
    case("pairs_masked", "sample_strings", LLAMA3, mask_prompt=True),
    case("pairs_of_messages", "sample_completion"),
    case("texts", "sample_text"),
    case("texts_llama3", "sample_text", LLAMA3),
    case("texts_masked", "sample_text", mask_prompt=True),
    case("columns", "sample_questions", prompt_feature="question", completion_feature="answer", mask_prompt=True),
    case("unread", "sample_alpaca"),
    case("cut", TRICKY, LLAMA3, mask_prompt=True, max_seq_length=24, batch_size=2),
    case("cut_texts", "sample_text", max_seq_length=33, batch_size=2),
    case("past_the_end", "mlx_pairs", template=OPEN, mask_prompt=True),
    case("nothing_answered", "mlx_pairs", template=BARE, mask_prompt=True),
    case("thoughts", TRICKY, template=THINKS, mask_prompt=True),
    case("odd_chats", "mlx_chats", mask_prompt=True),
    case("odd_chats_gemma", "mlx_chats", GEMMA),
    case("odd_pairs", "mlx_pairs", LLAMA3, mask_prompt=True),
    case("odd_texts", "mlx_texts"),
    case("too_few", "sample_text", batch_size=500),
)
