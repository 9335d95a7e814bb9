"""How rows come to Axolotl before and after `sftui convert` (see `converting`)."""

from __future__ import annotations

from converting import OTHER, SAME, STOPS, UNREAD

PRESET = "axolotl@0.19"
FILES = {
    "alpaca_en_demo.json": OTHER,
    "identity_placeholders.json": OTHER,
    "fastchat_dummy_conversation.json": SAME,
    "gsm8k_test.jsonl": UNREAD,
    "mlx_wwdc25_prompt_completion.jsonl": UNREAD,
    "toolset_tool_text_pairs.jsonl": STOPS,
    "reason_tool_use_demo_50.jsonl": SAME,
    "glaive_toolcall_en_demo.json": OTHER,
}
MADE = {
    "sharegpt": SAME,
    "sharegpt, system beside": SAME,
    "function_call and observation": OTHER,
    "alpaca": OTHER,
    "question and answer": UNREAD,
    "prompt and completion": UNREAD,
    "another column and keys": UNREAD,
    "messages as text": SAME,
    "functions of OpenAI before tools": STOPS,
}
