"""How rows come to TRL before and after `sftui convert` (see `converting`)."""

from __future__ import annotations

from converting import IDS, MENDED, OTHER, STOPS, UNREAD

PRESET = "trl@1.16"
FILES = {
    "alpaca_en_demo.json": UNREAD,
    "alpaca_zh_demo.json": UNREAD,
    "fastchat_dummy_conversation.json": OTHER,
    "gsm8k_test.jsonl": UNREAD,
    "mlx_wwdc25_prompt_completion.jsonl": OTHER,
    "glaive_toolcall_en_demo.json": OTHER,
}
MADE = {
    "sharegpt": OTHER,
    "sharegpt, system beside": OTHER,
    "function_call and observation": OTHER,
    "two calls behind a thought": OTHER,
    "alpaca": UNREAD,
    "alpaca, input and history": UNREAD,
    "question and answer": UNREAD,
    "prompt and completion": OTHER,
    "prompt and completion of messages": IDS,
    "another column and keys": UNREAD,
    "messages as text": UNREAD,
    "calls and tools as text": MENDED,
    "functions of OpenAI before tools": STOPS,
}
