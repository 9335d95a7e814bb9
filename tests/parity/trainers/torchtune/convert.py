"""How rows come to torchtune before and after `sftui convert` (see `converting`)."""

from __future__ import annotations

from converting import IDS, SAME

PRESET = "torchtune@0.6"
FILES = {
    "alpaca_en_demo.json": IDS,
    "alpaca_zh_demo.json": IDS,
    "identity_placeholders.json": IDS,
    "fastchat_dummy_conversation.json": SAME,
    "gsm8k_test.jsonl": SAME,
    "mlx_wwdc25_prompt_completion.jsonl": SAME,
}
MADE = {
    "sharegpt": SAME,
    "alpaca": IDS,
    "question and answer": SAME,
    "prompt and completion": SAME,
}
