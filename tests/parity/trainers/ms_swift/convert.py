"""How rows come to ms-swift before and after `sftui convert` (see `converting`)."""

from __future__ import annotations

from converting import MENDED, SAME, STOPS, UNREAD

PRESET = "ms-swift@4.6"
TEMPLATE = "ms-swift/qwen2_5"
"""It goes by the model, of which there is none."""
FILES = {
    "alpaca_en_demo.json": SAME,
    "alpaca_zh_demo.json": SAME,
    "identity_placeholders.json": SAME,
    "fastchat_dummy_conversation.json": SAME,
    "gsm8k_test.jsonl": SAME,
    "mlx_wwdc25_prompt_completion.jsonl": SAME,
    "toolset_tool_text_pairs.jsonl": SAME,
    "reason_tool_use_demo_50.jsonl": STOPS,
    "glaive_toolcall_en_demo.json": SAME,
}
MADE = {
    "sharegpt": SAME,
    "sharegpt, system beside": SAME,
    "function_call and observation": SAME,
    "two calls behind a thought": MENDED,
    "alpaca": SAME,
    "alpaca, input and history": SAME,
    "question and answer": SAME,
    "prompt and completion": SAME,
    "prompt and completion of messages": MENDED,
    "another column and keys": UNREAD,
    "messages as text": SAME,
    "calls and tools as text": MENDED,
    "functions of OpenAI before tools": MENDED,
}
