"""How rows come to Unsloth before and after `sftui convert` (see `converting`)."""

from __future__ import annotations

from converting import IDS, OTHER, UNREAD

PRESET = "unsloth@2026.10"
FILES = {
    "alpaca_en_demo.json": UNREAD,
    "identity_placeholders.json": UNREAD,
    "fastchat_dummy_conversation.json": UNREAD,
    "mlx_wwdc25_prompt_completion.jsonl": OTHER,
    "glaive_toolcall_en_demo.json": UNREAD,
}
MADE = {
    "sharegpt": UNREAD,
    "function_call and observation": UNREAD,
    "two calls behind a thought": UNREAD,
    "alpaca": UNREAD,
    "prompt and completion of messages": IDS,
    "another column and keys": UNREAD,
}
