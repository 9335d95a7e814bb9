"""How rows come to NeMo Automodel before and after `sftui convert` (see `converting`)."""

from __future__ import annotations

from converting import MENDED, OTHER, SAME, UNREAD

PRESET = "nemo-automodel@0.7"
FILES = {
    "alpaca_en_demo.json": UNREAD,
    "fastchat_dummy_conversation.json": SAME,
    "mlx_wwdc25_prompt_completion.jsonl": UNREAD,
    "glaive_toolcall_en_demo.json": MENDED,
}
MADE = {
    "sharegpt": SAME,
    "sharegpt, system beside": OTHER,
    "function_call and observation": MENDED,
    "alpaca": UNREAD,
    "question and answer": UNREAD,
    "prompt and completion of messages": UNREAD,
    "another column and keys": UNREAD,
    "messages as text": MENDED,
    "calls and tools as text": MENDED,
    "functions of OpenAI before tools": MENDED,
}
