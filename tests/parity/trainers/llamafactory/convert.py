"""How rows come to LLaMA-Factory before and after `sftui convert` (see `converting`)."""

from __future__ import annotations

from converting import SAME, UNREAD

PRESET = "llamafactory@0.9"
FILES = {
    "alpaca_en_demo.json": SAME,
    "alpaca_zh_demo.json": SAME,
    "identity_placeholders.json": SAME,
    "fastchat_dummy_conversation.json": SAME,
    "gsm8k_test.jsonl": SAME,
    "mlx_wwdc25_prompt_completion.jsonl": SAME,
}
MADE = {
    "sharegpt": SAME,
    "sharegpt, system beside": SAME,
    "alpaca": SAME,
    "alpaca, input and history": SAME,
    "question and answer": SAME,
    "prompt and completion": SAME,
    "another column and keys": UNREAD,
    "messages as text": UNREAD,
}
