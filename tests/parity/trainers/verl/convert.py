"""How rows come to verl before and after `sftui convert` (see `converting`)."""

from __future__ import annotations

from converting import MENDED, NEVER, STOPS, UNREAD

PRESET = "verl@0.9"
FILES = {
    "alpaca_zh_demo.json": UNREAD,
    "fastchat_dummy_conversation.json": UNREAD,
    "gsm8k_test.jsonl": UNREAD,
    "mlx_wwdc25_prompt_completion.jsonl": UNREAD,
    "toolset_tool_text_pairs.jsonl": NEVER,
    "glaive_toolcall_en_demo.json": NEVER,
}
MADE = {
    "sharegpt": UNREAD,
    "sharegpt, system beside": UNREAD,
    "function_call and observation": UNREAD,
    "two calls behind a thought": UNREAD,
    "alpaca": UNREAD,
    "alpaca, input and history": UNREAD,
    "question and answer": UNREAD,
    "prompt and completion": UNREAD,
    "prompt and completion of messages": UNREAD,
    "another column and keys": UNREAD,
    "messages as text": MENDED,
    "calls and tools as text": MENDED,
    "functions of OpenAI before tools": STOPS,
}
