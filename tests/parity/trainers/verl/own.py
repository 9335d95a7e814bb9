"""verl: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3, TRICKY
from trainers.verl.cases import IGNORE, NEEDS_USER, PADDED, PREFACED, THINKS


def case(
    name: str, data: str, tokenizer: str = CHATML, template: str | None = None, config: Any = None, **data_keys: Any
) -> Case:
    said = {**(config or {}), **{f"data.{key}": value for key, value in data_keys.items()}}
    return Case(name, data, tokenizer, said, template, batch={"size": 4, "count": 6})


OWN = (
    case("messages", "sample_chat"),
    case("messages_llama3", TRICKY, LLAMA3),
    case("messages_gemma_stops", TRICKY, GEMMA),
    case("prefaced_gemma", TRICKY, GEMMA, PREFACED, IGNORE),
    case("thinks", TRICKY, template=THINKS),
    case("thinks_not", TRICKY, template=THINKS, enable_thinking_default=False),
    case("thinks_by_column", "verl_thinking", template=THINKS),
    case("cut_right", TRICKY, truncation="right", max_length=40),
    case("cut_left_is_right", TRICKY, LLAMA3, truncation="left", max_length=40),
    case("cut_left_padded", TRICKY, truncation="left", max_length=40, pad_mode="right"),
    case("padded", TRICKY, LLAMA3, config=PADDED, max_length=300),
    case("too_long", TRICKY, max_length=40),
    case("needs_user", "verl_chats", template=NEEDS_USER),
    case("odd_chats", "verl_chats"),
    case("odd_chats_llama3", "verl_chats", LLAMA3, config=IGNORE),
    case("odd_keys", "verl_keys", LLAMA3, config=IGNORE),
    case("odd_tools", "verl_tools_or_null"),
    case("odd_media", "verl_media"),
    case("unread", "sample_alpaca"),
)
